"""Session windows: a frozen value that groups rows of a key that are close in time."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from pyspark.sql import Column

from transom._base import checks
from transom._base.durations import Duration
from transom._base.errors import type_error
from transom._base.misplaced import Hints, check_given
from transom._base.values import keywords_after
from transom.spec.windows.assigners import (
    SPARK_TIME,
    Closed,
    Window,
    check_closed,
    keep_positive,
)

LateStart = Literal["open", "reject"]
MaxCheck = Literal[">=", ">"]
Gap = Duration | Column

# Other words for the arguments of sessions.
_OTHER_WORDS: Hints = {
    **SPARK_TIME,
    "gapDuration": ("Spark's gapDuration is the gap", "Session('5 minutes')"),
    "timeout": ("the timeout of a session is the gap", "Session('5 minutes')"),
}


@keywords_after(1, example="Session('5 minutes', inclusive=False)", hints=_OTHER_WORDS)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
        ``TRANSOM_BAD_TYPE``. ``TRANSOM_MISSING_ARGUMENT`` for ``max_check`` without
        ``max_duration``.

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
    _: KW_ONLY
    inclusive: bool = True
    closed: Closed = "left"
    max_duration: Duration | None = None
    max_check: MaxCheck = ">="
    late_start: LateStart = "open"

    def __post_init__(self) -> None:
        if isinstance(self.gap, str) and self.gap.isidentifier():
            expected = f"a duration such as '5 minutes', or F.col({self.gap!r}) for a gap per row"
            raise type_error("gap", self.gap, expected)
        if not isinstance(self.gap, Column):
            keep_positive(self, "gap")
        checks.flag("inclusive", self.inclusive)
        check_closed(self.closed)
        if self.max_duration is not None:
            keep_positive(self, "max_duration")
        checks.choice("max_check", self.max_check, (">=", ">"))
        if self.max_duration is None and self.max_check != ">=":
            example = "Session('5 minutes', max_duration='1 hour', max_check='>')"
            check_given("Session", ["max_duration"], (), example)
        checks.choice("late_start", self.late_start, ("open", "reject"))
