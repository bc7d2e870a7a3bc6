"""Windows: frozen values that assign rows to sessions, counts of rows, or windows of their own.

A window value needs no Spark session. Two values are equal if they mean the same: 60 seconds equal
1 minute. `transom.spec.grids` has the windows on a fixed grid.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pyspark.sql import Column

from transom._base import checks
from transom._base.columns import Col, check_column
from transom._base.constants import MOST_WINDOWS_PER_ROW
from transom._base.durations import Duration, positive
from transom._base.errors import value_error
from transom._base.values import Value

Closed = Literal["left", "right"]
LateStart = Literal["open", "reject"]
MaxCheck = Literal[">=", ">"]
Gap = Duration | Column


class Window(Value):
    """Base class of all windows."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Session(Window):
    """Windows that stay open while rows of a key keep arriving.

    Two rows share a window if at most ``gap`` lies between them. A row between two windows merges
    them into one. A window ends one gap after its last row.

    Parameters
    ----------
    gap : str, timedelta or Column
        The quiet time that ends a window. A Column of type ``INTERVAL DAY TO SECOND``, as
        ``F.make_dt_interval`` returns it, sets a gap for each row. Such a gap only reaches forward:
        a shorter gap never moves the end of a window back.
    inclusive : bool
        Whether two rows exactly one gap apart share a window.
    closed : {"left", "right"}
        The end that belongs to the window. With "right" a window fires when the watermark is past
        its end.
    max_duration : str or timedelta, optional
        The duration after which a window is closed although rows keep arriving, as in Azure Stream
        Analytics. Checks lie on the multiples of this duration since 1970. A check closes a window
        that has lasted too long, and the window ends at the check. If the next row is still within
        the gap, its window starts at the check. So no window lasts longer than twice this duration.
        Such windows fire once, at their end, and have no allowed lateness.
    max_check : {">=", ">"}
        Which windows a check closes: windows that have lasted ``max_duration`` or longer, or only
        windows that have lasted longer.
    late_start : {"open", "reject"}
        What happens to a row before the watermark that is within the gap of no open window. With
        "open" the row opens a window if this window would not be closed already, as in Flink. With
        "reject" the row is late, as in Atlas: it may join an open window, but not open one. A row
        exactly at the watermark opens a window. In processing time no row is late.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Session(gap="90 seconds") == transom.Session(gap="1 minute 30 seconds")
    True

    The pause before 06:10 is longer than the gap.

    >>> times = ["2013-01-01 05:40", "2013-01-01 05:45", "2013-01-01 06:10"]
    >>> rows = spark.createDataFrame([(time,) for time in times], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(transom.Session(gap="10 minutes")).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:40:00|2013-01-01 05:55:00|  2|
    |2013-01-01 06:10:00|2013-01-01 06:20:00|  1|
    +-------------------+-------------------+---+

    With a maximum duration of 10 minutes, the check at 06:00 closes the window that has been open
    since 05:45. The row of 06:05 is within the gap, so its window starts at 06:00. The next check
    closes this window too.

    >>> times = ["2013-01-01 05:45", "2013-01-01 05:52", "2013-01-01 05:58", "2013-01-01 06:05"]
    >>> rows = spark.createDataFrame([(time,) for time in times], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> limited = transom.Session(gap="8 minutes", max_duration="10 minutes")
    >>> counts = by_time.window(limited).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:45:00|2013-01-01 06:00:00|  3|
    |2013-01-01 06:00:00|2013-01-01 06:10:00|  1|
    +-------------------+-------------------+---+
    """

    gap: Gap
    inclusive: bool = True
    closed: Closed = "left"
    max_duration: Duration | None = None
    max_check: MaxCheck = ">="
    late_start: LateStart = "open"

    def __post_init__(self) -> None:
        if not isinstance(self.gap, Column):
            keep_positive(self, "gap")
        checks.flag("inclusive", self.inclusive)
        check_closed(self.closed)
        if self.max_duration is not None:
            keep_positive(self, "max_duration")
        checks.choice("max_check", self.max_check, (">=", ">"))
        checks.choice("late_start", self.late_start, ("open", "reject"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Global(Window):
    """One window for all rows of a key.

    The ``window`` of its results is null. A global window has no end, so it needs a trigger.

    Examples
    --------
    >>> import transom
    >>> transom.Global() == transom.Global()
    True

    The trigger fires the window when all rows have been read.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   70|
    +------+-----+
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Window):
    """Windows of a fixed number of rows of a key, in the order of their arrival.

    A window fires when it is full, and accepts no trigger. In its result, ``window`` has the first
    and the last time of its rows. ``window`` is null for a stream without time, and for partial
    windows with `ProcessingTime`.

    Parameters
    ----------
    size : int
        Number of rows in a window.
    slide : int, optional
        Number of rows from the start of one window to the start of the next. None means ``size``. A
        slide above the size leaves gaps. Rows in a gap belong to no window, and the metric
        ``transom_rows_in_gaps`` counts them.
    partial : bool
        Whether windows fire before they are full. If so, every ``slide`` rows emit a result of the
        last ``size`` rows, or of all rows while there are fewer. No row is then in a gap.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``. ``TRANSOM_TOO_MANY_WINDOWS`` if a row
        would be in more than 10,000,000 windows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Count(size=100, slide=10)
    Count(size=100, slide=10, partial=False)

    The third row waits for a fourth row.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Count(size=2))
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   30|
    +------+-----+
    """

    size: int
    slide: int | None = None
    partial: bool = False

    def __post_init__(self) -> None:
        checks.whole_number("size", self.size, least=1)
        if self.slide is not None:
            checks.whole_number("slide", self.slide, least=1)
        checks.flag("partial", self.partial)
        if not self.partial:
            check_windows_per_row(self.size // self.step, "slide", self.slide)

    @property
    def step(self) -> int:
        """Number of rows from the start of one window to the start of the next."""
        return self.size if self.slide is None else self.slide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Custom(Window):
    """Windows that each row lists in a column.

    Parameters
    ----------
    windows : str or Column
        The windows of a row: an array of structs with two timestamps, ``start`` and ``end``.
    merging : bool
        Whether windows of a key that overlap or touch become one window.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Custom(windows="shifts")
    Custom(windows='shifts', merging=False)

    Each row lists the shift that it belongs to.

    >>> rows = spark.createDataFrame([("2013-01-01 05:40",), ("2013-01-01 06:10",)], "at string")
    >>> shift = "struct(timestamp'2013-01-01 05:00' AS start, timestamp'2013-01-01 13:00' AS end)"
    >>> shifts = transom.Custom(windows=F.expr(f"array({shift})"))
    >>> counts = transom.stream(rows, time=F.to_timestamp("at")).window(shifts)
    >>> counts.agg(F.count("*").alias("n")).select("window.start", "window.end", "n").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:00:00|2013-01-01 13:00:00|  2|
    +-------------------+-------------------+---+
    """

    windows: Col
    merging: bool = False

    def __post_init__(self) -> None:
        check_column("windows", self.windows)
        checks.flag("merging", self.merging)


class Sliding:
    """A name for two kinds of windows. Its constructor raises an error that names both.

    Spark and Flink call `Hopping` windows sliding. Azure and Kafka call windows up to each event
    sliding.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``, always.
    """

    def __init__(self, *_: object, **__: object) -> None:
        raise value_error(
            "BAD_CHOICE",
            argument="window",
            value="Sliding, a name for two kinds of windows",
            choices=(
                "Hopping(size=..., slide=...) for windows on a grid, which Spark and Flink call "
                "sliding. This version has no Rolling(size=...) for a window up to each event, "
                "which Azure and Kafka call sliding"
            ),
        )


def is_merging(window: Window) -> bool:
    """Return whether windows of a key that overlap become one window."""
    return isinstance(window, Session) or (isinstance(window, Custom) and window.merging)


def keep_positive(value: Window, name: str) -> timedelta:
    """Replace a length field by its checked timedelta, and return the timedelta.

    Lengths are stored as timedeltas, so that equal lengths make equal windows however they are
    written.
    """
    length = positive(name, getattr(value, name))
    object.__setattr__(value, name, length)
    return length


def check_closed(closed: object) -> None:
    """Raise ``TRANSOM_BAD_CHOICE`` if the value is neither "left" nor "right"."""
    checks.choice("closed", closed, ("left", "right"))


def check_windows_per_row(windows: int, argument: str, value: object) -> None:
    """Raise ``TRANSOM_TOO_MANY_WINDOWS`` if a row would be in more windows than a row may be in."""
    if windows > MOST_WINDOWS_PER_ROW:
        raise value_error(
            "TOO_MANY_WINDOWS",
            argument=argument,
            value=value,
            windows=f"{windows:,}",
            most=f"{MOST_WINDOWS_PER_ROW:,}",
        )
