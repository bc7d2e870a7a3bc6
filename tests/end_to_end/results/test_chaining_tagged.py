"""Windows over tagged results give the same as windows over plain results."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.results.test_chaining import DELAY, SCHEMA, TEN, as_input, generated, windowed
from tests.end_to_end.support.queries import Outcome, run_stream

MINUTE = transom.Tumbling(size="1 minute")
# Many rows are behind the watermark.
BATCHES = generated(4, behind=120_000)
INPUT = as_input(BATCHES)
EXPECTED, LATE = model.grid(BATCHES, DELAY, model.tumbling(10_000))


def totals(rows: DataFrame, *, tagged: bool) -> DataFrame:
    steps = windowed(rows).options(name="first")
    if tagged:
        steps = steps.with_late_rows().with_dead_letters()
    return steps.agg(F.sum("value").alias("total"))


def of_minutes(results: DataFrame) -> transom.Windowed:
    return transom.stream(results, time="window").window(MINUTE).options(name="second")


def sums(windows: transom.Windowed) -> DataFrame:
    return windows.agg(F.count("*").alias("windows"), F.sum("total").alias("total"))


def shown(outcome: Outcome) -> Counter[tuple[datetime, int, int]]:
    return Counter(
        (row["window"]["start"], row["windows"], row["total"]) for row in outcome.results
    )


def test_results_with_tags_give_what_results_without_give(spark: SparkSession) -> None:
    def chained(rows: DataFrame) -> DataFrame:
        return sums(of_minutes(transom.untag(totals(rows, tagged=True), "results")))

    def plain(rows: DataFrame) -> DataFrame:
        return sums(of_minutes(totals(rows, tagged=False)))

    tagged, untagged = (run_stream(spark, query, SCHEMA, INPUT) for query in (chained, plain))
    assert shown(tagged) == shown(untagged)
    assert tagged.observed("second") == untagged.observed("second")
    # Late rows and dead letters are not results, so the second operator gets none of them.
    assert LATE, "the stream should have late rows"
    assert tagged.observed("first")["transom_rows_late"] == len(LATE)
    assert tagged.observed("second")["transom_rows_in"] == len(EXPECTED)
    assert tagged.observed("second")["transom_rows_without_time"] == 0
    assert [progress.eventTime for progress in tagged.progress] == [
        progress.eventTime for progress in untagged.progress
    ]


def test_a_drain_reaches_the_operator_behind_tagged_results(spark: SparkSession) -> None:
    def chained(rows: DataFrame) -> DataFrame:
        results = transom.untag(totals(rows, tagged=True), "results")
        return sums(of_minutes(results).drain())

    on_time = generated(5, behind=DELAY)
    outcome = run_stream(spark, chained, SCHEMA, as_input(on_time))
    # All rows are on time, and no window stays open.
    assert sum(row["total"] for row in outcome.results) == sum(
        value for batch in on_time for _, _, value in batch
    )


def test_late_rows_are_delivered_by_both_operators(spark: SparkSession) -> None:
    """With a lateness, the first operator has late results. They are late rows of the second."""

    def first(rows: DataFrame, *, tagged: bool) -> DataFrame:
        steps = windowed(rows).allowed_lateness("20 seconds").options(name="first")
        if tagged:
            steps = steps.with_late_rows()
        return steps.agg(F.sum("value").alias("total"))

    def second(results: DataFrame) -> DataFrame:
        same = transom.stream(results, time="window").key_by("key").window(TEN)
        return same.with_late_rows().options(name="second").agg(F.sum("total").alias("total"))

    def chained(rows: DataFrame) -> DataFrame:
        return second(transom.untag(first(rows, tagged=True), "results"))

    def plain(rows: DataFrame) -> DataFrame:
        return second(first(rows, tagged=False))

    def late_only(rows: DataFrame) -> DataFrame:
        return transom.untag(first(rows, tagged=True), "late")

    tagged, untagged = (run_stream(spark, query, SCHEMA, INPUT) for query in (chained, plain))
    assert tagged.late, "the second window operator should have late rows"
    assert Counter(row["row"] for row in tagged.late) == Counter(
        row["row"] for row in untagged.late
    )
    assert Counter(tagged.results) == Counter(untagged.results)
    assert tagged.observed("second") == untagged.observed("second")
    # Each key and window has one result on time, so each result is one row of the second operator.
    observed = tagged.observed("second")
    assert observed["transom_rows_in"] == len(tagged.results) + len(tagged.late)

    in_front = run_stream(spark, late_only, SCHEMA, INPUT)
    late = in_front.observed("first")["transom_rows_late"]
    assert late == tagged.observed("first")["transom_rows_late"]
    assert late == len(in_front.results) > 0


def both(rows: pa.Table, context: transom.Context) -> pa.Table:
    """Return the sum of a window, and emit it as a side output too."""
    total = pa.table({"total": [sum(rows["value"].to_pylist())]})
    context.output("copy", total)
    return total


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tag", ["results", "copy"])
def test_rows_of_a_function_are_windowed_again(spark: SparkSession, tag: str) -> None:
    def chained(rows: DataFrame) -> DataFrame:
        tagged = windowed(rows).with_late_rows().options(name="first")
        made = tagged.apply(both, "total long", outputs={"copy": "total long"})
        return sums(of_minutes(transom.untag(made, tag)))

    def plain(rows: DataFrame) -> DataFrame:
        return sums(of_minutes(totals(rows, tagged=False)))

    outcomes = [run_stream(spark, query, SCHEMA, INPUT) for query in (chained, plain)]
    assert shown(outcomes[0]) == shown(outcomes[1])
    assert outcomes[0].results, "the stream should end windows"


def test_static_results_with_tags_are_windowed_again(spark: SparkSession) -> None:
    rows = spark.createDataFrame([row for batch in INPUT for row in batch], SCHEMA)
    windowed = transom.stream(rows, time="time").key_by("key").window(TEN)
    total = F.sum("value").alias("total")
    tagged = transom.untag(windowed.with_late_rows().agg(total), "results")
    assert sorted(sums(of_minutes(tagged)).collect()) == sorted(
        sums(of_minutes(windowed.agg(total))).collect()
    )
