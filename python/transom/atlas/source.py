"""The source stage of Atlas: where the time of a document comes from."""

from pyspark.sql import DataFrame

from transom._base.errors import value_error
from transom._base.expressions import Col
from transom._base.misplaced import explained
from transom._columns import check_timestamp
from transom.atlas.durations import JsonDuration, positive
from transom.spec.times.time_policies import TimePolicy
from transom.stream import Stream
from transom.stream import stream as transom_stream


@explained
def stream(
    df: DataFrame,
    *,
    timeField: Col | None = None,
    arrival: Col | None = None,
    partition: Col | None = None,
    partitionIdleTimeout: JsonDuration | None = None,
) -> Stream:
    """Start a query as the ``$source`` stage of Atlas does.

    The watermark is the largest time so far, without a delay. It moves with each row, and is the
    minimum over the partitions. This is ``TimePolicy(timeField, ...)`` in transom.

    Parameters
    ----------
    df : DataFrame
        The documents.
    timeField : str or Column, optional
        The time of a document, a timestamp. Without it, the arrival time counts.
    arrival : str or Column, optional
        The time at which the broker received the document, such as ``timestamp`` of Spark's Kafka
        source. Without it, the time of the micro-batch is the arrival time.
    partition : str or Column, optional
        The partition of the source, such as ``partition`` of Spark's Kafka source. Spark does not
        say which rows come from which partition, so name the column. Without it, there is one
        watermark for all rows.
    partitionIdleTimeout : dict, optional
        How long a partition may be silent before the watermark no longer waits for it. Without it,
        the watermark waits for every partition.

    Returns
    -------
    Stream
        An immutable builder. Pass it to `tumblingWindow`, `hoppingWindow` or `sessionWindow`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE`` for ``partitionIdleTimeout`` without ``partition``, and for an
        unknown unit. ``TRANSOM_NOT_POSITIVE``, and the conditions of `transom.stream`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    See Also
    --------
    transom.TimePolicy : All settings, with rules for early and late rows that Atlas lacks.

    Examples
    --------
    >>> rows = [("JFK", "2024-01-01 00:01"), ("JFK", "2024-01-01 00:02")]
    >>> flights = spark.createDataFrame(rows, "origin string, at string")
    >>> by_origin = transom.atlas.stream(flights, timeField=F.to_timestamp("at")).key_by("origin")
    >>> minutes = transom.atlas.tumblingWindow(by_origin, interval={"size": 3, "unit": "minute"})
    >>> minutes.agg(F.count("*").alias("n")).select("origin", "window.end", "n").show()
    +------+-------------------+---+
    |origin|                end|  n|
    +------+-------------------+---+
    |   JFK|2024-01-01 00:03:00|  2|
    +------+-------------------+---+
    """
    for argument, column in (("timeField", timeField), ("arrival", arrival)):
        if column is not None:
            check_timestamp(df, argument, column)
    idle = None
    if partitionIdleTimeout is not None:
        idle = positive("partitionIdleTimeout", partitionIdleTimeout)
        if partition is None:
            raise value_error(
                "BAD_CHOICE",
                argument="partitionIdleTimeout",
                value=partitionIdleTimeout,
                choices="partitionIdleTimeout only together with partition, the column of the ids",
            )
    policy = TimePolicy(timeField, arrival=arrival, partition=partition, idle_partition=idle)
    return transom_stream(df, time=policy)
