"""Sessions with a maximum duration, as in Azure Stream Analytics."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import cut
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.seeds import instant, vector

VECTORS = [
    "asa-33-session-max-duration-ge",
    "asa-33-session-max-duration-gt",
    "asa-34-session-timeout-inclusive",
]
SCHEMA = "time timestamp"
LIMITED = transom.Session(gap="5 seconds", max_duration="10 seconds")
Counted = list[tuple[datetime, datetime, int]]


def at(second: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def window_of(name: str) -> transom.Session:
    settings = vector(name)["windows"]
    return transom.Session(
        gap=timedelta(milliseconds=settings["timeout_ms"]),
        closed="right",
        max_duration=timedelta(milliseconds=settings["max_duration_ms"]),
        max_check=">" if settings.get("max_duration_check") == "gt" else ">=",
    )


def times_of(name: str) -> list[datetime]:
    return [instant(event["event_time"]) for event in vector(name)["events"]]


def expected(name: str) -> Counted:
    return [
        (instant(row["window_start"]), instant(row["window_end"]), row["count"])
        for row in vector(name)["expected"]["outputs"]
    ]


def counted(rows: list[Row]) -> Counted:
    return sorted((row["window"]["start"], row["window"]["end"], row["n"]) for row in rows)


def counting(window: transom.Session, time: Any) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows, time=time).window_all(window).drain()
        return windowed.agg(F.count("*").alias("n"))

    return pipeline


@pytest.mark.parametrize("name", VECTORS)
def test_a_static_dataframe_has_the_sessions_of_the_vector(spark: SparkSession, name: str) -> None:
    times = random.Random(3).sample(times_of(name), len(times_of(name)))
    rows = spark.createDataFrame([(time,) for time in times], SCHEMA).repartition(3)
    assert counted(counting(window_of(name), "time")(rows).collect()) == expected(name)


@pytest.mark.parametrize("name", VECTORS)
def test_a_stream_has_the_sessions_of_the_vector_however_rows_are_cut(
    spark: SparkSession, name: str
) -> None:
    # Over a time policy, `make conformance` runs these vectors.
    batches = [
        [(time,) for time in batch] for batch in cut(times_of(name), random.Random(len(name)))
    ]
    pipeline = counting(window_of(name), transom.EventTime("time", delay="0 seconds"))
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    assert counted(outcome.results) == expected(name)


def test_a_restart_keeps_the_session_that_a_check_has_opened(
    spark: SparkSession, tmp_path: Any
) -> None:
    clock = transom.EventTime("time", delay="0 seconds")

    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows, time=clock).key_by("key").window(LIMITED)
        return windowed.agg(F.count("*").alias("n"))

    schema = "key string, time timestamp"
    first = [[("a", at(t)) for t in (3, 7, 12, 17, 18)], [("b", at(21))]]
    before = run_stream(spark, pipeline, schema, first, checkpoint=tmp_path)
    assert counted(before.results) == [(at(3), at(20), 5)]
    then = [[("a", at(22))], [("b", at(60))]]
    after = run_stream(spark, pipeline, schema, then, checkpoint=tmp_path)
    assert (at(20), at(27), 1) in counted(after.results)


def test_a_late_row_joins_the_session_that_a_check_has_opened(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        windowed = transom.stream(rows, time=clock).key_by("key").window(LIMITED)
        return windowed.with_late_rows().agg(F.count("*").alias("n"))

    batches = [
        [("a", at(t)) for t in (3, 7, 12, 17, 18)],
        [("b", at(22))],
        [("b", at(22))],
        # The watermark is 22. The session from 3 to 20 has fired.
        [("a", at(21)), ("a", at(14))],
        [("b", at(60))],
    ]
    outcome = run_stream(spark, pipeline, "key string, time timestamp", batches)
    assert (at(20), at(26), 1) in counted(outcome.results)
    late = [(row["row"]["time"], row["reason"]) for row in outcome.late]
    assert late == [(at(14), "late_session")]
    assert [list(map(tuple, row["missed_windows"])) for row in outcome.late] == [[(at(14), at(19))]]


def test_a_function_gets_the_rows_of_each_session(spark: SparkSession) -> None:
    def seconds(rows: pa.Table) -> pa.Table:
        return pa.table({"seconds": [[time.second for time in rows["time"].to_pylist()]]})

    rows = spark.createDataFrame([(at(t),) for t in (3, 7, 12, 17, 18, 22)], SCHEMA).coalesce(1)
    windowed = transom.stream(rows, time="time").window_all(LIMITED)
    result = windowed.apply(seconds, "seconds array<int>").orderBy("window")
    assert [row["seconds"] for row in result.collect()] == [[3, 7, 12, 17, 18], [22]]


def test_only_the_keyed_layout_has_a_maximum_duration(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(at(3),)], SCHEMA)
    counts = counting(LIMITED, "time")(rows)
    assert "max_duration" in transom.explain(counts)
    windowed = transom.stream(rows, time="time").window_all(LIMITED).options(layout="slices")
    with pytest.raises(IllegalArgumentException, match="TRANSOM_LAYOUT_UNSUPPORTED") as error:
        windowed.agg(F.count("*"))
    assert "max_duration" in str(error.value)
