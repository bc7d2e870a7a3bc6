"""Rows whose lifetimes cannot be used are dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_by_hand import SCHEMA, at, fired, listed, own_duration, row
from tests.end_to_end.support.queries import run_stream


def dead_letters(
    spark: SparkSession, rows: Sequence[tuple[Any, ...]], lifetime: Any, window: transom.Window
) -> list[tuple[int, str, datetime | None]]:
    df = spark.createDataFrame(list(rows), SCHEMA)
    windowed = transom.stream(df, time="start", lifetime=lifetime).key_by("key").window(window)
    tagged = windowed.with_dead_letters().agg(F.collect_list("n").alias("rows"))
    dead = transom.untag(tagged, "dead_letters").collect()
    return sorted((r["row"]["n"], r["reason"], r["time"]) for r in dead)


@pytest.mark.parametrize(
    "window",
    [transom.Snapshot(), transom.CountByStart(1), transom.Tumbling(size="1 day", closed="right")],
    ids=repr,
)
def test_bad_lifetimes_are_dead_letters(spark: SparkSession, window: transom.Window) -> None:
    rows = [row(0, "a", 0, 1), row(1, "a", 2, 2), row(2, "a", 2, 1), row(3, "b", 2, None)]
    assert dead_letters(spark, rows, "until", window) == [
        (1, "bad_lifetime", at(2)),
        (2, "bad_lifetime", at(2)),
    ]
    failing = F.expr("IF(n = 0, timestamp_seconds(1 / 0), until)")
    assert [n for n, _, _ in dead_letters(spark, rows, failing, window)] == [0, 1, 2]


def test_bad_durations_are_dead_letters(spark: SparkSession) -> None:
    rows = [row(n, "a", n, None) for n in range(6)]
    lifetime = transom.Lifetime(duration=own_duration())
    # Rows 3 and 4 last no time and have no duration. The duration of row 5 fails.
    assert dead_letters(spark, rows, lifetime, transom.Snapshot()) == [
        (n, "bad_lifetime", at(n)) for n in (3, 4, 5)
    ]


def test_a_stream_counts_bad_lifetimes_and_goes_on(spark: SparkSession) -> None:
    batches = [
        [row(0, "a", 0, 5), row(1, "a", 3, 3)],
        [row(2, None, 6, 2), row(3, "a", 6, 7)],
    ]
    outcome = run_stream(spark, listed(transom.Snapshot(), drain=True), SCHEMA, batches)
    assert fired(outcome.results) == [("a", 0, 5, [0]), ("a", 6, 7, [3])]
    assert outcome.observed()["transom_rows_with_bad_windows"] == 2
