"""The metadata that Atlas adds to the results of its windows."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from transom._base.columns import fields_of
from transom._base.errors import type_error
from transom._base.expressions import Col, check_column, column


def stream_meta(results: DataFrame, *, partition: Col | None = None) -> DataFrame:
    """Replace the column ``window`` of results by the metadata that Atlas writes.

    Call this function last. The new column does not carry the watermark, so the rows cannot be
    windowed again.

    Parameters
    ----------
    results : DataFrame
        The results of `transom.Windowed.agg` or `transom.Windowed.apply`.
    partition : str or Column, optional
        The key of a session, which Atlas adds to the metadata of sessions.

    Returns
    -------
    DataFrame
        The results with the struct column ``_stream_meta`` in place of ``window``. It has the
        fields ``window.start`` and ``window.end``, and ``window.partition`` with ``partition``.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = [("sensor 1", "2024-01-01 00:01"), ("sensor 1", "2024-01-01 00:02")]
    >>> readings = spark.createDataFrame(rows, "sensor string, at string")
    >>> by_time = transom.atlas.stream(readings, timeField=F.to_timestamp("at"))
    >>> sessions = transom.atlas.sessionWindow(
    ...     by_time, partitionBy="sensor", gap={"size": 5, "unit": "minute"}
    ... )
    >>> counts = sessions.agg(F.count("*").alias("n"))
    >>> meta = transom.atlas.stream_meta(counts, partition="sensor")
    >>> meta.select("n", "_stream_meta.window.*").show()
    +---+-------------------+-------------------+---------+
    |  n|              start|                end|partition|
    +---+-------------------+-------------------+---------+
    |  2|2024-01-01 00:01:00|2024-01-01 00:07:00| sensor 1|
    +---+-------------------+-------------------+---------+
    """
    if not isinstance(results, DataFrame):
        raise type_error("results", results, "the DataFrame that agg() or apply() returns")
    fields_of(results, "results", ["window"])
    fields = [F.col("window.start"), F.col("window.end")]
    if partition is not None:
        check_column("partition", partition)
        fields_of(results, "partition", [partition])
        fields.append(column(partition).alias("partition"))
    meta = F.struct(F.struct(*fields).alias("window"))
    return results.withColumn("_stream_meta", meta).drop("window")
