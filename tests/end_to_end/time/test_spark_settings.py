"""Settings and counts of Spark beside those of transom."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, run_stream

SCHEMA = "key string, time timestamp"
START = datetime(2024, 1, 1)


def row(second: int, key: str = "a") -> tuple[str, datetime]:
    return (key, START + timedelta(seconds=second))


def counts(rows: DataFrame) -> DataFrame:
    clock = transom.EventTime("time", delay="0 seconds")
    tens = transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling("10 seconds"))
    return tens.agg(n=F.count("*"))


def shown(results: list[Row]) -> list[tuple[str, datetime, int]]:
    return sorted((r["key"], r["window"]["start"], r["n"]) for r in results)


@contextmanager
def setting(spark: SparkSession, name: str, value: object) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, str(value))
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


def test_without_batches_of_no_rows_windows_wait_for_rows(spark: SparkSession) -> None:
    batches: list[Batch] = [[row(1)], [row(30)]]
    assert len(run_stream(spark, counts, SCHEMA, batches).results) == 1
    with setting(spark, "spark.sql.streaming.noDataMicroBatches.enabled", "false"):
        assert run_stream(spark, counts, SCHEMA, batches).results == []
        later: list[Batch] = [*batches, [row(31)]]
        assert len(run_stream(spark, counts, SCHEMA, later).results) == 1


def test_results_do_not_depend_on_the_number_of_shuffle_partitions(spark: SparkSession) -> None:
    rows = [row(n, f"k{n % 7}") for n in range(90)]
    batches: list[Batch] = [rows[n : n + 30] for n in (0, 30, 60)]
    found = []
    for partitions in (1, 5):
        with setting(spark, "spark.sql.shuffle.partitions", partitions):
            found.append(shown(run_stream(spark, counts, SCHEMA, batches).results))
    assert len(found[0]) > 50
    assert found[0] == found[1]


def test_late_rows_are_in_the_counts_of_transom_alone(spark: SparkSession) -> None:
    outcome = run_stream(spark, counts, SCHEMA, [[row(1)], [row(30)], [row(31)], [row(2)]])
    assert outcome.observed()["transom_rows_late"] == 1
    dropped = [
        operator.numRowsDroppedByWatermark
        for progress in outcome.progress
        for operator in progress.stateOperators
    ]
    assert set(dropped) == {0}


def test_the_progress_has_the_time_of_a_batch_and_no_rows_of_foreach_batch(
    spark: SparkSession,
) -> None:
    progress = run_stream(spark, counts, SCHEMA, [[row(1)], [row(30)]]).progress
    assert {batch.sink.numOutputRows for batch in progress} == {-1}
    assert all(batch.durationMs["triggerExecution"] > 0 for batch in progress)
