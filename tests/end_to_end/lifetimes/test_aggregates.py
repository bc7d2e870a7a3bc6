"""Aggregates that collect rows, and aggregates in Python, over lifetimes computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_by_hand import SCHEMA, at, row
from tests.end_to_end.support.queries import run_stream

ROWS = [row(0, "a", 0, 10), row(1, "a", 4, 6), row(3, "b", 2, 3), row(2, "a", 5, 12)]
LAST = row(4, None, 7, 9)
Result = tuple[str | None, float, float, list[int]]
CASES: dict[transom.Window, list[Result]] = {
    transom.Snapshot(): [
        ("a", 0, 4, [0]),
        ("a", 4, 5, [0, 1]),
        ("a", 5, 6, [0, 1, 2]),
        ("a", 6, 10, [0, 2]),
        ("a", 10, 12, [2]),
        ("b", 2, 3, [3]),
        (None, 7, 9, [4]),
    ],
    transom.Hopping(size="10 seconds", slide="5 seconds"): [
        ("a", -5, 5, [0, 1]),
        ("a", 0, 10, [0, 1, 2]),
        ("a", 5, 15, [0, 1, 2]),
        ("a", 10, 20, [2]),
        ("b", -5, 5, [3]),
        ("b", 0, 10, [3]),
        (None, 0, 10, [4]),
        (None, 5, 15, [4]),
    ],
}


def listing() -> transom.Accumulator[Any]:
    """An accumulator that lists numbers, and adds them up.

    Workers cannot import this module, so its class is local to the function.
    """

    class Listing(transom.Accumulator[tuple[list[int], int]]):
        state = "held array<int>, total int"

        def init(self) -> tuple[list[int], int]:
            return [], 0

        def add(self, acc: tuple[list[int], int], rows: pa.Table) -> tuple[list[int], int]:
            numbers = rows["n"].to_pylist()
            return acc[0] + numbers, acc[1] + sum(numbers)

        def merge(
            self, left: tuple[list[int], int], right: tuple[list[int], int]
        ) -> tuple[list[int], int]:
            return left[0] + right[0], left[1] + right[1]

        def result(self, acc: tuple[list[int], int]) -> dict[str, Any]:
            return {"held": sorted(acc[0]), "total": acc[1]}

    return Listing()


def collected(rows: DataFrame, window: transom.Window) -> DataFrame:
    time = transom.EventTime("start", delay="0 seconds")
    windowed = transom.stream(rows, time=time, lifetime="until").key_by("key").window(window)
    return windowed.agg(
        F.collect_list("n").alias("rows"),
        transom.udaf(listing(), "n", returns="held array<int>, total int").alias("python"),
        transom.reduce("n", lambda a, b: a + b).alias("reduced"),
    )


def check(results: Sequence[Row], expected: Sequence[Result]) -> None:
    found = {(r["key"], *r["window"]): r for r in results}
    assert len(found) == len(results)
    assert set(found) == {(key, at(start), at(end)) for key, start, end, _ in expected}
    for key, start, end, numbers in expected:
        result = found[key, at(start), at(end)]
        assert sorted(result["rows"]) == numbers
        assert result["python"].asDict() == {"held": numbers, "total": sum(numbers)}
        assert result["reduced"] == sum(numbers)


@pytest.mark.parametrize("window", CASES, ids=repr)
def test_a_static_dataframe(spark: SparkSession, window: transom.Window) -> None:
    rows = spark.createDataFrame([*ROWS, LAST], SCHEMA)
    check(collected(rows, window).collect(), CASES[window])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("window", CASES, ids=repr)
def test_a_stream_that_restarts_between_its_batches(
    spark: SparkSession, tmp_path: Path, window: transom.Window
) -> None:
    # The last row closes all windows before it.
    runs = [[ROWS[:3]], [ROWS[3:], [LAST]], [[row(5, "z", 100, 101)]]]
    results = [
        result
        for batches in runs
        for result in run_stream(
            spark, lambda df: collected(df, window), SCHEMA, batches, checkpoint=tmp_path
        ).results
    ]
    check(results, CASES[window])
