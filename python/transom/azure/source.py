"""The input of a job of Azure Stream Analytics: TIMESTAMP BY, OVER and the event ordering."""

from collections.abc import Sequence
from typing import Literal

from pyspark.sql import DataFrame

from transom._base import checks
from transom._base.expressions import Col, text_of
from transom._base.misplaced import explained
from transom._columns import check_timestamp
from transom.azure.limits import limit_error
from transom.spec.times.time_policies import TimePolicy
from transom.spec.times.time_rules import Adjust, Drop
from transom.stream import Stream
from transom.stream import stream as transom_stream

OutOfOrderPolicy = Literal["Adjust", "Drop"]

# Azure does not let users change this tolerance.
_EARLY = Drop("5 minutes")
# 20 days, 23 hours, 59 minutes and 59 seconds.
_MOST_LATE_SECONDS = 1_814_399
_NO_LIMIT = -1


@explained
def stream(
    df: DataFrame,
    *,
    arrival: Col,
    timestampBy: Col | None = None,
    over: Sequence[Col] = (),
    partition: Col | None = None,
    partitions: Sequence[str] = (),
    eventsOutOfOrderPolicy: OutOfOrderPolicy = "Adjust",
    eventsOutOfOrderMaxDelayInSeconds: int = 0,
    eventsLateArrivalMaxDelayInSeconds: int = 5,
) -> Stream:
    """Start a query as ``FROM input TIMESTAMP BY ... OVER ...`` does.

    Events more than 5 minutes ahead of their arrival are dropped. Then the late arrival tolerance
    applies, and then the out of order tolerance. The watermark is the largest time so far minus the
    out of order tolerance. While no events come, the watermark is the estimated arrival minus the
    late arrival tolerance.

    Parameters
    ----------
    df : DataFrame
        The events.
    arrival : str or Column
        The time at which the broker received the event, such as ``timestamp`` of Spark's Kafka
        source. It stands for ``EventEnqueuedUtcTime``.
    timestampBy : str or Column, optional
        The application time of an event, a timestamp. Without it, the arrival time counts, and all
        tolerances are ignored.
    over : sequence of str or Column
        The columns that identify a substream. Each substream has its own watermark. All columns
        must be keys of the windows.
    partition : str or Column, optional
        The partition of the source, such as ``partition`` of Spark's Kafka source. Spark does not
        say which events come from which partition, so name the column. Without it, there is one
        watermark for all events. With ``over`` it changes nothing, because a substream lies in one
        partition.
    partitions : sequence of str
        The ids of all partitions. With it, a partition counts before its first event.
    eventsOutOfOrderPolicy : {"Adjust", "Drop"}
        What happens to events that are late or out of order. Both tolerances share this setting.
    eventsOutOfOrderMaxDelayInSeconds : int
        The out of order tolerance.
    eventsLateArrivalMaxDelayInSeconds : int
        The late arrival tolerance, at most 1,814,399. With -1 no event arrives too late, and the
        watermark does not move while no events come. A run with ``availableNow`` ends with an
        estimate of the next arrival, so use -1 for tests and replays, whose arrivals are behind the
        wall clock.

    Returns
    -------
    Stream
        An immutable builder. Call `transom.Stream.key_by` and `transom.Stream.window` on it.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_PRESET_LIMIT`` for ``over`` without ``timestampBy``, for a ``partition`` that is
        not among the columns of ``over``, and for a late arrival tolerance above the limit.
        ``TRANSOM_BAD_CHOICE``, ``TRANSOM_NEGATIVE``, and the conditions of `transom.TimePolicy`
        and `transom.stream`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    See Also
    --------
    transom.TimePolicy : All settings, without these limits.

    Examples
    --------
    The second event arrived 8 seconds after its time. The tolerance is 5 seconds, so its time moves
    to 5 seconds before its arrival. The next window contains it.

    >>> rows = [("00:00:08", "00:00:09"), ("00:00:09", "00:00:17")]
    >>> readings = spark.createDataFrame(rows, "at string, known string").select(
    ...     F.to_timestamp(F.concat(F.lit("2024-01-01 "), "at")).alias("at"),
    ...     F.to_timestamp(F.concat(F.lit("2024-01-01 "), "known")).alias("known"),
    ... )
    >>> events = transom.azure.stream(readings, arrival="known", timestampBy="at")
    >>> tens = events.window(transom.azure.TumblingWindow("second", 10))
    >>> tens.agg(F.count("*").alias("n")).select("window.end", "n").orderBy("end").show()
    +-------------------+---+
    |                end|  n|
    +-------------------+---+
    |2024-01-01 00:00:10|  1|
    |2024-01-01 00:00:20|  1|
    +-------------------+---+
    """
    check_timestamp(df, "arrival", arrival)
    if timestampBy is not None:
        check_timestamp(df, "timestampBy", timestampBy)
    checks.choice("eventsOutOfOrderPolicy", eventsOutOfOrderPolicy, ("Adjust", "Drop"))
    action = Adjust if eventsOutOfOrderPolicy == "Adjust" else Drop
    out_of_order = eventsOutOfOrderMaxDelayInSeconds
    checks.whole_number("eventsOutOfOrderMaxDelayInSeconds", out_of_order, least=0)
    late = _late(action, eventsLateArrivalMaxDelayInSeconds)
    if timestampBy is None:
        if over:
            raise limit_error(
                "over",
                over,
                why="substreams differ in their application time, and without timestampBy the "
                "arrival time counts",
                fix="Name the column of the application time as timestampBy, or remove over",
            )
        policy = TimePolicy(None, arrival=arrival, partition=partition, partitions=partitions)
        return transom_stream(df, time=policy)
    policy = TimePolicy(
        timestampBy,
        arrival=arrival,
        # A substream lies in one partition, and has a watermark of its own.
        partition=None if over else partition,
        partitions=() if over else partitions,
        over=over,
        early=_EARLY,
        late=late,
        out_of_order=action(f"{out_of_order} seconds"),
        estimate_arrival=late is not None,
    )
    if over and partition is not None and text_of(partition) not in map(text_of, over):
        raise limit_error(
            "partition",
            repr(text_of(partition)),
            why="with OVER, a substream lies in one partition, but this column is not in over",
            fix="Add this column to over and to key_by(), or remove partition",
        )
    return transom_stream(df, time=policy)


def _late(action: type[Adjust] | type[Drop], seconds: int) -> Adjust | Drop | None:
    """Return the rule for late arrivals. None: no event arrives too late."""
    argument = "eventsLateArrivalMaxDelayInSeconds"
    if seconds == _NO_LIMIT:
        return None
    if isinstance(seconds, int) and seconds < _NO_LIMIT:
        fix = "Use -1 for no limit, or a number of seconds, 0 or more"
        raise limit_error(argument, seconds, why="only -1 stands for no limit", fix=fix)
    checks.whole_number(argument, seconds, least=0)
    if seconds > _MOST_LATE_SECONDS:
        raise limit_error(
            argument,
            seconds,
            why=f"the tolerance is at most {_MOST_LATE_SECONDS:,}, one second below 21 days",
            fix="Use -1 for no limit, or transom.TimePolicy(...) with a longer tolerance",
        )
    return action(f"{seconds} seconds")
