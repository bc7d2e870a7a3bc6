"""The map side reads column batches and single rows, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import Batch, run_stream
from tests.end_to_end.support.sessions import COMPILED, settings

START = datetime(2024, 1, 1)
SECOND = timedelta(seconds=1)

# Accumulators that keep values longer than the input row, in bytes and as objects.
AGGREGATES = [
    f"{function}({name}) AS {function}_{name}"
    for name in ("text", "bytes", "long", "amount", "list", "both")
    for function in ("max", "first", "last", "collect_list")
]


@pytest.fixture(params=[True, False], ids=["columns", "rows"])
def read_as_columns(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[bool]:
    """Read the input as small column batches, or as single rows."""
    values = {
        "spark.sql.parquet.enableVectorizedReader": str(request.param).lower(),
        "spark.sql.parquet.columnarReaderBatchSize": "16",
    }
    # Only compiled code reads column batches.
    with settings(spark, COMPILED | values):
        yield request.param


def made_up(spark: SparkSession) -> DataFrame:
    """Rows with values of many widths and nulls, ordered by id."""
    text = F.sha2(F.col("id").cast("string"), 256).substr(F.lit(1), F.col("id") % 60)
    return (
        spark.range(0, 1_000, 1, 1)
        .withColumn("time", F.expr(f"timestamp'{START}' + make_dt_interval(0, 0, 0, id % 40)"))
        .withColumn("key", F.when(F.col("id") % 5 > 0, F.substring(text, 1, 1)))
        .withColumn("text", F.when(F.col("id") % 7 > 0, text))
        .withColumn("bytes", F.encode(text, "UTF-8"))
        .withColumn("long", F.when(F.col("id") % 3 > 0, F.xxhash64("id")))
        .withColumn("amount", F.col("long").cast("decimal(38, 5)") * F.col("id"))
        .withColumn("amount", F.col("amount").cast("decimal(38, 5)"))
        .withColumn("list", F.array("text", F.lit("x"), "text"))
        .withColumn("both", F.struct("text", F.struct("long", "amount").alias("deep")))
    )


@pytest.mark.usefixtures("read_as_columns")
def test_values_outlive_the_rows_they_came_with(spark: SparkSession) -> None:
    rows = made_up(spark).cache()

    def pipeline(streaming: DataFrame) -> DataFrame:
        return (
            transom.stream(streaming.withWatermark("time", "1 minute"), time="time")
            .key_by("key")
            .window(transom.Tumbling(size="10 seconds"))
            .drain()
            .agg(*map(F.expr, AGGREGATES))
        )

    outcome = run_stream(spark, pipeline, rows.schema, [rows])
    expected = rows.groupBy("key", F.window("time", "10 seconds")).agg(*map(F.expr, AGGREGATES))
    assert_same(outcome.results, expected.collect(), "key", "window")
    rows.unpersist()


@pytest.mark.usefixtures("read_as_columns")
def test_late_rows_are_whole(spark: SparkSession) -> None:
    schema = "time timestamp, key string, value int"
    # The watermark of the batch before decides which rows of a batch are late.
    batches = [
        [(START + 60 * SECOND, "a", 1)],
        [(START + 60 * SECOND, "a", 1)],
        [(START + n * SECOND, f"late {n}", n) for n in range(40)],
    ]

    def pipeline(streaming: DataFrame) -> DataFrame:
        return (
            transom.stream(streaming.withWatermark("time", "0 seconds"), time="time")
            .key_by("key")
            .window(transom.Tumbling(size="1 second"))
            .with_late_rows()
            .agg(F.count("*").alias("n"))
        )

    outcome = run_stream(spark, pipeline, schema, batches)
    late = sorted(tuple(row["row"]) for row in outcome.late)
    assert late == batches[2]


def event_times(spark: SparkSession, aggregate: Column | None) -> list[dict[str, str]]:
    """The event times in Spark's progress, for each batch."""
    batches: list[Batch] = [
        [(START + n * SECOND / 8, n) for n in range(100)],
        [(None, 1), *((START + n * SECOND / 7, n) for n in range(50, 200))],
        [(None, 1)],
        [],
        [(START - n * SECOND, n) for n in range(33)],
    ]

    def pipeline(streaming: DataFrame) -> DataFrame:
        timed = streaming.withWatermark("time", "3 seconds")
        if aggregate is None:
            return timed
        windowed = transom.stream(timed, time="time").window(transom.Tumbling(size="5 seconds"))
        return windowed.agg(aggregate)

    outcome = run_stream(spark, pipeline, "time timestamp, value int", batches)
    return [progress.eventTime for progress in outcome.progress]


@pytest.mark.usefixtures("read_as_columns")
def test_the_progress_has_the_event_times_that_spark_has(spark: SparkSession) -> None:
    plain = event_times(spark, None)
    ours = event_times(spark, F.count("*").alias("n"))
    # A query without windows has no batch for the watermark alone. The next batch reports it.
    assert [without_watermark(times) for times in ours if "max" in times] == [
        without_watermark(times) for times in plain if "max" in times
    ]
    assert ours[1]["min"].startswith("1970-01-01")


def without_watermark(times: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in times.items() if name != "watermark"}
