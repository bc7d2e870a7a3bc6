"""Triggers: frozen values that set when a window fires.

All triggers except `Purging` keep the contents of a window when it fires. The next firing therefore
includes all rows so far.
"""

from dataclasses import dataclass, field
from typing import Literal

from transom._base import checks
from transom._base.durations import Duration, is_duration, positive
from transom._base.errors import type_error
from transom._base.expressions import Condition, Delta, check_delta, condition_of
from transom._base.values import Value, is_kind_of, keywords_after

IntervalClock = Literal["event", "processing"]


class Trigger(Value):
    """Base class of all triggers."""

    __slots__ = ()


@keywords_after(1, example="AfterCount(10)")
@dataclass(frozen=True, slots=True, repr=False)
class AfterCount(Trigger):
    """Fires each time a number of rows has arrived in the window.

    The count starts again at 0 after each firing. Sessions that merge add their counts, so a merged
    session may fire after more than ``rows`` rows.

    Parameters
    ----------
    rows : int
        Number of rows from one firing to the next.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``. ``TRANSOM_BAD_CHOICE`` for more than 2,147,483,647.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.AfterCount(100)
    AfterCount(rows=100)

    The third row waits for a fourth row.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(2))
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   30|
    +------+-----+
    """

    rows: int

    def __post_init__(self) -> None:
        checks.whole_number("rows", self.rows, least=1)


@keywords_after(1, example="AfterDelta(lambda old, new: new['v'] - old['v'], threshold=5)")
@dataclass(frozen=True, slots=True, repr=False)
class AfterDelta(Trigger):
    """Fires when a row is more than a threshold away from the row of the last firing.

    Before the first firing, rows are compared with the first row of the window. Windows that merge
    do not accept this trigger.

    Parameters
    ----------
    delta : function
        The distance function. It takes the older and the new row as struct Columns, and returns a
        numeric Column. Python calls it once, and the JVM evaluates the Column.
    threshold : float
        The distance that a row must exceed. A null distance does not exceed it.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE`` for a threshold that is not finite.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> far = transom.AfterDelta(lambda old, new: new["distance"] - old["distance"], threshold=500)
    >>> far.threshold
    500.0

    The third row is 600 away from the first row.

    >>> rows = spark.createDataFrame([(100,), (300,), (700,)], "distance int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(far)
    >>> windows.agg(F.count("*").alias("n")).show()
    +------+---+
    |window|  n|
    +------+---+
    |  NULL|  3|
    +------+---+
    """

    delta: Delta
    threshold: float = field(kw_only=True)

    def __post_init__(self) -> None:
        check_delta("delta", self.delta)
        object.__setattr__(self, "threshold", checks.number("threshold", self.threshold))


@keywords_after(1, example="Every('1 minute', clock='processing')")
@dataclass(frozen=True, slots=True, repr=False)
class Every(Trigger):
    """Fires at regular times, and at the end of the window.

    A window fires at each of these times once it has a row, also if no row has arrived since the
    last firing.

    Parameters
    ----------
    interval : str or timedelta
        Time from one firing to the next.
    clock : {"event", "processing"}
        Whether the watermark or the wall clock advances the time.
    aligned : bool
        Whether the times are multiples of the interval since 1970. If not, the first interval
        starts at the first row of the window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Every("60 seconds") == transom.Every("1 minute", clock="event")
    True

    The window fires at 05:30, and at its end. A static DataFrame is one batch, so both results have
    all rows.

    >>> rows = spark.createDataFrame([("2013-01-01 05:10",), ("2013-01-01 05:50",)], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> hours = by_time.window(transom.Tumbling("1 hour")).trigger(transom.Every("30 minutes"))
    >>> counts = hours.with_pane().agg(n=F.count("*"))
    >>> counts.select("pane.index", "pane.timing", "n").orderBy("index").show()
    +-----+-------+---+
    |index| timing|  n|
    +-----+-------+---+
    |    0|  early|  2|
    |    1|on_time|  2|
    +-----+-------+---+
    """

    interval: Duration
    clock: IntervalClock = field(default="event", kw_only=True)
    aligned: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "interval", positive("interval", self.interval))
        checks.choice("clock", self.clock, ("event", "processing"))
        checks.flag("aligned", self.aligned)


@keywords_after(1, example="When('delay > 60')")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class When(Trigger):
    """Fires when a boolean expression is true for a new row and its window.

    Parameters
    ----------
    condition : str or Column
        A boolean expression; null counts as false. A string is parsed as SQL. Columns are the
        values of the new row. Aggregates cover the rows of the window, the new row included. The
        JVM evaluates the expression.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.When("delay > 60 AND count(*) >= 3")
    When(condition='delay > 60 AND count(*) >= 3')

    The second row fires the window.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.When("delay = 20"))
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   30|
    +------+-----+
    """

    condition: Condition

    def __post_init__(self) -> None:
        object.__setattr__(self, "condition", condition_of("condition", self.condition))


@keywords_after(0, example="EveryBatch()")
@dataclass(frozen=True, slots=True, repr=False)
class EveryBatch(Trigger):
    """Fires at the end of each micro-batch that brought the window rows, like Spark's update mode.

    If the watermark of a `TimePolicy` drops the window before its batch ends, the window fires
    then. This trigger cannot be inside another trigger.

    Examples
    --------
    >>> import transom
    >>> transom.EveryBatch()
    EveryBatch()

    A static DataFrame is one batch.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.EveryBatch())
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   70|
    +------+-----+
    """


@keywords_after(0, example="Never()")
@dataclass(frozen=True, slots=True, repr=False)
class Never(Trigger):
    """Never fires: windows collect rows and emit no result.

    Examples
    --------
    >>> import transom
    >>> transom.Never()
    Never()

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.Never())
    >>> windows.agg(n=F.count("*")).show()
    +------+---+
    |window|  n|
    +------+---+
    +------+---+
    """


def check_trigger(argument: str, value: object, *, or_none: bool = False) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is no trigger, nor None where None is allowed."""
    if is_kind_of(Trigger, value) or (or_none and value is None):
        return
    example = "transom.AfterCount(100) or transom.When('v > 5')"
    if is_duration(value):
        example = f"transom.Every({value!r})"
    elif isinstance(value, int) and not isinstance(value, bool) and value > 0:
        example = f"transom.AfterCount({value})"
    elif isinstance(value, type) and issubclass(value, Trigger):
        example = f"transom.{value.__name__}(...), which is a value of this class"
    last = ", or None" if or_none else ""
    raise type_error(argument, value, f"a trigger of transom, such as {example}{last}")
