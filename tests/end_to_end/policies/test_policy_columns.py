"""A time policy checks the columns that it names."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.python.conditions import raises


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [("a", datetime(2024, 1, 1), 1)], "k string, t timestamp, v int"
    ).withColumn("zoneless", F.col("t").cast("timestamp_ntz"))


@pytest.fixture(scope="module")
def streaming(spark: SparkSession) -> DataFrame:
    rates = spark.readStream.format("rate").load()
    return rates.withColumn("zoneless", F.col("timestamp").cast("timestamp_ntz"))


@pytest.mark.parametrize(
    ("policy", "argument"),
    [
        (transom.TimePolicy("departed"), "time"),
        (transom.TimePolicy("t", arrival="known"), "arrival"),
        (transom.TimePolicy("t", partition="partition"), "partition"),
        (transom.TimePolicy("t", over=["k", "carrier"]), "over"),
        (transom.TimePolicy("t", advance=transom.Punctuated("kind = 'cti'", at="t")), "when"),
        (transom.TimePolicy("t", advance=transom.Punctuated("v > 0", at="until")), "at"),
    ],
)
def test_columns_must_be_there(rows: DataFrame, policy: transom.TimePolicy, argument: str) -> None:
    with raises("UNKNOWN_COLUMN", argument):
        transom.stream(rows, time=policy)


def test_times_must_be_timestamps(rows: DataFrame) -> None:
    with raises("NOT_A_TIMESTAMP", "time"):
        transom.stream(rows, time=transom.TimePolicy("v"))
    with raises("NOT_A_TIMESTAMP", "arrival"):
        transom.stream(rows, time=transom.TimePolicy("t", arrival="k"))
    with raises("NOT_A_TIMESTAMP", "at"):
        punctuated = transom.Punctuated("v > 0", at="k")
        transom.stream(rows, time=transom.TimePolicy("t", advance=punctuated))
    # EventTime takes the last instant of a window. A time policy takes timestamps alone.
    windows = rows.withColumn(
        "window", F.struct(F.col("t").alias("start"), F.col("t").alias("end"))
    )
    with raises("NOT_A_TIMESTAMP", "time"):
        transom.stream(windows, time=transom.TimePolicy("window"))


def test_punctuation_needs_a_condition(rows: DataFrame) -> None:
    for when in ("v", F.length("k")):
        policy = transom.TimePolicy("t", advance=transom.Punctuated(when, at="t"))
        with raises("NOT_A_CONDITION", "when"):
            transom.stream(rows, time=policy)


def test_a_stream_has_times_with_a_zone(rows: DataFrame, streaming: DataFrame) -> None:
    with raises("NOT_A_TIMESTAMP", "time"):
        transom.stream(streaming, time=transom.TimePolicy("zoneless"))
    with raises("NOT_A_TIMESTAMP", "arrival"):
        transom.stream(streaming, time=transom.TimePolicy("timestamp", arrival="zoneless"))
    with raises("NOT_A_TIMESTAMP", "at"):
        punctuated = transom.Punctuated("value > 0", at="zoneless")
        transom.stream(streaming, time=transom.TimePolicy("timestamp", advance=punctuated))
    transom.stream(rows, time=transom.TimePolicy("zoneless"))


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        (transom.TimePolicy("t", late=transom.Drop("1 hour")), "late is Drop(beyond='1 hour')"),
        (transom.TimePolicy("t", early=transom.Drop("1 hour")), "early is Drop(beyond='1 hour')"),
        (transom.TimePolicy(None), "time is None"),
    ],
    ids=["late", "early", "no time"],
)
def test_a_static_dataframe_without_arrivals_is_warned_of(
    rows: DataFrame, streaming: DataFrame, policy: transom.TimePolicy, shown: str
) -> None:
    with pytest.warns(transom.TransomWarning, match="TRANSOM_ARRIVES_NOW") as caught:
        transom.stream(rows, time=policy)
    (warning,) = caught
    assert f" {shown}, which uses the arrival of each row" in str(warning.message)
    assert warning.filename == __file__
    # Other warnings are errors in all tests.
    transom.stream(rows, time=replace(policy, arrival="t"))
    on_stream = policy if policy.time is None else replace(policy, time="timestamp")
    transom.stream(streaming, time=on_stream)


def test_a_substream_within_a_partition_has_its_own_watermark(spark: SparkSession) -> None:
    minutes = [("a", "0", 9), ("a", "1", 5), ("b", "0", 7), ("a", "0", 8), ("a", "1", 6)]
    timed = [
        (n, device, partition, datetime(2024, 1, 1, 0, minute))
        for n, (device, partition, minute) in enumerate(minutes)
    ]
    rows = spark.createDataFrame(timed, "n int, device string, partition string, at timestamp")
    policy = transom.TimePolicy("at", partition="partition", over=["device"])
    stamped = transom.stream(rows, time=policy, order="n").stamped().orderBy("n")
    watermarks = [row.watermark for row in stamped.select("stamp.watermark").collect()]
    assert [w and w.minute for w in watermarks] == [None, None, None, 9, 5]
    with raises("TIME_POLICY_UNSUPPORTED", "window"):
        transom.stream(rows, time=policy).key_by("device").window(transom.Tumbling("1 hour"))


def test_a_stream_needs_no_watermark(streaming: DataFrame) -> None:
    policy = transom.TimePolicy("timestamp", partition="value", over=["value"])
    transom.stream(streaming, time=policy)
    transom.stream(streaming.withWatermark("timestamp", "1 minute"), time=policy)
    transom.stream(streaming.withWatermark("timestamp", "1 minute"), time=transom.TimePolicy(None))
