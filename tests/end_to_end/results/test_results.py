"""Steps after a window operator: filters, retractions, late firings, update mode."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.results.test_chaining import (
    INPUT,
    SCHEMA,
    TEN,
    counts,
    fired,
    native_counts,
    windowed,
)
from tests.end_to_end.support.clocked import Step, run_clocked
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import run_stream


def test_update_mode_writes_the_rows_of_append_mode(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(counts(rows), time="window").key_by("key").window(TEN)
        return windowed.options(layout="keyed").agg(F.sum("rows").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, INPUT, output_mode="update")
    grouped = native_counts(spark, F.window("time", "10 seconds")).select("key", "window", "rows")
    assert_same(outcome.results, fired(grouped), "key", "window")


def test_results_can_be_filtered(spark: SparkSession) -> None:
    outcome = run_stream(spark, lambda rows: counts(rows).where("rows > 2"), SCHEMA, INPUT)
    grouped = native_counts(spark, F.window("time", "10 seconds")).drop("at")
    expected = [row for row in fired(grouped) if row["rows"] > 2]
    assert 0 < len(expected) < len(fired(grouped))
    assert_same(outcome.results, expected, "key", "window")


def test_results_that_are_taken_back_are_taken_back_behind_them_too(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        early = transom.AfterWatermark(early=transom.AfterCount(2))
        totals = windowed(rows).trigger(early).retract().agg(F.sum("value").alias("total"))
        signed = F.expr("if(change = '-U', -total, total)")
        changes = transom.stream(totals, time="window").window(TEN)
        return changes.agg(F.sum(signed).alias("total"), F.count("*").alias("changes"))

    outcome = run_stream(spark, pipeline, SCHEMA, INPUT)
    grouped = native_counts(spark, F.window("time", "10 seconds")).groupBy("window")
    expected = fired(grouped.agg(F.sum("total").alias("total"), F.count("*").alias("keys")))
    totals = {row["window"]: row["total"] for row in expected}
    assert {row["window"]: row["total"] for row in outcome.results} == totals
    assert sum(row["changes"] for row in outcome.results) > sum(row["keys"] for row in expected)


def test_late_firings_rank_again_in_an_operator_that_waits_as_long(spark: SparkSession) -> None:
    def best(stream: transom.Stream, *, waits: bool) -> DataFrame:
        totals = stream.window(TEN).allowed_lateness("5 seconds").agg(F.sum("value").alias("total"))
        ranked = transom.stream(totals, time="window").window(TEN).options(name="ranked")
        windowed = ranked.allowed_lateness("5 seconds") if waits else ranked
        return windowed.agg(F.max_by("key", "total").alias("best"), F.max("total").alias("total"))

    late: Step = [("b", 3, 4), ("b", 4, 1)]
    steps: list[Step] = [[("a", 1, 5), ("b", 2, 3)], 12, late, 15, [("b", 5, 9)]]
    again = run_clocked(spark, lambda stream: best(stream, waits=True), steps)
    assert [tuple(row)[1:] for row in again.results] == [("a", 5), ("b", 7), ("b", 8)]
    # Rows that are late for the first operator never reach the second.
    assert again.observed("ranked")["transom_rows_late"] == 0
    once = run_clocked(spark, lambda stream: best(stream, waits=False), steps)
    assert [tuple(row)[1:] for row in once.results] == [("a", 5)]
    assert once.observed("ranked")["transom_rows_late"] == 2
