"""Functions of Stream Analytics in the words of the page on migration."""

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom

START = datetime(2024, 1, 1)
# Device, second and value. Two readings of the second window have the same time.
READINGS = [("d1", 1, 5), ("d2", 3, 9), ("d1", 4, 7), ("d1", 12, 2), ("d2", 12, 8), ("d2", 15, 1)]


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> transom.Stream:
    rows = [(device, START + timedelta(seconds=second), v) for device, second, v in READINGS]
    readings = spark.createDataFrame(rows, "deviceId string, at timestamp, v int").coalesce(1)
    return transom.azure.stream(readings, arrival="at", timestampBy="at")


def seconds(results: DataFrame, *columns: str) -> list[tuple[object, ...]]:
    start = F.second("window.start").alias("start")
    return sorted(tuple(row) for row in results.select(start, *columns).collect())


def test_top_one_is_max_by(stream: transom.Stream) -> None:
    tens = stream.window(transom.Tumbling("10 seconds"))
    largest = tens.agg(
        F.max_by("deviceId", "v").alias("device"),
        F.max_by(F.struct("deviceId", "v"), F.struct("at", "v"))["v"].alias("newest"),
    )
    assert seconds(largest, "device", "newest") == [(0, "d2", 7), (10, "d2", 1)]


def test_the_first_rows_of_each_interval_are_those_of_top(stream: transom.Stream) -> None:
    first = stream.window(transom.Tumbling("10 seconds")).top(1, "at")
    assert seconds(first, "deviceId", "v") == [(0, "d1", 5), (10, "d1", 2), (10, "d2", 8)]


def test_the_value_before_is_kept_by_scan(stream: transom.Stream) -> None:
    def lag(rows: pa.Table, context: transom.Context) -> pa.Table:
        v, before = rows["v"][-1].as_py(), context.key_state["v"]
        context.key_state["v"] = v
        return pa.table({"v": [v], "before": pa.array([before], pa.int32())})

    lagged = stream.key_by("deviceId").scan(lag, "v int, before int", state="v int")
    assert sorted(tuple(row) for row in lagged.collect() if row["before"] is not None) == [
        ("d1", 2, 7),
        ("d1", 7, 5),
        ("d2", 1, 8),
        ("d2", 8, 9),
    ]
