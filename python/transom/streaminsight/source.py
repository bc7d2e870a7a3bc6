"""The input of a query of StreamInsight: lifetimes, and how application time advances."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pyspark.sql import DataFrame

from transom._base import checks
from transom._base.durations import Duration, not_negative
from transom._base.errors import type_error
from transom._base.expressions import Col
from transom._base.misplaced import explained
from transom._base.values import Value, keywords_after
from transom._columns import check_timestamp
from transom.spec.times.time_policies import TimePolicy
from transom.spec.times.time_rules import Adjust, Drop, Periodic
from transom.spec.windows.lifetimes import Lifetime
from transom.stream import Stream
from transom.stream import stream as transom_stream

_TICK = "1 microsecond"


@keywords_after(1, example="AdvanceTimeSettings(1, delay='2 minutes')")
@dataclass(frozen=True, slots=True, repr=False)
class AdvanceTimeSettings(Value):
    """When punctuation (a CTI) is generated, and what happens to events that violate it.

    Parameters
    ----------
    every : int, str or timedelta
        The number of events, or the span of application time, after which punctuation comes.
    delay : str or timedelta
        How far the punctuation lies before the largest start so far.
    policy : {"Drop", "Adjust"}
        What happens to an event that starts before the punctuation. "Adjust" cuts its lifetime to
        start there, and drops an event that has ended by then.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``,
        ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The third event starts before the punctuation, which is 2 minutes behind 05:45. So its lifetime
    starts at the punctuation.

    >>> from datetime import datetime, timedelta
    >>> times = [datetime(2013, 1, 1, 5, minute) for minute in (40, 45, 41)]
    >>> rows = [(n, at, at + timedelta(minutes=30)) for n, at in enumerate(times)]
    >>> flights = spark.createDataFrame(rows, "n int, departed timestamp, landed timestamp")
    >>> adjusting = transom.streaminsight.AdvanceTimeSettings(
    ...     1, delay="2 minutes", policy="Adjust"
    ... )
    >>> events = transom.streaminsight.stream(
    ...     flights.coalesce(1), start="departed", end="landed", advanceTime=adjusting
    ... )
    >>> events.stamped().select("n", "stamp.lifetime.*", "stamp.disposition").orderBy("n").show()
    +---+-------------------+-------------------+-----------+
    |  n|              start|                end|disposition|
    +---+-------------------+-------------------+-----------+
    |  0|2013-01-01 05:40:00|2013-01-01 06:10:00|   accepted|
    |  1|2013-01-01 05:45:00|2013-01-01 06:15:00|   accepted|
    |  2|2013-01-01 05:43:00|2013-01-01 06:11:00|   adjusted|
    +---+-------------------+-------------------+-----------+
    """

    every: int | Duration
    delay: Duration = field(default="0 seconds", kw_only=True)
    policy: Literal["Drop", "Adjust"] = field(default="Drop", kw_only=True)

    def __post_init__(self) -> None:
        checks.choice("policy", self.policy, ("Drop", "Adjust"))
        object.__setattr__(self, "delay", not_negative("delay", self.delay))
        self._advance()

    def _time_of(self, start: Col) -> TimePolicy:
        """Return the time policy of events with these starts."""
        rule = Adjust if self.policy == "Adjust" else Drop
        return TimePolicy(start, out_of_order=rule(self.delay), advance=self._advance())

    def _advance(self) -> Periodic:
        if isinstance(self.every, int):
            checks.whole_number("every", self.every, least=1)
            return Periodic(self.every)
        return Periodic(every=self.every)


def IncreasingStartTime() -> AdvanceTimeSettings:
    """Return the settings for events in order: punctuation after each event, without delay.

    An event that starts before an earlier one is dropped.

    Returns
    -------
    AdvanceTimeSettings
        The argument ``advanceTime`` of `stream`.

    Examples
    --------
    >>> in_order = transom.streaminsight.IncreasingStartTime()
    >>> in_order == transom.streaminsight.AdvanceTimeSettings(1)
    True

    >>> from datetime import datetime
    >>> rows = [(n, datetime(2013, 1, 1, 5, minute)) for n, minute in enumerate([40, 45, 41])]
    >>> flights = spark.createDataFrame(rows, "n int, departed timestamp").coalesce(1)
    >>> events = transom.streaminsight.stream(flights, start="departed", advanceTime=in_order)
    >>> events.stamped().select("n", "stamp.time", "stamp.disposition").orderBy("n").show()
    +---+-------------------+-----------+
    |  n|               time|disposition|
    +---+-------------------+-----------+
    |  0|2013-01-01 05:40:00|   accepted|
    |  1|2013-01-01 05:45:00|   accepted|
    |  2|               NULL|    dropped|
    +---+-------------------+-----------+
    """
    return AdvanceTimeSettings(1)


def UnorderedStartTime(delay: Duration) -> AdvanceTimeSettings:
    """Return the settings for events out of order: punctuation after each event, with a delay.

    Parameters
    ----------
    delay : str or timedelta
        How much earlier than the largest start so far an event may start.

    Returns
    -------
    AdvanceTimeSettings
        The argument ``advanceTime`` of `stream`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> late = transom.streaminsight.UnorderedStartTime("5 minutes")
    >>> late == transom.streaminsight.AdvanceTimeSettings(1, delay="5 minutes")
    True

    The third event starts at most 5 minutes before the second one.

    >>> from datetime import datetime
    >>> rows = [(n, datetime(2013, 1, 1, 5, minute)) for n, minute in enumerate([40, 45, 41])]
    >>> flights = spark.createDataFrame(rows, "n int, departed timestamp").coalesce(1)
    >>> events = transom.streaminsight.stream(flights, start="departed", advanceTime=late)
    >>> events.stamped().select("n", "stamp.time", "stamp.disposition").orderBy("n").show()
    +---+-------------------+-----------+
    |  n|               time|disposition|
    +---+-------------------+-----------+
    |  0|2013-01-01 05:40:00|   accepted|
    |  1|2013-01-01 05:45:00|   accepted|
    |  2|2013-01-01 05:41:00|   accepted|
    +---+-------------------+-----------+
    """
    return AdvanceTimeSettings(1, delay=delay)


@explained
def stream(
    df: DataFrame,
    *,
    start: Col,
    end: Col | Lifetime | None = None,
    advanceTime: AdvanceTimeSettings | None = None,
    order: Col | Sequence[Col] = (),
) -> Stream:
    """Start a query over interval events or point events.

    Parameters
    ----------
    df : DataFrame
        The events. Spark keeps their order within a partition, but not across partitions, and
        events out of order are dropped by default. Name their order, or use `UnorderedStartTime`.
    start : str or Column
        The start of an event, a timestamp.
    end : str, Column or Lifetime, optional
        The end of an event, exclusive. Null stands for an event without end, StreamInsight's
        ``DateTime.MaxValue``. Without this argument the events are points, and last one
        microsecond. ``transom.Lifetime(end, id=...)`` makes edge events.
    advanceTime : AdvanceTimeSettings, optional
        How application time advances. None means `IncreasingStartTime`.
    order : str, Column or sequence of them
        The order of events that Spark reads together, see `transom.stream`.

    Returns
    -------
    Stream
        The argument of the functions of windows. Call `transom.Stream.key_by` on it for
        ``GroupBy``.

    Raises
    ------
    PySparkValueError
        The conditions of `transom.stream`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    See Also
    --------
    transom.TimePolicy : All settings, with punctuation in the input (`transom.Punctuated`).
    transom.Lifetime : Edge events, whose end comes in a row of its own.

    Examples
    --------
    The third event starts before the second one, so it is dropped.

    >>> rows = [(1, "05:40", "06:10"), (2, "06:00", "06:30"), (3, "05:50", "06:20")]
    >>> flights = spark.createDataFrame(rows, "n int, departed string, landed string")
    >>> times = [F.to_timestamp(F.concat(F.lit("2013-01-01 "), name)).alias(name)
    ...          for name in ("departed", "landed")]
    >>> flights = flights.coalesce(1).select("n", *times)
    >>> events = transom.streaminsight.stream(flights, start="departed", end="landed")
    >>> windows = transom.streaminsight.snapshotWindow(events)
    >>> planes = windows.agg(F.collect_set("n").alias("planes"))
    >>> planes.select("lifetime.start", "lifetime.end", "planes").orderBy("start").show()
    +-------------------+-------------------+------+
    |              start|                end|planes|
    +-------------------+-------------------+------+
    |2013-01-01 05:40:00|2013-01-01 06:00:00|   [1]|
    |2013-01-01 06:00:00|2013-01-01 06:10:00|[1, 2]|
    |2013-01-01 06:10:00|2013-01-01 06:30:00|   [2]|
    +-------------------+-------------------+------+
    """
    settings = IncreasingStartTime() if advanceTime is None else advanceTime
    if not isinstance(settings, AdvanceTimeSettings):
        raise type_error("advanceTime", settings, "AdvanceTimeSettings(...)")
    check_timestamp(df, "start", start)
    lifetime = end
    if end is not None and not isinstance(end, Lifetime):
        check_timestamp(df, "end", end, needs_zone=False)
        lifetime = Lifetime(end)
    if end is None and settings.policy == "Adjust":
        # A point with a lifetime is dropped and not moved.
        lifetime = Lifetime(duration=_TICK)
    return transom_stream(df, time=settings._time_of(start), lifetime=lifetime, order=order)
