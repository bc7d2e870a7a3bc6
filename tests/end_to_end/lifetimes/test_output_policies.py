"""Lifetimes of results, lifetimes that functions see and return, and watermarks of results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "at timestamp, until timestamp, n bigint"
TICK = timedelta(microseconds=1)
HOURS = transom.Tumbling(size="1 hour")
HALVES = transom.Hopping(size="1 hour", slide="30 minutes")
LIFETIME = "lifetime struct<start:timestamp,end:timestamp>"
END_OF_TIME = datetime(9999, 12, 31, 23, 59, 59, 999999)


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 {text}")


GIVEN = [(at("05:40"), at("06:10"), 1), (at("06:05"), None, 2)]


def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(GIVEN, SCHEMA)


def bounds(row: Row) -> tuple[datetime, datetime]:
    return row["lifetime"]["start"], row["lifetime"]["end"]


@pytest.mark.parametrize("lived", [None, "until"])
def test_results_are_points_at_the_end_of_their_window(
    spark: SparkSession, lived: str | None
) -> None:
    hours = transom.stream(rows(spark), time="at", lifetime=lived).window(HALVES)
    results = hours.output_policy("point_align_to_window_end").agg(F.count("*").alias("n"))
    found = results.collect()
    assert results.columns == ["window", "lifetime", "n"]
    assert len(found) >= 3
    for row in found:
        assert bounds(row) == (row["window"]["end"], row["window"]["end"] + TICK)


def test_the_points_of_several_windows_are_at_the_ends_of_their_windows(
    spark: SparkSession,
) -> None:
    several = transom.Windows({"half": HALVES, "two": transom.CountByStart(2)})
    windowed = transom.stream(rows(spark), time="at").window(several)
    found = windowed.output_policy("point_align_to_window_end").agg(F.count("*")).collect()
    assert {row["window_id"] for row in found} == {"half", "two"}
    for row in found:
        assert bounds(row) == (row["window"]["end"], row["window"]["end"] + TICK)


@pytest.mark.parametrize("window", [HALVES, transom.Snapshot()], ids=repr)
def test_results_last_as_long_as_their_window(spark: SparkSession, window: Any) -> None:
    windowed = transom.stream(rows(spark), time="at", lifetime="until").window(window)
    found = windowed.output_policy("clip_to_window_end").agg(F.count("*").alias("n")).collect()
    assert len(found) >= 2
    for row in found:
        assert bounds(row) == tuple(row["window"])


def test_the_column_stands_between_the_pane_and_the_values(spark: SparkSession) -> None:
    several = transom.Windows({"hour": HOURS, "half": HALVES})
    windowed = transom.stream(rows(spark), time="at").key_by("n").window(several)
    windowed = windowed.options(layout="keyed").with_pane().output_policy("clip_to_window_end")
    results = windowed.agg(F.count("*").alias("rows"))
    assert results.columns == ["n", "window", "window_id", "pane", "lifetime", "rows"]
    top = windowed.top(1, "at")
    assert top.columns == ["n", "window", "window_id", "pane", "lifetime", "at", "until", "rank"]
    assert all(bounds(row) == tuple(row["window"]) for row in top.collect())


def test_results_are_rows_of_a_further_operator(spark: SparkSession) -> None:
    """Snapshots of results that overlap count how many of them are valid at once."""
    halves = transom.stream(rows(spark), time="at", lifetime="until").window(HALVES)
    results = halves.output_policy("clip_to_window_end").agg(F.count("*").alias("n"))
    valid = transom.stream(results, time="lifetime.start", lifetime="lifetime.end")
    found = valid.window(transom.Snapshot()).agg(F.count("*").alias("valid")).collect()
    # The windows start every half hour from 05:00 to 06:00, and last an hour. The open row ends
    # with the input, at the last start.
    assert [(row["window"]["start"], row["valid"]) for row in sorted(found)] == [
        (at("05:00"), 1),
        (at("05:30"), 2),
        (at("06:00"), 2),
        (at("06:30"), 1),
    ]


def seconds(rows: pa.Table) -> list[float]:
    return [(life["end"] - life["start"]).total_seconds() for life in rows["lifetime"].to_pylist()]


def test_functions_see_lifetimes_clipped_to_the_window(spark: SparkSession) -> None:
    def shown(rows: pa.Table) -> pa.Table:
        return pa.table({"n": rows["n"], "seconds": seconds(rows)})

    hours = transom.stream(rows(spark), time="at", lifetime="until").window(HOURS)
    found = hours.apply(shown, "n long, seconds double").collect()
    assert sorted((r["window"]["start"], r["n"], r["seconds"]) for r in found) == [
        (at("05:00"), 1, 20 * 60),
        (at("06:00"), 1, 10 * 60),
        # The row has no end.
        (at("06:00"), 2, 55 * 60),
    ]
    snapshots = transom.stream(rows(spark), time="at", lifetime="until").window(transom.Snapshot())
    found = snapshots.apply(shown, "n long, seconds double").collect()
    assert sorted((r["window"]["start"], r["n"], r["seconds"]) for r in found) == [
        (at("05:40"), 1, 25 * 60),
        (at("06:05"), 1, 5 * 60),
        (at("06:05"), 2, 5 * 60),
    ]


def returning(rows: pa.Table) -> pa.Table:
    """A result for the first ten minutes of a row, and none without rows."""
    starts = [life["start"] for life in rows["lifetime"].to_pylist()]
    lives = [{"start": start, "end": start + timedelta(minutes=10)} for start in starts]
    kind = pa.struct([(name, pa.timestamp("us", "UTC")) for name in ("start", "end")])
    return pa.table({"n": rows["n"], "lifetime": pa.array(lives, kind)})


@pytest.mark.parametrize("tagged", [False, True])
def test_functions_set_lifetimes_and_the_policy_follows(
    spark: SparkSession, *, tagged: bool
) -> None:
    given = [(at("05:55"), at("06:30"), 1)]
    df = spark.createDataFrame(given, SCHEMA)
    hours = transom.stream(df, time="at", lifetime="until").window(HOURS)
    if tagged:
        hours = hours.with_late_rows()
    ten = timedelta(minutes=10)
    expected: dict[Any, list[tuple[datetime, datetime]]] = {
        None: [(at("05:55"), at("05:55") + ten), (at("06:00"), at("06:00") + ten)],
        "clip_to_window_end": [(at("05:55"), at("06:00")), (at("06:00"), at("06:00") + ten)],
        "point_align_to_window_end": [
            (at("06:00"), at("06:00") + TICK),
            (at("07:00"), at("07:00") + TICK),
        ],
    }
    for policy, lives in expected.items():
        with_policy = hours if policy is None else hours.output_policy(policy)
        results = with_policy.apply(returning, f"n long, {LIFETIME}")
        if tagged:
            results = transom.untag(results, "results")
        assert results.columns == ["window", "n", "lifetime"]
        assert sorted(map(bounds, results.collect())) == lives


def watermarked(window: transom.Window, policy: Any = None) -> Any:
    def pipeline(df: DataFrame) -> DataFrame:
        windowed = transom.stream(df, time=transom.TimePolicy("at")).window(window)
        if policy is not None:
            windowed = windowed.output_policy(policy)
        return windowed.with_watermarks().drain().agg(F.count("*").alias("n"))

    return pipeline


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("window", "policy", "expected"),
    [
        # si-23 and si-24: points hold nothing back, windows hold back what may still change.
        (HOURS, "point_align_to_window_end", ["05:13", "05:59", "06:00", "06:20"]),
        (HOURS, None, ["05:13", "05:59", "06:00", "06:20"]),
        (HOURS, "clip_to_window_end", ["05:00", "05:00", "06:00", "06:00"]),
        (HALVES, "clip_to_window_end", ["04:30", "05:00", "05:30", "05:30"]),
        (
            transom.Windows([HOURS, HALVES]),
            "clip_to_window_end",
            ["04:30", "05:00", "05:30", "05:30"],
        ),
    ],
    ids=repr,
)
def test_the_watermark_of_results_follows_the_policy(
    spark: SparkSession, window: transom.Window, policy: Any, expected: list[str]
) -> None:
    batches = [[(at(time), None, 0)] for time in ("05:13", "05:59", "06:00", "06:20")]
    outcome = run_stream(spark, watermarked(window, policy), SCHEMA, batches)
    found = [
        row["watermarks"]["watermark"]
        for number in sorted(outcome.by_batch)
        for row in outcome.by_batch[number]
        if row["tag"] == "watermarks"
    ]
    assert found == [*map(at, expected), END_OF_TIME]
    starts = {
        row["results"]["window"]["start"]
        for rows in outcome.by_batch.values()
        for row in rows
        if row["tag"] == "results"
    }
    assert at("05:00") in starts


def test_no_result_starts_before_the_watermark_of_an_earlier_batch(spark: SparkSession) -> None:
    times = [at("05:00") + timedelta(minutes=7 * n) for n in range(40)]
    batches = [[(time, None, 0) for time in times[n : n + 4]] for n in range(0, 40, 4)]
    outcome = run_stream(spark, watermarked(HALVES, "clip_to_window_end"), SCHEMA, batches)
    reached = datetime.min
    checked = 0
    for number in sorted(outcome.by_batch):
        for row in outcome.by_batch[number]:
            if row["tag"] == "results":
                assert row["results"]["lifetime"]["start"] >= reached
                checked += 1
        for row in outcome.by_batch[number]:
            if row["tag"] == "watermarks":
                assert row["watermarks"]["watermark"] >= reached
                reached = row["watermarks"]["watermark"]
    assert checked > 8
    assert reached == END_OF_TIME


def test_a_static_dataframe_ends_with_the_last_watermark(spark: SparkSession) -> None:
    found = watermarked(HOURS)(rows(spark)).collect()
    marks = [row["watermarks"] for row in found if row["tag"] == "watermarks"]
    assert [mark["watermark"] for mark in marks] == [END_OF_TIME]
    assert abs(marks[0]["at"].replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=10)


def test_a_window_that_fires_again_may_start_before_the_watermark(spark: SparkSession) -> None:
    def pipeline(df: DataFrame) -> DataFrame:
        stream = transom.stream(df, time=transom.TimePolicy("at"))
        kept = stream.window(HOURS).allowed_lateness("1 day")
        policy = kept.output_policy("clip_to_window_end").with_watermarks()
        return policy.agg(n=F.count("*"))

    batches = [[(at("05:10"), None, 0)], [(at("07:10"), None, 0)], [(at("05:20"), None, 0)]]
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    tagged = [row for _, batch in sorted(outcome.by_batch.items()) for row in batch]
    marks = [row["watermarks"]["watermark"] for row in tagged if row["tag"] == "watermarks"]
    starts = [row["results"]["lifetime"]["start"] for row in tagged if row["tag"] == "results"]
    assert starts == [at("05:00"), at("05:00")]
    assert marks[-1] > at("05:00")
