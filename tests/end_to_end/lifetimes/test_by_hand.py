"""Lifetimes and the windows between them, with results computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Outcome, run_stream

SCHEMA = "n int, key string, start timestamp, until timestamp"
Fired = tuple[str | None, float, float, list[int]]


def at(second: float) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def row(n: int, key: str | None, start: float, until: float | None) -> tuple[Any, ...]:
    return n, key, at(start), None if until is None else at(until)


def listed(
    window: transom.Window, lifetime: Any = "until", *, drain: bool = False
) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.EventTime("start", delay="0 seconds")
        windowed = transom.stream(rows, time=time, lifetime=lifetime).key_by("key").window(window)
        if rows.isStreaming:
            windowed = windowed.with_late_rows(partly=True)
        return (windowed.drain() if drain else windowed).agg(F.collect_list("n").alias("rows"))

    return pipeline


def fired(rows: Sequence[Row]) -> list[Fired]:
    def second(instant: datetime) -> float:
        return (instant - at(0)) / timedelta(seconds=1)

    return sorted(
        (
            (r["key"], second(r["window"]["start"]), second(r["window"]["end"]), sorted(r["rows"]))
            for r in rows
        ),
        key=repr,
    )


def static(
    spark: SparkSession, rows: Sequence[tuple[Any, ...]], window: transom.Window, lifetime: Any
) -> list[Fired]:
    df = spark.createDataFrame(list(rows), SCHEMA)
    return fired(listed(window, lifetime)(df).collect())


def late(outcome: Outcome) -> list[tuple[int, str, list[tuple[datetime, datetime]]]]:
    return [
        (r["row"]["n"], r["reason"], [tuple(missed) for missed in r["missed_windows"]])
        for r in outcome.late
    ]


def test_rows_behind_a_partly_late_row_keep_their_values(spark: SparkSession) -> None:
    batches = [
        [row(0, "a", 0, 1), row(1, "b", 20, 21)],
        [],
        # The watermark is 20. Row 2 counts from there on.
        [row(2, "a", 10, 60), row(3, "a", 30, 40)],
        [row(4, "b", 100, 101)],
    ]
    outcome = run_stream(spark, listed(transom.Snapshot()), SCHEMA, batches)
    assert fired(outcome.results) == [
        ("a", 0, 1, [0]),
        ("a", 20, 30, [2]),
        ("a", 30, 40, [2, 3]),
        ("a", 40, 60, [2]),
        ("b", 20, 21, [1]),
    ]
    assert late(outcome) == [(2, "late_partly", [(at(10), at(20))])]


def test_a_row_that_ends_at_the_watermark_is_late(spark: SparkSession) -> None:
    batches = [
        [row(0, "a", 20, 21)],
        [],
        [row(1, "a", 10, 20)],
        [row(2, "a", 10, 20.000001)],
        [row(3, "a", 20, 21)],
        [row(4, "a", 60, 61)],
    ]
    outcome = run_stream(spark, listed(transom.Snapshot()), SCHEMA, batches)
    assert fired(outcome.results) == [
        ("a", 20, 20.000001, [0, 2, 3]),
        ("a", 20.000001, 21, [0, 3]),
    ]
    assert late(outcome) == [
        (1, "late", [(at(10), at(20))]),
        (2, "late_partly", [(at(10), at(20))]),
    ]
    assert outcome.observed()["transom_rows_late_partly"] == 1


def test_a_partly_late_row_misses_the_windows_that_are_over(spark: SparkSession) -> None:
    tens = transom.Tumbling(size="10 seconds")
    batches = [
        [row(0, "a", 25, 26)],
        [],
        [row(1, "a", 5, 32)],
        [row(2, "a", 21, 22)],
        [row(3, "a", 5, 20)],
        [row(4, "a", 70, 71)],
    ]
    outcome = run_stream(spark, listed(tens), SCHEMA, batches)
    assert fired(outcome.results) == [("a", 20, 30, [0, 1, 2]), ("a", 30, 40, [1])]
    first = [(at(0), at(10)), (at(10), at(20))]
    assert late(outcome) == [(1, "late_partly", first), (3, "late", first)]


def test_a_row_without_end_stays_until_the_last_start_or_end_of_its_key(
    spark: SparkSession,
) -> None:
    rows = [row(0, "a", 0, None), row(1, "a", 5, 17), row(2, "b", 3, None), row(3, None, 4, 34)]
    assert static(spark, rows, transom.Snapshot(), "until") == [
        ("a", 0, 5, [0]),
        ("a", 5, 17, [0, 1]),
        (None, 4, 34, [3]),
    ]
    assert static(spark, rows, transom.Tumbling(size="10 seconds"), "until") == [
        ("a", 0, 10, [0, 1]),
        ("a", 10, 20, [0, 1]),
        ("b", 0, 10, [2]),
        (None, 0, 10, [3]),
        (None, 10, 20, [3]),
        (None, 20, 30, [3]),
        (None, 30, 40, [3]),
    ]


def test_a_row_without_end_is_in_the_windows_up_to_the_watermark(spark: SparkSession) -> None:
    tens = transom.Tumbling(size="10 seconds")
    batches = [[row(0, "a", 0, None)], [row(1, "b", 45, 46)], [row(2, "b", 61, 62)]]
    outcome = run_stream(spark, listed(tens, drain=True), SCHEMA, batches)
    open_windows = [("a", 10.0 * n, 10.0 * (n + 1), [0]) for n in range(6)]
    assert fired(outcome.results) == [*open_windows, ("b", 40, 50, [1]), ("b", 60, 70, [2])]


@pytest.mark.parametrize("lasts", ["5 minutes", timedelta(minutes=5)])
def test_all_rows_may_have_one_duration(spark: SparkSession, lasts: Any) -> None:
    lifetime = transom.Lifetime(duration=lasts)
    rows = [row(0, "a", 0, None), row(1, "a", 240, None)]
    assert static(spark, rows, transom.Snapshot(), lifetime) == [
        ("a", 0, 240, [0]),
        ("a", 240, 300, [0, 1]),
        ("a", 300, 540, [1]),
    ]


def own_duration() -> Column:
    # A duration that divides by zero fails.
    seconds = F.expr("CASE WHEN n = 5 THEN 1 / 0 WHEN n = 4 THEN null ELSE 3 - n END")
    return F.expr("make_dt_interval(0, 0, 0, 1)") * seconds


def test_a_row_may_have_a_duration_of_its_own(spark: SparkSession) -> None:
    rows = [row(0, "a", 0, None), row(1, "a", 1, None)]
    lifetime = transom.Lifetime(duration=own_duration())
    assert static(spark, rows, transom.Snapshot(), lifetime) == [
        ("a", 0, 1, [0]),
        ("a", 1, 3, [0, 1]),
    ]


def test_rows_of_an_hour_that_clocks_repeat_stay_in_their_windows(spark: SparkSession) -> None:
    # On 2024-11-03 at 06:00 UTC clocks in New York go back from 02:00 to 01:00.
    back = datetime(2024, 11, 3, 6)
    before, after = back - timedelta(seconds=30), back + timedelta(minutes=10)
    last = timedelta(seconds=1)
    rows = [(0, "a", before, before + last), (1, "a", after, after + last)]
    df = spark.createDataFrame(rows, SCHEMA)
    quarters = transom.Tumbling(size="15 minutes", time_zone="America/New_York")
    found = listed(quarters)(df).collect()
    # From the first 01:00 until the second 01:15. Both rows last within this time.
    first = back - timedelta(hours=1), back + timedelta(minutes=15)
    assert {tuple(r["window"]): sorted(r["rows"]) for r in found}.get(first) == [0, 1]
    # From the first 01:45 until the second 02:00.
    last_quarter = back - timedelta(minutes=15), back + timedelta(hours=1)
    assert {tuple(r["window"]): sorted(r["rows"]) for r in found}.get(last_quarter) == [0, 1]


def test_a_function_gets_the_rows_of_a_window(spark: SparkSession) -> None:
    def joined(rows: pa.Table) -> pa.Table:
        return pa.table({"ns": [rows["n"].to_pylist()]})

    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.EventTime("start", delay="0 seconds")
        windowed = transom.stream(rows, time=time, lifetime="until").key_by("key")
        return windowed.window(transom.Snapshot()).drain().apply(joined, "ns array<int>")

    batches = [
        [row(0, "a", 0, 10), row(1, "a", 2, None), row(2, None, 3, 4)],
        [row(3, "a", 5, 6)],
        [row(4, "a", 20, 21)],
    ]
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    results = sorted((tuple(r["window"]), r["ns"]) for r in outcome.results if r["key"] == "a")
    assert results == [
        ((at(0), at(2)), [0]),
        ((at(2), at(5)), [0, 1]),
        ((at(5), at(6)), [0, 1, 3]),
        ((at(6), at(10)), [0, 1]),
        ((at(10), at(20)), [1]),
        ((at(20), at(21)), [1, 4]),
    ]
    assert [(r["key"], r["ns"]) for r in outcome.results if r["key"] is None] == [(None, [2])]


def test_a_rolling_window_waits_until_the_watermark_is_past_its_end(spark: SparkSession) -> None:
    rolling = listed(transom.Rolling("10 seconds"), None)
    batches = [
        [row(0, "a", 0, None)],
        [row(1, "a", 5, None)],
        [row(2, "a", 5, None)],
        [row(3, "b", 15, None)],
    ]
    outcome = run_stream(spark, rolling, SCHEMA, batches)
    # The watermark is 15. Rows 1 and 2 leave at 15, and a row may still come at 15.
    assert fired(outcome.results) == [
        ("a", -10, 0, [0]),
        ("a", -5, 5, [0, 1, 2]),
        ("a", 0, 10, [1, 2]),
    ]


def test_a_snapshot_of_points_holds_the_rows_of_one_time(spark: SparkSession) -> None:
    rows = [row(0, "a", 0, None), row(1, "a", 0, None), row(2, "a", 1, None)]
    assert static(spark, rows, transom.Snapshot(), None) == [
        ("a", 0, 0.000001, [0, 1]),
        ("a", 1, 1.000001, [2]),
    ]
    assert static(spark, rows, transom.Snapshot(closed="right"), None) == [
        ("a", -0.000001, 0, [0, 1]),
        ("a", 0.999999, 1, [2]),
    ]


def test_a_count_by_start_needs_that_many_starts(spark: SparkSession) -> None:
    rows = [row(n, "a", start, 50) for n, start in enumerate([0, 3, 3, 9])] + [row(9, "b", 1, 2)]
    for lifetime in ("until", None):
        assert static(spark, rows, transom.CountByStart(2), lifetime) == [
            ("a", 0, 3.000001, [0, 1, 2]),
            ("a", 3, 9.000001, [1, 2, 3]),
        ]


def test_the_text_of_a_plan_has_the_lifetime(spark: SparkSession) -> None:
    df = spark.createDataFrame([row(0, "a", 0, 1)], SCHEMA)
    text = transom.explain(listed(transom.Snapshot(), "until")(df))
    assert "until until" in text
    five = transom.Lifetime(duration="5 minutes")
    assert "5 minutes from the time of a row on" in transom.explain(
        listed(transom.Snapshot(), five)(df)
    )
    assert "from the time of a row on" not in transom.explain(listed(transom.Snapshot(), None)(df))


def test_a_late_row_lists_no_more_than_a_thousand_windows(spark: SparkSession) -> None:
    pipeline = listed(transom.Tumbling(size="1 second"))
    batches = [[row(0, "a", 9000, 9001)], [row(1, "a", 9002, 9003)], [row(2, "a", 0, 3600)]]
    (late,) = run_stream(spark, pipeline, SCHEMA, batches).late
    assert late["row"]["n"] == 2
    assert len(late["missed_windows"]) == 1000
    assert late["missed_windows_truncated"]
