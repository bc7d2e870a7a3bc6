"""The watermark that windows of event time need: which column may have it, and how it gets it."""

from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.python.conditions import raises

HOUR = transom.Tumbling(size="1 hour")


@pytest.fixture(scope="module")
def streaming(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


def counted(rows: DataFrame, time: transom.EventTime | Column | str) -> DataFrame:
    return transom.stream(rows, time=time).window(HOUR).agg(F.count("*").alias("n"))


def test_a_stream_needs_one_watermark(streaming: DataFrame) -> None:
    with raises("NO_WATERMARK", "time"):
        counted(streaming, "timestamp")
    marked = streaming.withWatermark("timestamp", "1 minute")
    with raises("TWO_WATERMARKS", "time"):
        counted(marked, transom.EventTime("timestamp", delay="1 second"))
    assert counted(marked, "timestamp").isStreaming


def test_the_mark_of_a_watermark_in_a_file_is_no_watermark(
    spark: SparkSession, streaming: DataFrame, tmp_path: Path
) -> None:
    marked = streaming.withWatermark("timestamp", "1 minute")
    assert marked.schema["timestamp"].metadata
    read = spark.readStream.schema(marked.schema).parquet(str(tmp_path))
    with raises("NO_WATERMARK", "time"):
        counted(read, "timestamp")
    assert counted(read, transom.EventTime("timestamp", delay="1 second")).isStreaming


def test_a_time_beside_the_watermark_is_refused_with_advice_that_works(
    streaming: DataFrame,
) -> None:
    shifted = F.col("timestamp") + F.expr("interval 1 second")
    marked = streaming.withWatermark("timestamp", "1 minute")
    with raises("OTHER_WATERMARK", "time") as caught:
        counted(marked, shifted)
    assert "on the column 'timestamp'" in str(caught.value)
    assert "withWatermark('+" not in str(caught.value)
    # Each solution that the message suggests works.
    counted(marked, "timestamp")
    computed = streaming.withColumn("time", shifted).withWatermark("time", "1 minute")
    counted(computed, "time")

    with raises("NO_WATERMARK", "time") as caught:
        counted(streaming, shifted)
    assert "withWatermark('+" not in str(caught.value)
    counted(streaming, transom.EventTime(shifted, delay="10 minutes"))


def test_the_time_of_results_is_their_window(streaming: DataFrame) -> None:
    results = counted(streaming, transom.EventTime("timestamp", delay="10 minutes"))
    with raises("NO_WATERMARK", "time") as caught:
        counted(results.select(F.col("window.end").alias("end")), "end")
    assert "keep the column window and set time='window'." in str(caught.value)
    counted(results, "window")


def test_each_of_two_joined_streams_may_give_the_time(streaming: DataFrame) -> None:
    ordered = streaming.withWatermark("timestamp", "1 minute")
    paid = streaming.select(F.col("value").alias("order"), F.col("timestamp").alias("paid"))
    joined = ordered.join(
        paid.withWatermark("paid", "1 minute"),
        F.expr("value = order AND paid BETWEEN timestamp AND timestamp + interval 1 minute"),
    )
    for time in ("timestamp", "paid"):
        assert counted(joined, time).isStreaming


def test_a_field_keeps_the_watermark_of_its_column(streaming: DataFrame) -> None:
    inner = counted(streaming.withWatermark("timestamp", "1 minute"), "timestamp")
    packed = inner.select(F.struct("window", "n").alias("result"))
    assert counted(packed, "result.window").isStreaming
