"""Staggered tumbling windows: each key group has its own offset."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds, instant
from tests.end_to_end.support.wall_clock import run_on_clock


def test_natural_windows_go_by_the_first_row_of_their_group_for_good(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows, time=transom.ProcessingTime()).window_all(
            transom.Tumbling(size="10 seconds", offset="1 second", stagger="natural")
        )
        return windowed.agg(F.sum("value").alias("total"))

    def shown(given: list[list[Row]]) -> list[tuple[float, float, int]]:
        return [(*bounds(row), row["total"]) for rows in given for row in rows]

    first = run_on_clock(spark, pipeline, "value int", [3, [(1,)], 12], folder=tmp_path)
    assert shown(first) == []
    again = run_on_clock(spark, pipeline, "value int", [13, 19, [(2,)], 23], folder=tmp_path)
    assert shown(again) == [(3, 13, 1), (13, 23, 2)]


def test_random_windows_are_drawn_for_each_group_and_the_same_again(spark: SparkSession) -> None:
    hour = timedelta(hours=1)
    rows = [(key, instant(0)) for key in range(200)]
    windowed = transom.stream(spark.createDataFrame(rows, "key int, time timestamp"), time="time")
    moved = windowed.key_by("key").window(transom.Tumbling(size=hour, stagger="random"))
    results = moved.options(key_groups=16).agg(F.count("*").alias("rows"))

    starts = {row["key"]: row["window"]["start"] for row in results.collect()}
    assert len(starts) == 200
    assert all(instant(0) - hour < start <= instant(0) for start in starts.values())
    assert len(set(starts.values())) == 16
    assert {row["key"]: row["window"]["start"] for row in results.collect()} == starts
