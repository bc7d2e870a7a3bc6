"""Triggers that contain other triggers."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from transom._base import checks
from transom._base.durations import Duration, positive
from transom._base.errors import value_error
from transom._base.values import keywords_after
from transom.spec.firing.end_triggers import AfterClock, AfterLateness, EndOfStream
from transom.spec.firing.triggers import AfterCount, EveryBatch, Trigger, check_trigger

_EACH_LATE_ROW = AfterCount(1)
# Why a trigger cannot be inside another one, and what to use instead.
_BY_BATCH = (
    "EveryBatch waits for the end of a micro-batch, and other triggers react to each row",
    "EveryBatch alone, or AfterCount(1) for a result after each row",
)
_AT_THE_END = (
    "AfterWatermark fires at the end of the window itself",
    "a trigger that fires before or after the end, such as AfterCount(100)",
)


@keywords_after(0, example="AfterWatermark(early=AfterCount(10))")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AfterWatermark(Trigger):
    """Fires when the watermark reaches the end of the window. The default in event time.

    Parameters
    ----------
    early : Trigger, optional
        Fires the window before its end as well. A static DataFrame has early results too, as a
        stream of one batch.
    late : Trigger, optional
        Fires the window after its end, while `Windowed.allowed_lateness` keeps it. By default each
        late row fires it. With None, no late row does, so late rows are in no result.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_IN_PLACE`` if ``early`` or ``late`` is or contains `EveryBatch` or a trigger
        for the end of a window: `AfterWatermark`, `AfterClock`, `AfterLateness` or `EndOfStream`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Notes
    -----
    Each result replaces the results before it in the same window. A table of results needs a MERGE
    on the keys and the window. The bounds of a session move as rows arrive, so the next result of
    the session has another window and replaces nothing. Add `Windowed.retract` for sessions: delete
    the row of each "-U", and insert the row of each "+I" and "+U".

    Examples
    --------
    >>> import transom
    >>> each_minute = transom.Every("1 minute", clock="processing", aligned=False)
    >>> transom.AfterWatermark(early=each_minute).late
    AfterCount(rows=1)

    Each row fires the window early. The window fires once more at its end.

    >>> rows = spark.createDataFrame([("2013-01-01 05:40",), ("2013-01-01 05:45",)], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> hours = by_time.window(transom.Tumbling(size="1 hour")).with_pane()
    >>> early = hours.trigger(transom.AfterWatermark(early=transom.AfterCount(1)))
    >>> early.agg(F.count("*").alias("n")).select("pane.timing", "n").show()
    +-------+---+
    | timing|  n|
    +-------+---+
    |  early|  1|
    |  early|  2|
    |on_time|  2|
    +-------+---+
    """

    early: Trigger | None = None
    late: Trigger | None = _EACH_LATE_ROW

    def __post_init__(self) -> None:
        for argument, inner in (("early", self.early), ("late", self.late)):
            check_trigger(argument, inner, or_none=True)
            if inner is not None:
                at_ends = (AfterWatermark, AfterClock, AfterLateness, EndOfStream)
                _check_inner(argument, inner, self, EveryBatch, *at_ends)


@keywords_after(1, example="Purging(AfterCount(10))")
@dataclass(frozen=True, slots=True, repr=False)
class Purging(Trigger):
    """Fires as another trigger does, and drops the contents of the window after each firing.

    Parameters
    ----------
    trigger : Trigger
        The trigger that fires the window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_IN_PLACE`` for `EveryBatch`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Purging(transom.AfterCount(100))
    Purging(trigger=AfterCount(rows=100))

    The second result does not contain the first row.

    >>> rows = spark.createDataFrame([(10,), (20,)], "delay int")
    >>> each_row = transom.Purging(transom.AfterCount(1))
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(each_row)
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   10|
    |  NULL|   20|
    +------+-----+
    """

    trigger: Trigger

    def __post_init__(self) -> None:
        check_trigger("trigger", self.trigger)
        _check_inner("trigger", self.trigger, self, EveryBatch)


@keywords_after(1, example="ProcessingTimeout(AfterCount(100), after='1 minute')")
@dataclass(frozen=True, slots=True, repr=False)
class ProcessingTimeout(Trigger):
    """Fires as another trigger does, and also some time after a row, on the wall clock.

    Windows that merge do not accept this trigger.

    Parameters
    ----------
    trigger : Trigger
        The other trigger.
    after : str or timedelta
        Time from the first row since the last firing to the timeout.
    reset : bool
        Whether the timeout counts from the newest row instead.
    clear : bool
        Whether a timeout resets ``trigger``. If so, a window that has timed out fires at its end
        only if more rows have arrived since. With an allowed lateness, it also fires when the
        lateness is over. With False, the window always fires at its end.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``. ``TRANSOM_NOT_IN_PLACE`` for
        `EveryBatch`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Notes
    -----
    The rules follow Flink's ``ProcessingTimeoutTrigger``, where ``clear`` is called
    ``clearOnTimeout``. One rule differs: if a timeout has removed the timer at the end of a window,
    Flink keeps the window for good. Here the window is dropped at its end.

    Examples
    --------
    >>> import transom
    >>> transom.ProcessingTimeout(transom.AfterCount(100), after="10 seconds").reset
    False

    The window fires at its second row. The third row waits for the timeout, or for the end of the
    window, which comes first here.

    >>> minutes = ["05:40", "05:45", "05:50"]
    >>> rows = spark.createDataFrame([(f"2013-01-01 {at}",) for at in minutes], "at string")
    >>> pairs = transom.ProcessingTimeout(transom.AfterCount(2), after="10 seconds")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> hours = by_time.window(transom.Tumbling("1 hour")).trigger(pairs)
    >>> hours.agg(n=F.count("*")).select("window.start", "n").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2013-01-01 05:00:00|  2|
    |2013-01-01 05:00:00|  3|
    +-------------------+---+
    """

    trigger: Trigger
    after: Duration = field(kw_only=True)
    reset: bool = field(default=False, kw_only=True)
    clear: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        check_trigger("trigger", self.trigger)
        _check_inner("trigger", self.trigger, self, EveryBatch)
        object.__setattr__(self, "after", positive("after", self.after))
        checks.flag("reset", self.reset)
        checks.flag("clear", self.clear)


def parts(trigger: Trigger) -> Iterator[Trigger]:
    """Yield a trigger and all triggers inside it, the outermost first.

    Examples
    --------
    >>> [type(part).__name__ for part in parts(Purging(AfterWatermark()))]
    ['Purging', 'AfterWatermark', 'AfterCount']
    """
    yield trigger
    for item in fields(trigger):  # type: ignore[arg-type]
        inner = getattr(trigger, item.name)
        if isinstance(inner, Trigger):
            yield from parts(inner)


def _check_inner(argument: str, inner: Trigger, outer: Trigger, *misplaced: type[Trigger]) -> None:
    for part in parts(inner):
        if isinstance(part, misplaced):
            why, instead = _BY_BATCH if isinstance(part, EveryBatch) else _AT_THE_END
            raise value_error(
                "NOT_IN_PLACE",
                argument=argument,
                inner=type(part).__name__,
                outer=type(outer).__name__,
                why=why,
                instead=instead,
            )
