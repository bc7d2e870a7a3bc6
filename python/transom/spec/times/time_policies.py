"""Time policies: frozen values that set the time of a row, by event time or the wall clock."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column

from transom._base import checks
from transom._base.durations import Duration, is_duration, not_negative, positive
from transom._base.errors import type_error, value_error
from transom._base.expressions import Col, check_column
from transom._base.misplaced import Hints
from transom._base.values import Value, keywords_after
from transom.spec.times.time_rules import Accept, Adjust, Drop, Periodic, Punctuated

# Lateness and watermarks have other names elsewhere.
_DELAYS = ("watermark", "watermarkDelay", "delayThreshold")
_NO_LATENESS: Hints = dict.fromkeys(
    ("lateness", "allowed_lateness"),
    ("lateness belongs to the windows", "window(...).allowed_lateness('15 minutes')"),
)
_EVENT_TIME = "EventTime('departed', delay='10 minutes')"
_POLICY = "TimePolicy('departed', out_of_order='10 minutes')"
_NOT_EVENT_TIME: Hints = {
    **dict.fromkeys(
        _DELAYS,
        ("the argument for the delay of the watermark is delay", "EventTime(..., delay=<value>)"),
    ),
    **_NO_LATENESS,
}
_NOT_POLICY: Hints = {
    **dict.fromkeys(
        (*_DELAYS, "delay"),
        (
            "the argument for the delay of the watermark is out_of_order",
            "TimePolicy(..., out_of_order=<value>)",
        ),
    ),
    **_NO_LATENESS,
}


@keywords_after(1, example=_EVENT_TIME, hints=_NOT_EVENT_TIME)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventTime(Value):
    """Event time: the time of a row is in a column, and Spark's watermark advances it.

    Parameters
    ----------
    time : str or Column
        When the row happened: a timestamp, or the ``window`` column of an earlier window operator.
    delay : str or timedelta, optional
        How far the watermark stays behind the latest time seen. None if the DataFrame already has a
        watermark. A static DataFrame has no watermark and ignores the delay.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> clock = transom.EventTime("departed", delay="10 minutes")
    >>> clock == transom.EventTime("departed", delay="600 seconds")
    True

    The windows are those of the times in the column.

    >>> rows = spark.createDataFrame([("2013-01-01 05:40",), ("2013-01-01 05:45",)], "at string")
    >>> clock = transom.EventTime(F.to_timestamp("at"), delay="10 minutes")
    >>> hours = transom.stream(rows, time=clock).window(transom.Tumbling("1 hour"))
    >>> hours.agg(n=F.count("*")).select("window.start", "n").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2013-01-01 05:00:00|  2|
    +-------------------+---+
    """

    time: str | Column
    delay: Duration | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_column("time", self.time)
        if self.delay is not None:
            object.__setattr__(self, "delay", not_negative("delay", self.delay))


@keywords_after(0, example="ProcessingTime()")
@dataclass(frozen=True, slots=True, repr=False)
class ProcessingTime(Value):
    """Processing time: the time of a row is the wall clock of its micro-batch, and no row is late.

    A replayed batch has the same time again. A static DataFrame cannot use processing time.

    Examples
    --------
    >>> import transom
    >>> transom.ProcessingTime()
    ProcessingTime()

    The rows come in one batch, so they have the same time, and are in the same window.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> spark.createDataFrame([(10,), (20,)], "delay int").write.mode("append").csv(folder)
    >>> flights = spark.readStream.schema("delay int").csv(folder)
    >>> by_clock = transom.stream(flights, time=transom.ProcessingTime())
    >>> hours = by_clock.window(transom.Tumbling("1 hour")).drain().agg(n=F.count("*"))
    >>> writer = hours.writeStream.format("memory").queryName("hours_by_clock")
    >>> writer.trigger(availableNow=True).start().awaitTermination()
    >>> spark.table("hours_by_clock").select("n").show()
    +---+
    |  n|
    +---+
    |  2|
    +---+
    """


# Each row that is before the watermark keeps its time.
_IN_ORDER = Accept("0 seconds")


@keywords_after(1, example=_POLICY, hints=_NOT_POLICY)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TimePolicy(Value):
    """Event time whose watermark moves from row to row, with rules for early and late rows.

    Each row meets the rules in this order: ``early``, ``late``, ``out_of_order``. The watermark
    then moves. The result does not depend on how the rows are cut into micro-batches. Rows are
    taken in the order of `stream`'s ``order``, otherwise by ``arrival``, otherwise as Spark reads
    them. Windows of a policy with ``partition`` take them by arrival, then by partition, then by
    ``order``.

    Parameters
    ----------
    time : str, Column or None
        The column that holds the event time, a timestamp. None uses the arrival time.
    arrival : str or Column, optional
        The column that holds the time at which the row reached the source, such as the timestamp
        that a broker sets. Without it, the time of the micro-batch is the arrival time. An arrival
        time never goes back: a row counts as arriving no earlier than the rows before it.
    partition : str or Column, optional
        The column that holds the partition of the source. Each partition has its own watermark, and
        windows follow the least of them. The ids are compared as text.
    partitions : sequence of str
        The ids of all partitions. Windows wait for each of them, also before its first row. Without
        it, any id but null is valid, and a partition counts from its first row.
    over : sequence of str or Column
        The columns that identify a substream. Each substream has its own watermark, and its windows
        follow it. All columns must be keys of the windows. The rule for ``late`` limits how far the
        watermark of a substream stays behind the latest arrival of all rows, so windows of silent
        substreams close too. Only `Stream.stamped` accepts ``over`` together with ``partition``.
        Each substream of each partition then has its own watermark.
    early : Drop or Adjust, optional
        What happens to a row whose time is after its arrival by more than the tolerance. `Adjust`
        moves the time to the arrival plus the tolerance.
    late : Drop or Adjust, optional
        What happens to a row whose time is before its arrival by more than the tolerance. `Adjust`
        moves the time to the arrival minus the tolerance. With this rule, a watermark is never
        before this bound.
    out_of_order : str, timedelta, Accept, Drop or Adjust
        How far the watermark stays behind the largest time, and what happens to a row whose time is
        before the watermark. A duration means ``Accept(duration)``. `Adjust` moves the time to the
        watermark.
    advance : Periodic or Punctuated
        When the watermark moves. By default each row moves it. With `Punctuated` some rows are no
        data, and only set the watermark.
    idle_partition : str or timedelta, optional
        How long a partition may be silent, by the wall clock, before the watermark of windows no
        longer waits for it. The next row of the partition ends this. Without it, the watermark
        waits for every partition.
    estimate_arrival : bool
        Whether the watermark moves on while no rows arrive: to the latest arrival, plus the time
        that has passed since, minus the tolerance of ``late``.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_TOLERANCE_WITHOUT_TIME`` for ``early`` or ``late`` if ``time`` is None.
        ``TRANSOM_NEEDS_PARTITION`` for ``partitions`` or ``idle_partition`` without ``partition``.
        ``TRANSOM_ESTIMATE_NEEDS_LATE`` for ``estimate_arrival`` without ``late``.
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``, ``TRANSOM_NOT_POSITIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The second flight became known 25 minutes after its departure. The rule for late rows allows 5
    minutes.

    >>> from datetime import datetime
    >>> rows = [
    ...     ("N1", datetime(2013, 1, 1, 5, 40), datetime(2013, 1, 1, 5, 41)),
    ...     ("N2", datetime(2013, 1, 1, 5, 20), datetime(2013, 1, 1, 5, 45)),
    ... ]
    >>> flights = spark.createDataFrame(rows, "tail string, departed timestamp, known timestamp")
    >>> clock = transom.TimePolicy("departed", arrival="known", late=transom.Adjust("5 minutes"))
    >>> stamped = transom.stream(flights, time=clock).stamped().orderBy("tail")
    >>> stamped.select("tail", "stamp.time", "stamp.rules", "stamp.disposition").show()
    +----+-------------------+--------------+-----------+
    |tail|               time|         rules|disposition|
    +----+-------------------+--------------+-----------+
    |  N1|2013-01-01 05:40:00|            []|   accepted|
    |  N2|2013-01-01 05:40:00|[late_arrival]|   adjusted|
    +----+-------------------+--------------+-----------+
    """

    time: Col | None
    arrival: Col | None = field(default=None, kw_only=True)
    partition: Col | None = field(default=None, kw_only=True)
    partitions: Sequence[str] = field(default=(), kw_only=True)
    over: Sequence[Col] = field(default=(), kw_only=True)
    early: Drop | Adjust | None = field(default=None, kw_only=True)
    late: Drop | Adjust | None = field(default=None, kw_only=True)
    out_of_order: Duration | Accept | Drop | Adjust = field(default=_IN_ORDER, kw_only=True)
    advance: Periodic | Punctuated = field(default=Periodic(), kw_only=True)
    idle_partition: Duration | None = field(default=None, kw_only=True)
    estimate_arrival: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("time", "arrival", "partition"):
            if getattr(self, name) is not None:
                check_column(name, getattr(self, name))
        checks.sequence("partitions", self.partitions, str, "a list of ids, such as ['0', '1']")
        # The order of ids and repeated ids mean nothing, and policies are equal by meaning.
        object.__setattr__(self, "partitions", tuple(sorted(set(self.partitions))))
        if self.partitions:
            self._check_has_partition("partitions", self.partitions)
        some = f"[{self.over!r}]" if isinstance(self.over, str) else "['device']"
        checks.sequence(
            "over", self.over, (str, Column), f"a list of Columns or column names, such as {some}"
        )
        object.__setattr__(self, "over", tuple(self.over))
        for name in ("early", "late"):
            self._check_tolerance(name, getattr(self, name))
        if not isinstance(self.out_of_order, Accept | Drop | Adjust):
            length = not_negative("out_of_order", self.out_of_order)
            object.__setattr__(self, "out_of_order", Accept(length))
        advance: object = self.advance
        if not isinstance(advance, Periodic | Punctuated):
            every = f"every={advance!r}" if is_duration(advance) else "..."
            expected = f"transom.Periodic({every}) or transom.Punctuated(...)"
            raise type_error("advance", advance, expected)
        if self.idle_partition is not None:
            self._check_has_partition("idle_partition", self.idle_partition)
            object.__setattr__(
                self, "idle_partition", positive("idle_partition", self.idle_partition)
            )
        checks.flag("estimate_arrival", self.estimate_arrival)
        if self.estimate_arrival and self.late is None:
            raise value_error("ESTIMATE_NEEDS_LATE", argument="estimate_arrival")

    def _check_has_partition(self, argument: str, value: object) -> None:
        if self.partition is None:
            raise value_error("NEEDS_PARTITION", argument=argument, value=repr(value))

    def _check_tolerance(self, name: str, rule: object) -> None:
        if rule is None:
            return
        if not isinstance(rule, Drop | Adjust):
            beyond = repr(rule) if is_duration(rule) else "..."
            expected = f"transom.Drop({beyond}), transom.Adjust({beyond}) or None"
            raise type_error(name, rule, expected)
        if self.time is None:
            raise value_error("TOLERANCE_WITHOUT_TIME", argument=name, value=rule)


# The clocks whose watermark fires windows.
EventClock = EventTime | TimePolicy
Clock = EventClock | ProcessingTime
Time = Col | Clock


def uses_batch_time(policy: TimePolicy) -> str | None:
    """Return the argument for which the time of the micro-batch is the arrival of a row, if any."""
    if policy.arrival is not None:
        return None
    if policy.time is None:
        return "time"
    return next((name for name in ("late", "early") if getattr(policy, name) is not None), None)


def needs_policy(argument: str, time: Clock | None) -> Exception:
    """Return the error ``TRANSOM_NEEDS_TIME_POLICY``, with the policy to write instead."""
    instead = "transom.TimePolicy('departed')"
    if isinstance(time, EventTime):
        delay = "" if time.delay is None else f", out_of_order={time.delay!r}"
        instead = f"transom.TimePolicy({time.time!r}{delay})"
    return value_error("NEEDS_TIME_POLICY", argument=argument, value=time, instead=instead)
