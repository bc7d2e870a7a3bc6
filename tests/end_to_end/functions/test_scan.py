"""Functions over the rows of each key in the order of time, without windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.real_data import earthquakes

SCHEMA = "key string, at timestamp, n int"
AT = datetime(2024, 1, 1)


def running(rows: pa.Table, context: transom.Context) -> pa.Table:
    """The number of rows of the key so far, and the time of the rows before."""
    assert context.window is not None
    before = context.key_state
    count = (before["count"] or 0) + rows.num_rows
    last = before["last"]
    context.key_state.update(count=count, last=context.window.start)
    kind = pa.timestamp("us", "UTC")
    return pa.table(
        {
            "at": pa.array([context.window.start], kind),
            "since": pa.array([last], kind),
            "count": [count],
            "numbers": [sorted(rows["n"].to_pylist())],
        }
    )


RESULT = "at timestamp, since timestamp, count long, numbers array<int>"
STATE = "count long, last timestamp"


def scanned(time: Any) -> Any:
    def pipeline(df: DataFrame) -> DataFrame:
        by_key = transom.stream(df, time=time).key_by("key")
        return by_key.scan(running, RESULT, state=STATE)

    return pipeline


def expected(rows: list[tuple[str, datetime, int]]) -> list[tuple[Any, ...]]:
    found = []
    for key in {key for key, _, _ in rows}:
        count, last = 0, cast("datetime | None", None)
        own = [row for row in rows if row[0] == key]
        for at in sorted({at for _, at, _ in own}):
            numbers = sorted(n for _, time, n in own if time == at)
            count += len(numbers)
            found.append((key, at, last, count, numbers))
            last = at
    return sorted(found, key=repr)


def shown(results: list[Row]) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, results), key=repr)


def real_rows() -> list[tuple[str, datetime, int]]:
    """Earthquakes in order of arrival, with times of a minute, so that some are equal."""
    return [
        (e.key, datetime(1970, 1, 1) + timedelta(minutes=e.at // 60_000_000), e.n)
        for e in earthquakes()[:600]
    ]


def test_rows_come_in_the_order_of_their_times(spark: SparkSession) -> None:
    rows = real_rows()
    found = scanned("at")(spark.createDataFrame(rows, SCHEMA))
    assert found.columns == ["key", "at", "since", "count", "numbers"]
    assert len(expected(rows)) > 300
    assert shown(found.collect()) == expected(rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "time",
    [
        transom.EventTime("at", delay="400 days"),
        transom.TimePolicy("at", out_of_order=transom.Accept("400 days")),
    ],
    ids=["EventTime", "TimePolicy"],
)
def test_a_stream_that_starts_again(spark: SparkSession, tmp_path: Path, time: Any) -> None:
    rows = real_rows()
    batches: list[Any] = [rows[start : start + 150] for start in range(0, 600, 150)]
    batches.append([("closing", max(at for _, at, _ in rows) + timedelta(days=500), 0)])
    found: list[Row] = []
    for part in (batches[:2], batches[2:]):
        found += run_stream(spark, scanned(time), SCHEMA, part, checkpoint=tmp_path).results
    assert shown([row for row in found if row["key"] != "closing"]) == expected(rows)


def test_the_function_knows_how_far_time_has_come(spark: SparkSession) -> None:
    def reached(rows: pa.Table, context: transom.Context) -> pa.Table:
        assert context.watermark is not None
        assert context.window is not None
        ahead = (context.watermark - context.window.start).total_seconds()
        return pa.table({"ahead": [ahead] * min(rows.num_rows, 1)})

    def pipeline(df: DataFrame) -> DataFrame:
        stream = transom.stream(df, time=transom.TimePolicy("at"), order="n")
        return stream.key_by("key").scan(reached, "ahead double")

    rows = [("a", AT, 0), ("a", AT + timedelta(seconds=5), 1), ("b", AT + timedelta(seconds=9), 2)]
    results = run_stream(spark, pipeline, SCHEMA, [rows]).results
    # The row at 5 seconds has moved the watermark past the first row, and the next one past it.
    assert sorted(row["ahead"] for row in results) == [4.0, 9.0]


def test_late_rows_are_counted_and_not_seen(spark: SparkSession) -> None:
    rows = [("a", AT + timedelta(seconds=second), second) for second in (10, 5, 20)]
    closing = [("closing", AT + timedelta(days=1), 0)]
    outcome = run_stream(spark, scanned(transom.TimePolicy("at")), SCHEMA, [rows, closing])
    assert [row["numbers"] for row in outcome.results] == [[10], [20]]
    assert outcome.observed()["transom_rows_late"] == 1


def test_lifetimes_have_no_effect(spark: SparkSession) -> None:
    def names(rows: pa.Table) -> pa.Table:
        return pa.table({"names": [rows.column_names]})

    df = spark.createDataFrame([("a", AT, 0)], SCHEMA)
    lived = transom.stream(df, time="at", lifetime=transom.Lifetime(duration="1 hour"))
    found = lived.key_by("key").scan(names, "names array<string>").collect()
    assert [row["names"] for row in found] == [["key", "at", "n"]]


def test_a_scan_needs_event_time(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", AT, 0)], SCHEMA)
    with pytest.raises(PySparkValueError, match="TRANSOM_NO_CLOCK"):
        transom.stream(df).scan(running, RESULT)
