"""Steps of Spark with state drop the rows before the watermark, so these rows are no late rows."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, Outcome, run_stream

SCHEMA = "id string, second long"
# The last row is before the watermark, but within the lateness.
BATCHES: list[Batch] = [[("a", 1), ("a", 1)], [("b", 30)], [("c", 31)], [("d", 2)]]


def run(
    spark: SparkSession,
    before: Callable[[DataFrame], DataFrame],
    time: str | transom.EventTime = "at",
    batches: list[Batch] = BATCHES,
) -> Outcome:
    """Run windows with a lateness over the rows that steps of Spark leave."""

    def pipeline(rows: DataFrame) -> DataFrame:
        left = before(rows.select("id", F.timestamp_seconds("second").alias("at")))
        tens = transom.stream(left, time=time).window(transom.Tumbling("10 seconds"))
        tens = tens.allowed_lateness("1 hour")
        return tens.with_late_rows().agg(ids=F.collect_set("id"), n=F.count("*"))

    return run_stream(spark, pipeline, SCHEMA, batches)


def dropped_by_spark(outcome: Outcome) -> int:
    operators = [each for batch in outcome.progress for each in batch.stateOperators]
    return sum(each.numRowsDroppedByWatermark for each in operators)


def ids_removed(outcome: Outcome) -> int:
    """The rows that the step before the windows has removed from its state."""
    steps = [batch.stateOperators[-1] for batch in outcome.progress]
    assert {each.operatorName for each in steps} <= {"dedupe", "dedupeWithinWatermark"}
    assert sum(each.numRowsUpdated for each in steps) > 0
    return sum(each.numRowsRemoved for each in steps)


def with_watermark(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("at", "0 seconds")


def joined(rows: DataFrame) -> DataFrame:
    other = rows.select(F.col("id").alias("other"), F.col("at").alias("then"))
    return with_watermark(rows).join(
        other.withWatermark("then", "0 seconds"), F.expr("id = other and at = then")
    )


STEPS: list[Callable[[DataFrame], DataFrame]] = [
    lambda rows: with_watermark(rows).dropDuplicatesWithinWatermark(["id"]),
    lambda rows: with_watermark(rows).dropDuplicates(["id", "at"]),
    lambda rows: with_watermark(rows).dropDuplicates(["id"]),
]


@pytest.mark.parametrize("step", STEPS, ids=["within_watermark", "with_time", "without_time"])
def test_rows_that_spark_drops_first_are_not_late(
    spark: SparkSession, step: Callable[[DataFrame], DataFrame]
) -> None:
    outcome = run(spark, step)
    assert outcome.observed()["transom_rows_in"] == 3
    assert outcome.observed()["transom_rows_late"] == 0
    assert outcome.late == []
    assert dropped_by_spark(outcome) == 1
    assert {row["n"] for row in outcome.results} == {1}
    assert not any("d" in row["ids"] for row in outcome.results)


def test_spark_drops_duplicates_whose_times_differ_by_the_delay(spark: SparkSession) -> None:
    def once(rows: DataFrame) -> DataFrame:
        return rows.withWatermark("at", "10 seconds").dropDuplicatesWithinWatermark(["id"])

    outcome = run(spark, once, batches=[[("a", 1)], [("b", 11)], [("a", 11), ("c", 11)]])
    assert outcome.observed()["transom_rows_in"] == 3


def test_spark_removes_ids_as_the_watermark_moves_on(spark: SparkSession) -> None:
    assert ids_removed(run(spark, STEPS[0])) > 0


def test_rows_that_a_join_of_streams_drops_are_not_late(spark: SparkSession) -> None:
    outcome = run(spark, joined)
    assert outcome.results
    assert outcome.observed()["transom_rows_late"] == 0
    assert dropped_by_spark(outcome) > 0
    assert not any("d" in row["ids"] for row in outcome.results)


def test_without_a_watermark_spark_drops_only_duplicates(spark: SparkSession) -> None:
    clock = transom.EventTime("at", delay="0 seconds")
    outcome = run(spark, lambda rows: rows.dropDuplicates(["id"]), clock)
    assert outcome.observed()["transom_rows_in"] == 4
    assert dropped_by_spark(outcome) == 0
    assert max(row["n"] for row in outcome.results) == 2
    assert ids_removed(outcome) == 0


def by_count(
    spark: SparkSession, step: Callable[[DataFrame], DataFrame], *, reads_time: bool
) -> tuple[list[str], int]:
    """The ids that windows of one row get behind a step, and the rows that Spark has dropped."""

    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.select("id", F.timestamp_seconds("second").alias("at"))
        windows = transom.stream(step(timed)).window(transom.Count(1))
        read = [F.max("at").alias("at")] if reads_time else []
        return windows.agg(F.max("id").alias("id"), *read)

    outcome = run_stream(spark, pipeline, SCHEMA, [[("a", 100)], [("b", 101)], [("c", 50)]])
    return sorted(row["id"] for row in outcome.results), dropped_by_spark(outcome)


ONCE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "dropDuplicates": lambda rows: with_watermark(rows).dropDuplicates(["id"]),
    "within_watermark": lambda rows: with_watermark(rows).dropDuplicatesWithinWatermark(["id"]),
}


@pytest.mark.parametrize("step", ONCE)
def test_windows_that_read_the_time_get_no_row_that_spark_drops(
    spark: SparkSession, step: str
) -> None:
    assert by_count(spark, ONCE[step], reads_time=True) == (["a", "b"], 1)


def test_without_a_reader_of_the_time_spark_drops_no_row_before_the_watermark(
    spark: SparkSession,
) -> None:
    # Spark removes the unread column below `dropDuplicates`, so the step does not know the time.
    assert by_count(spark, ONCE["dropDuplicates"], reads_time=False) == (["a", "b", "c"], 0)
    assert by_count(spark, ONCE["within_watermark"], reads_time=False) == (["a", "b"], 1)
