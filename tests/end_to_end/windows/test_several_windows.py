"""Several windows in one pass: each has the results that it has alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream, state_rows
from tests.end_to_end.support.real_data import flights

SCHEMA = "key string, at timestamp, n bigint"
MINUTE = 60_000_000
GRIDS = {
    "quarter": transom.Tumbling(size="15 minutes"),
    "hours": transom.Hopping(size="1 hour", slide="20 minutes"),
    "day": transom.Tumbling(size="1 day"),
}
SESSION = {"session": transom.Session(gap="30 minutes")}


def rows(count: int = 3_000) -> list[tuple[str, datetime, int]]:
    """Real departures at each airport, in order of arrival."""
    return [(e.key, datetime.fromtimestamp(e.at / 1_000_000), e.n) for e in flights()[:count]]


def summed(windows: transom.Windows, *, delay: str | None = None) -> Any:
    def pipeline(df: DataFrame) -> DataFrame:
        time = "at" if delay is None else transom.EventTime("at", delay=delay)
        windowed = transom.stream(df, time=time).key_by("key").window(windows)
        return windowed.agg(F.count("*").alias("rows"), F.sum("n").alias("sum"))

    return pipeline


@pytest.mark.parametrize("layout", ["slices", "keyed"])
@pytest.mark.parametrize("name", ["only", None])
def test_a_single_window_keeps_its_id(spark: SparkSession, layout: Any, name: str | None) -> None:
    hour = transom.Tumbling("1 hour")
    windows = transom.Windows([hour] if name is None else {name: hour})
    df = spark.createDataFrame([("a", datetime(2024, 1, 1), 1)], SCHEMA)
    windowed = transom.stream(df, time="at").window(windows).options(layout=layout)
    assert [(row["window_id"], row["n"]) for row in windowed.agg(n=F.sum("n")).collect()] == [
        (name, 1)
    ]


def contents(results: Iterable[Row]) -> list[tuple[Any, ...]]:
    found = [
        (r["key"], r["window_id"], r["window"]["start"], r["window"]["end"], r["rows"], r["sum"])
        for r in results
    ]
    return sorted(found, key=repr)


def of_spark(df: DataFrame, ids: Iterable[str]) -> list[tuple[Any, ...]]:
    """The results of Spark's own windows, one query for each."""
    windows = {
        "quarter": F.window("at", "15 minutes"),
        "hours": F.window("at", "1 hour", "20 minutes"),
        "day": F.window("at", "1 day"),
        "session": F.session_window("at", "30 minutes"),
    }
    found = []
    for name in ids:
        grouped = df.groupBy("key", windows[name].alias("window"))
        result = grouped.agg(F.count("*").alias("rows"), F.sum("n").alias("sum"))
        found += result.withColumn("window_id", F.lit(name)).collect()
    return contents(found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_grids_have_the_results_of_spark(spark: SparkSession, layout: Any) -> None:
    df = spark.createDataFrame(rows(), SCHEMA)
    stream = transom.stream(df, time="at").key_by("key")
    windowed = stream.window(transom.Windows(GRIDS)).options(layout=layout)
    results = windowed.agg(F.count("*").alias("rows"), F.sum("n").alias("sum"))
    expected = of_spark(df, GRIDS)
    assert len(expected) > 3_000
    assert contents(results.collect()) == expected


def test_sessions_beside_grids_have_the_results_of_spark(spark: SparkSession) -> None:
    df = spark.createDataFrame(rows(), SCHEMA)
    windows = GRIDS | SESSION
    results = summed(transom.Windows(windows))(df)
    expected = of_spark(df, windows)
    assert sum(name == "session" for _, name, *_ in expected) > 300
    assert contents(results.collect()) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("others", [{}, SESSION], ids=["slices", "keyed"])
def test_a_stream_that_starts_again(
    spark: SparkSession, tmp_path: Path, others: dict[str, transom.Window]
) -> None:
    given = rows()
    batches = [given[start : start + 1000] for start in range(0, len(given), 1000)]
    # No flight departs more than a day before its report.
    pipeline = summed(transom.Windows(GRIDS | others), delay="2 days")
    found: list[Row] = []
    for part in (batches[:1], batches[1:2]):
        found += run_stream(spark, pipeline, SCHEMA, part, checkpoint=tmp_path).results
    state = state_rows(spark, tmp_path, "keys" if others else "segments_2")
    assert state
    # The last row closes all windows but its own.
    batches = [*batches[2:], [("closing", datetime(2030, 1, 1), 0)]]
    fewer = summed(transom.Windows({"day": GRIDS["day"]}), delay="2 days")
    with pytest.raises(StreamingQueryException, match="TRANSOM_SPEC_CHANGED"):
        run_stream(spark, fewer, SCHEMA, batches, checkpoint=tmp_path)
    found += run_stream(spark, pipeline, SCHEMA, [], checkpoint=tmp_path).results
    assert contents(found) == of_spark(spark.createDataFrame(given, SCHEMA), GRIDS | others)


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 {text}")


def test_a_row_that_is_late_for_one_window_counts_in_the_other(spark: SparkSession) -> None:
    windows = {"hour": transom.Tumbling(size="1 hour"), "day": transom.Tumbling(size="1 day")}

    def pipeline(df: DataFrame) -> DataFrame:
        stream = transom.stream(df, time=transom.EventTime("at", delay="0 seconds"))
        windowed = stream.key_by("key").window(transom.Windows(windows))
        return windowed.with_late_rows(partly=True).agg(F.count("*").alias("rows"))

    batches = [
        [("a", at("01:30"), 1), ("a", at("03:10"), 2)],
        [("b", at("03:10"), 3)],
        [("a", at("01:40"), 4)],
        [("b", datetime(2024, 1, 3), 5)],
        [("b", datetime(2024, 1, 3), 6)],
        [("a", at("01:50"), 7)],
    ]
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    found = {
        (r["window_id"], r["window"]["start"]): r["rows"]
        for r in outcome.results
        if r["key"] == "a"
    }
    assert found == {("hour", at("01:00")): 1, ("hour", at("03:00")): 1, ("day", at("00:00")): 3}
    late = {r["row"]["n"]: (r["reason"], len(r["missed_windows"])) for r in outcome.late}
    assert late == {4: ("late_partly", 1), 7: ("late", 2)}
    assert outcome.observed()["transom_rows_late"] == 1
    assert outcome.observed()["transom_rows_late_partly"] == 1


def test_functions_know_the_window(spark: SparkSession) -> None:
    def seen(rows: pa.Table, context: transom.Context) -> pa.Table:
        context.window_state["calls"] = (context.window_state["calls"] or 0) + 1
        calls = context.window_state["calls"]
        return pa.table({"id": [context.window_id], "count": [rows.num_rows], "calls": [calls]})

    df = spark.createDataFrame([("a", at("01:30"), 1), ("a", at("02:10"), 2)], SCHEMA)
    # The first hour and the whole day start together, and have states of their own.
    windows = {"hour": transom.Tumbling(size="1 hour"), "twice": transom.Tumbling(size="1 hour")}
    windowed = transom.stream(df, time="at").key_by("key").window(transom.Windows(windows))
    results = windowed.apply(seen, "id string, count long, calls long", window_state="calls long")
    found = [
        (r["window"]["start"], r["window_id"], r["id"], r["count"], r["calls"])
        for r in results.orderBy("window", "window_id").collect()
    ]
    assert found == [
        (at(start), name, name, 1, 1) for start in ("01:00", "02:00") for name in windows
    ]


def test_the_first_rows_of_each_window(spark: SparkSession) -> None:
    given = [("a", at("01:30"), 7), ("a", at("01:40"), 9), ("a", at("02:10"), 8)]
    df = spark.createDataFrame(given, SCHEMA)
    windows = {"hour": transom.Tumbling(size="1 hour"), "day": transom.Tumbling(size="1 day")}
    windowed = transom.stream(df, time="at").key_by("key").window(transom.Windows(windows))
    top = windowed.top(1, F.desc("n")).select("window.start", "window_id", "n", "rank")
    assert sorted(map(tuple, top.collect())) == [
        (at("00:00"), "day", 9, 1),
        (at("01:00"), "hour", 9, 1),
        (at("02:00"), "hour", 8, 1),
    ]


def test_windows_without_ids(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", at("01:30"), 1)], SCHEMA)
    windows = transom.Windows([transom.Tumbling(size="1 hour"), transom.Rolling("1 hour")])
    results = summed(windows)(df).collect()
    assert [r["window_id"] for r in results] == [None, None]
    assert {(r["window"]["start"], r["window"]["end"]) for r in results} == {
        (at("01:00"), at("02:00")),
        (at("00:30"), at("01:30")),
    }


def test_the_results_go_to_another_window(spark: SparkSession) -> None:
    df = spark.createDataFrame(rows(1_000), SCHEMA)
    counts = summed(transom.Windows(GRIDS))(df)
    days = transom.stream(counts, time="window").key_by("window_id")
    found = days.window(transom.Tumbling(size="1 day")).agg(F.sum("rows").alias("rows")).collect()
    expected = counts.groupBy("window_id", F.window(F.window_time("window"), "1 day")).agg(
        F.sum("rows")
    )
    assert len(found) > 3
    assert sorted(map(tuple, found), key=repr) == sorted(map(tuple, expected.collect()), key=repr)


def test_explain_names_each_window(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", at("01:30"), 1)], SCHEMA)
    text = transom.explain(summed(transom.Windows(GRIDS))(df))
    assert "quarter: tumbling, size 15 minutes, time zone UTC; hours: hopping, size 1 hour," in text
    assert "slices: the slice log can run these windows" in text
    other = transom.Windows([transom.Tumbling(size="1 hour"), transom.Snapshot()])
    assert "needed for Windows of other kinds than grids" in transom.explain(summed(other)(df))
    zones = transom.Windows(
        [transom.Tumbling(size="1 hour"), transom.Tumbling(size="1 hour", closed="right")]
    )
    text = transom.explain(summed(zones)(df))
    assert "needed for Windows that differ in closed or time_zone" in text
