"""The base class of windows, and the windows `Global`, `Count` and `Custom`.

A window value needs no Spark session. Two values are equal if they mean the same: 60 seconds equal
1 minute. The module `grids` has the windows on a fixed grid, `calendar` those of a calendar, and
`sessions` has sessions.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from transom._base import checks
from transom._base.constants import MOST_WINDOWS_PER_ROW
from transom._base.durations import Length, duration, positive
from transom._base.errors import value_error
from transom._base.expressions import Col, check_column
from transom._base.misplaced import Hints
from transom._base.values import TIME_COLUMN, Value, keywords_after

Closed = Literal["left", "right"]


class Window(Value):
    """Base class of all windows."""

    __slots__ = ()


# Hints for the first argument of Spark's functions for windows.
SPARK_TIME: Hints = dict.fromkeys(
    (TIME_COLUMN, "time"),
    ("the column with the time belongs in stream()", "stream(df, time=<value>)"),
)


@keywords_after(0, example="Global()")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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


@keywords_after(2, example="Count(100, 10, partial=True)")
@dataclass(frozen=True, slots=True, repr=False)
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
    Count(size=100, slide=10)

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
    _: KW_ONLY
    partial: bool = False

    def __post_init__(self) -> None:
        checks.whole_number("size", self.size, least=1)
        if self.slide is not None:
            checks.whole_number("slide", self.slide, least=1)
        checks.flag("partial", self.partial)
        if not self.partial:
            check_windows_per_row(-(-self.size // self.step), "slide", self.slide)

    @property
    def step(self) -> int:
        """Number of rows from the start of one window to the start of the next."""
        return self.size if self.slide is None else self.slide


@keywords_after(1, example="Custom('shifts', merging=True)")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    Custom(windows='shifts')

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
    _: KW_ONLY
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
                "sliding, and Rolling(size=...) for windows up to each event, which Azure and "
                "Kafka call sliding"
            ),
        )


def keep_positive(value: Value, name: str) -> Length:
    """Replace a field by its checked length, and return the length.

    Equal lengths make equal windows, however the user wrote them.
    """
    length = positive(name, getattr(value, name))
    object.__setattr__(value, name, length)
    return length


def check_closed(closed: object) -> None:
    """Raise ``TRANSOM_BAD_CHOICE`` if the value is neither "left" nor "right"."""
    checks.choice("closed", closed, ("left", "right"))


def check_ends(closed: object, time_zone: object) -> None:
    """Raise an error for an unknown end or an unknown time zone."""
    check_closed(closed)
    checks.time_zone("time_zone", time_zone)


def keep_offset(value: Value, period: Length, *, repeats: bool = True) -> None:
    """Replace the offset of a frozen value by a duration that is shorter than a period.

    Parameters
    ----------
    value : Value
        The frozen value.
    period : Length
        The bound.
    repeats : bool
        Whether the windows are the same after each period. If not, it is their shortest length.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_OFFSET_TOO_LARGE``.
    """
    offset = duration("offset", value.offset)  # type: ignore[attr-defined]
    object.__setattr__(value, "offset", offset)
    if abs(offset) >= period:
        why, instead = "the shortest of these windows", "a shorter offset"
        if repeats:
            why = "after which the windows repeat"
            instead = f"the remainder after division by {period}"
        raise value_error(
            "OFFSET_TOO_LARGE",
            argument="offset",
            value=offset,
            period=period,
            why=why,
            instead=instead,
        )


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
