"""Keys and values of the type TIME."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, run_stream
from tests.end_to_end.support.sessions import COMPILED, INTERPRETED, settings
from transom.spec import Layout

SCHEMA = "shift string, at timestamp, clock string"
BATCHES: list[list[tuple[Any, ...]]] = [
    [
        ("06:00:00", datetime(2024, 1, 1, 5, 10), "22:33:01"),
        ("22:00:00", datetime(2024, 1, 1, 5, 20), "01:33:01"),
        (None, datetime(2024, 1, 1, 5, 30), None),
    ],
    [("06:00:00", datetime(2024, 1, 1, 5, 40), "01:33:01")],
]
SIX, TEN_PM = time(6), time(22)
LATE, EARLY = time(22, 33, 1), time(1, 33, 1)
# Shift: rows, smallest and largest clock, number of distinct clocks.
EXPECTED = {SIX: (2, EARLY, LATE, 2), TEN_PM: (1, EARLY, EARLY, 1), None: (1, None, None, 0)}


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> Iterator[None]:
    """Spark 4.2 has the type only if it is enabled."""
    with settings(spark, {"spark.sql.timeType.enabled": "true"}):
        yield


def hours(rows: DataFrame) -> transom.Windowed:
    timed = rows.withColumn("shift", F.expr("cast(shift AS time(6))")).withColumn(
        "clock", F.expr("cast(clock AS time(6))")
    )
    clock = transom.EventTime("at", delay="0 seconds") if rows.isStreaming else "at"
    return transom.stream(timed, time=clock).key_by("shift").window(transom.Tumbling("1 hour"))


def aggregated(windowed: transom.Windowed) -> DataFrame:
    return windowed.agg(
        F.count("*").alias("n"),
        F.min("clock").alias("smallest"),
        F.max("clock").alias("largest"),
        F.first("clock").alias("first"),
        F.count_distinct("clock").alias("distinct"),
    )


def by_shift(rows: Any) -> dict[time | None, tuple[Any, ...]]:
    assert len({row["shift"] for row in rows}) == len(rows)
    return {
        row["shift"]: (row["n"], row["smallest"], row["largest"], row["distinct"]) for row in rows
    }


@pytest.mark.parametrize("layout", ["slices", "keyed"])
@pytest.mark.parametrize("values", [COMPILED, INTERPRETED], ids=["compiled", "interpreted"])
def test_times_of_day_are_keys_and_values_of_aggregates(
    spark: SparkSession, layout: Layout, values: dict[str, str]
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return aggregated(hours(rows).options(layout=layout).drain())

    with settings(spark, values):
        outcome = run_stream(spark, pipeline, SCHEMA, BATCHES)
    assert by_shift(outcome.results) == EXPECTED
    assert {row["shift"]: row["first"] for row in outcome.results}[TEN_PM] == EARLY


def test_times_of_day_in_a_static_data_frame(spark: SparkSession) -> None:
    rows = spark.createDataFrame([row for batch in BATCHES for row in batch], SCHEMA)
    assert by_shift(aggregated(hours(rows)).collect()) == EXPECTED
    first = hours(rows).top(1, F.desc("clock")).collect()
    assert {row["shift"]: row["clock"] for row in first} == {SIX: LATE, TEN_PM: EARLY, None: None}


def test_times_of_day_reach_a_function(spark: SparkSession) -> None:
    rows = spark.createDataFrame([row for batch in BATCHES for row in batch], SCHEMA)

    def listed(rows: pa.Table, _: transom.Context) -> pa.Table:
        clocks = sorted(clock for clock in rows["clock"].to_pylist() if clock is not None)
        return pa.table({"clocks": [[f"{clock}" for clock in clocks]]})

    found = hours(rows).apply(listed, "clocks array<string>").collect()
    assert {row["shift"]: row["clocks"] for row in found} == {
        SIX: ["01:33:01", "22:33:01"],
        TEN_PM: ["01:33:01"],
        None: [],
    }


def test_times_of_day_are_in_late_rows(spark: SparkSession) -> None:
    late: list[Batch] = [
        BATCHES[0],
        [("06:00:00", datetime(2024, 1, 1, 8), "02:00:00")],
        [("06:00:00", datetime(2024, 1, 1, 8), "02:00:00")],
        [("06:00:00", datetime(2024, 1, 1, 5), "03:00:00")],
    ]
    outcome = run_stream(spark, lambda rows: aggregated(hours(rows).with_late_rows()), SCHEMA, late)
    assert [(row["row"]["shift"], row["row"]["clock"]) for row in outcome.late] == [(SIX, time(3))]
