"""Rows of several partitions whose batches do not follow the order of their arrival."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from transom.inspection.metrics import named


def test_rows_that_rows_of_other_partitions_have_overtaken_are_counted(
    spark: SparkSession,
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("at", arrival="known", partition="source")
        return (
            transom.stream(rows, time=policy)
            .window(transom.Tumbling("1 minute"))
            .agg(n=F.count("*"))
        )

    def row(source: str, known: int) -> tuple[str, datetime, datetime]:
        arrived = datetime(2024, 1, 1) + timedelta(seconds=known)
        return (source, arrived, arrived)

    # The source reads partition a ahead of partition b. Each order alone is kept.
    batches = [[row("a", 1), row("b", 2), row("a", 9)], [row("b", 5), row("b", 9)], [row("a", 10)]]
    outcome = run_stream(spark, pipeline, "source string, at timestamp, known timestamp", batches)
    overtaken = [
        named(progress.observedMetrics["window"].asDict())["transom_rows_overtaken"]
        for progress in outcome.progress
        if progress.numInputRows
    ]
    assert overtaken == [0, 1, 0]


def arrived(source: str, known: int) -> tuple[str, datetime, datetime]:
    time = datetime(2024, 1, 1) + timedelta(seconds=known)
    return (source, time, time)


# The first batch has the rows of partition a alone, up to the second minute.
AHEAD = [[arrived("a", 1), arrived("a", 100)], [arrived("b", 2), arrived("b", 110)]]
IN_ORDER = [[arrived("a", 1), arrived("b", 2)], [arrived("a", 100), arrived("b", 110)]]


@pytest.mark.parametrize(
    ("batches", "partitions", "late"),
    [(AHEAD, (), 1), (IN_ORDER, (), 0), (AHEAD, ("a", "b"), 0)],
    ids=["read ahead", "in order", "partitions named"],
)
def test_a_partition_that_joins_late_finds_windows_closed(
    spark: SparkSession,
    batches: list[list[tuple[str, datetime, datetime]]],
    partitions: tuple[str, ...],
    late: int,
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "at", arrival="known", partition="source", partitions=partitions
        )
        minutes = transom.stream(rows, time=policy).window(transom.Tumbling("1 minute"))
        return minutes.with_late_rows().agg(n=F.count("*"))

    outcome = run_stream(spark, pipeline, "source string, at timestamp, known timestamp", batches)
    assert len(outcome.late) == late
    assert [row["n"] for row in outcome.results] == [2 - late]
