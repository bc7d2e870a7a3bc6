"""Evictors: frozen values that set which rows a window keeps when it fires.

The next firing starts with the kept rows. Rows are in the order of their arrival. A window with an
evictor stores its rows in the state, not only partial aggregates.
"""

from dataclasses import dataclass, field
from typing import Literal

from transom._base import checks
from transom._base.durations import Duration, positive
from transom._base.expressions import Condition, Delta, check_delta, condition_of
from transom._base.values import Value, keywords_after

Eviction = Literal["before", "after"]


class Evictor(Value):
    """Base class of all evictors."""

    __slots__ = ()


@keywords_after(1, example="KeepLast(10, when='after')")
@dataclass(frozen=True, slots=True, repr=False)
class KeepLast(Evictor):
    """Keeps the rows that arrived last.

    Parameters
    ----------
    rows : int
        Number of rows to keep.
    when : {"before", "after"}
        Whether to drop the other rows before or after the result is computed.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepLast(10)
    KeepLast(rows=10)

    The sum covers the last two rows.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> windows.evictor(transom.KeepLast(2)).agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   60|
    +------+-----+
    """

    rows: int
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        checks.whole_number("rows", self.rows, least=1)
        _check_when(self.when)


@keywords_after(1, example="KeepRecent('1 minute', when='after')")
@dataclass(frozen=True, slots=True, repr=False)
class KeepRecent(Evictor):
    """Keeps the rows whose event time is close to the newest event time in the window.

    The wall clock and the watermark have no influence. Without event time, that is with
    `ProcessingTime` or without a time, all rows are kept.

    Parameters
    ----------
    within : str or timedelta
        Maximum age of a row, measured back from the newest row in the window. A row of exactly this
        age is dropped.
    when : {"before", "after"}
        Whether to drop the other rows before or after the result is computed.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepRecent("60 seconds") == transom.KeepRecent("1 minute")
    True

    The row of 05:20 is older than 10 minutes, measured back from 05:45.

    >>> times = ["2013-01-01 05:20", "2013-01-01 05:40", "2013-01-01 05:45"]
    >>> rows = spark.createDataFrame([(time,) for time in times], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
    >>> hours.evictor(transom.KeepRecent("10 minutes")).agg(F.count("*").alias("n")).show()
    +--------------------+---+
    |              window|  n|
    +--------------------+---+
    |{2013-01-01 05:00...|  2|
    +--------------------+---+
    """

    within: Duration
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", positive("within", self.within))
        _check_when(self.when)


@keywords_after(1, example="KeepNear(lambda old, new: new['v'] - old['v'], threshold=5)")
@dataclass(frozen=True, slots=True, repr=False)
class KeepNear(Evictor):
    """Keeps the rows that are less than a threshold away from the row that arrived last.

    Parameters
    ----------
    delta : function
        The distance function. It takes the older and the last row as struct Columns, and returns a
        numeric Column. Python calls it once, and the JVM evaluates the Column.
    threshold : float
        The smallest distance at which a row is dropped. A row with a null distance is dropped too.
    when : {"before", "after"}
        Whether to drop the other rows before or after the result is computed.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``, also for a threshold that is not finite.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> near = transom.KeepNear(lambda old, last: last["delay"] - old["delay"], threshold=30)
    >>> near.threshold
    30.0

    The first row is 30 away from the last row, so the window drops it.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> windows.evictor(near).agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   60|
    +------+-----+
    """

    delta: Delta
    threshold: float = field(kw_only=True)
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        check_delta("delta", self.delta)
        object.__setattr__(self, "threshold", checks.number("threshold", self.threshold))
        _check_when(self.when)


@keywords_after(1, example="KeepWhere('delay > 0', when='after')")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeepWhere(Evictor):
    """Keeps the rows for which a boolean expression is true.

    Parameters
    ----------
    condition : str or Column
        A boolean expression; null counts as false. A string is parsed as SQL. Columns are the
        values of the row. Aggregates cover all rows that the window has before any are dropped. The
        JVM evaluates the expression.
    when : {"before", "after"}
        Whether to drop the other rows before or after the result is computed.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepWhere("delay >= avg(delay)", when="after")
    KeepWhere(condition='delay >= avg(delay)', when='after')

    The average of all rows is 25.

    >>> rows = spark.createDataFrame([(10,), (20,), (45,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> long_delays = windows.evictor(transom.KeepWhere("delay >= avg(delay)"))
    >>> long_delays.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   45|
    +------+-----+
    """

    condition: Condition
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "condition", condition_of("condition", self.condition))
        _check_when(self.when)


def _check_when(when: object) -> None:
    checks.choice("when", when, ("before", "after"))
