"""Worked examples of Azure Stream Analytics: what the runner of the examples does not try."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.conformance.azure import policy_of, rows_of, stamp_of, stamps_of
from tests.end_to_end.conformance.events import Json
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.seeds import vector

TWELVE = vector("asa-01a-twelve-events-all-policies")
STAMP = "struct<time:timestamp,watermark:timestamp,rules:array<string>,disposition:string>"


def stamped(
    example: Json, order: str | tuple[str, ...] = "place"
) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        return transom.stream(rows, time=policy_of(example), order=order).stamped()

    return pipeline


def got(example: Json, rows: Iterable[Row]) -> list[Json]:
    """The stamps of rows, in the order of their events."""
    return sorted((stamp_of(example, row) for row in rows), key=lambda stamp: int(stamp["seq"]))


def test_the_arrival_orders_rows_that_have_no_other_order(spark: SparkSession) -> None:
    rows = rows_of(TWELVE)
    shuffled = random.Random(7).sample(rows.rows, 12)
    read = spark.createDataFrame(shuffled, rows.schema).repartition(3)
    result = stamped(TWELVE, order=())(read)
    assert result.columns == [*read.columns, "stamp"]
    assert result.schema["stamp"].dataType.simpleString() == STAMP
    assert got(TWELVE, result.collect()) == stamps_of(TWELVE)


def test_a_restart_changes_no_stamp(spark: SparkSession, tmp_path: Path) -> None:
    example = vector("asa-01c-twelve-events-substreams")
    table = rows_of(example)
    rows = table.rows
    outcomes = [
        run_stream(spark, stamped(example), table.schema, batches, checkpoint=tmp_path)
        for batches in ([rows[:3], rows[3:5]], [rows[5:6], rows[6:]])
    ]
    found = [row for outcome in outcomes for row in outcome.results]
    assert got(example, found) == stamps_of(example)


def test_a_watermark_of_spark_changes_no_stamp(spark: SparkSession) -> None:
    def marked(rows: DataFrame) -> DataFrame:
        return stamped(TWELVE)(rows.withWatermark("event_time", "0 seconds"))

    rows = rows_of(TWELVE)
    outcome = run_stream(spark, marked, rows.schema, [[row] for row in rows.rows])
    assert got(TWELVE, outcome.results) == stamps_of(TWELVE)
