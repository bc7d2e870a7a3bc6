"""Ids that are equal by the collation of their column."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

NOON = datetime(2024, 1, 1, 12)
MINUTE = timedelta(minutes=1)
SCHEMA = "n int, text string, at timestamp"
ROWS: list[tuple[Any, ...]] = [
    (1, "A", NOON + 1 * MINUTE),
    (2, "a", NOON + 6 * MINUTE),
    (3, "A", NOON + 2 * MINUTE),
    (4, "B", NOON + 1 * MINUTE),
]
FIVES = transom.Tumbling("5 minutes")


def collated(rows: DataFrame, collation: str = "UTF8_LCASE") -> DataFrame:
    return rows.withColumn("device", F.expr(f"text collate {collation}"))


@pytest.mark.parametrize("cut", [4, 1, 2])
def test_a_substream(spark: SparkSession, tmp_path: Path, cut: int) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("at", over=["device"])
        stream = transom.stream(collated(rows), time=policy, order="n")
        windows = stream.key_by("device").window(FIVES).drain()
        return windows.with_late_rows().agg(n=F.count("*"))

    batches = [ROWS[i : i + cut] for i in range(0, 4, cut)]
    outcome = run_stream(spark, pipeline, SCHEMA, batches, checkpoint=tmp_path)
    found = sorted((r["device"].lower(), r["window"]["start"], r["n"]) for r in outcome.results)
    five = NOON + 5 * MINUTE
    assert found == [("a", NOON, 1), ("a", five, 1), ("b", NOON, 1)]
    assert [row["row"]["n"] for row in outcome.late] == [3]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("declared", [["a", "b"], ["A", "a", "B", "b"], ["A", "B"], []])
@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI", "UTF8_LCASE_RTRIM"])
def test_a_partition(spark: SparkSession, declared: list[str], collation: str) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("at", partition="device", partitions=declared)
        stream = transom.stream(collated(rows, collation), time=policy, order="n")
        return stream.window_all(FIVES).with_late_rows().with_dead_letters().agg(n=F.count("*"))

    # Declared partitions move the watermark to 12:06 together, after the last row. The first
    # partition that is not declared moves it alone, so the window fires without rows 3 and 4.
    count = 3 if declared else 1
    rows = [*ROWS, (5, "b", NOON + 7 * MINUTE)]
    found = run_stream(spark, pipeline, SCHEMA, [rows])
    results = [row for rows in found.by_batch.values() for row in rows if row["tag"] == "results"]
    assert [(r["results"]["window"]["start"], r["results"]["n"]) for r in results] == [
        (NOON, count)
    ]
    letters = [row for rows in found.by_batch.values() for row in rows if row["dead_letters"]]
    assert letters == []


def test_the_id_of_a_lifetime(spark: SparkSession) -> None:
    start, until = datetime(2024, 1, 1, 5, 40), datetime(2024, 1, 1, 6, 10)
    rows = spark.createDataFrame(
        [("n1", start, None), ("N1", start, until)], "t string, at timestamp, until timestamp"
    ).withColumn("tail", F.expr("t collate UTF8_LCASE"))
    stream = transom.stream(rows, time="at", lifetime=transom.Lifetime("until", id=["tail"]))
    windows = stream.window_all(transom.Snapshot()).with_dead_letters().agg(n=F.count("*"))
    found = windows.collect()
    assert [row["tag"] for row in found] == ["results"]
    assert tuple(found[0]["results"]["window"]) == (start, until)
    assert found[0]["results"]["n"] == 1
