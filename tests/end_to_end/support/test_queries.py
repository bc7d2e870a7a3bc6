"""`run_stream`, which runs the queries of all other tests."""

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream, state_rows

SCHEMA = "key string, time timestamp"


def at(second: int) -> datetime:
    return datetime(2024, 1, 1, 0, second // 60, second % 60)


def counts(rows: DataFrame) -> DataFrame:
    return (
        transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        .key_by("key")
        .window(transom.Tumbling(size="10 seconds"))
        .with_late_rows()
        .agg(F.count("*").alias("n"))
    )


def shown(rows: list[Row]) -> list[tuple[str, int, int]]:
    return [(row["key"], row["window"]["start"].second, row["n"]) for row in rows]


def test_a_query_goes_on_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    first = run_stream(
        spark, counts, SCHEMA, [[("a", at(1)), ("a", at(2))], [("a", at(12))]], checkpoint=tmp_path
    )
    assert shown(first.results) == [("a", 0, 2)]
    assert first.late == []
    assert [progress.batchId for progress in first.progress] == [0, 1, 2]
    assert len(state_rows(spark, tmp_path)) == 1

    second = run_stream(
        spark, counts, SCHEMA, [[("a", at(3))], [("a", at(45))]], checkpoint=tmp_path
    )
    assert shown(second.results) == [("a", 10, 1)]
    assert [(late["row"]["time"], late["reason"]) for late in second.late] == [(at(3), "late")]
    assert first.observed()["transom_rows_in"] + second.observed()["transom_rows_in"] == 5
    assert second.observed()["transom_rows_late"] == 1


def test_a_sink_that_raises_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    def fail(_: list[Row], batch_id: int) -> None:
        if batch_id == 1:
            raise ValueError("no space left")

    batches = [[("a", at(1))], [("a", at(12))]]
    with pytest.raises(StreamingQueryException, match="no space left"):
        run_stream(spark, counts, SCHEMA, batches, checkpoint=tmp_path, sink=fail)
    again = run_stream(spark, counts, SCHEMA, [], checkpoint=tmp_path)
    assert shown(again.results) == [("a", 0, 1)]
