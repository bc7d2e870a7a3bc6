"""Results that repeat no unchanged content."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_against_a_model import SCHEMA, as_input
from tests.end_to_end.lifetimes.test_real_data import in_batches_of, reports
from tests.end_to_end.support.queries import run_stream

HOURS = transom.Tumbling(size="1 hour")
HOPS = transom.Hopping(size="90 minutes", slide="30 minutes")
GAPS = transom.Hopping(size="1 hour", slide="150 minutes")
# Windows over lifetimes or over points, and whether some of them hold the rows of the one before.
CASES = [
    (HOURS, True, True),
    (HOPS, True, True),
    (GAPS, True, True),
    (HOURS, False, False),
    (HOPS, False, True),
    (GAPS, False, False),
]


def counted(window: transom.Window, *, lived: bool, only: bool, delay: str | None = None) -> Any:
    def pipeline(df: DataFrame) -> DataFrame:
        time = "start" if delay is None else transom.EventTime("start", delay=delay)
        rows = transom.stream(df, time=time, lifetime="until" if lived else None)
        windowed = rows.key_by("key").window(window)
        if only:
            windowed = windowed.changes_only()
        return windowed.agg(F.sort_array(F.collect_list("n")).alias("rows"))

    return pipeline


def shown(results: Sequence[Row]) -> list[tuple[Any, ...]]:
    return sorted((r["key"], r["window"]["start"], tuple(r["rows"])) for r in results)


def changed(results: Sequence[Row], window: Any) -> list[tuple[Any, ...]]:
    """The results whose rows are not those of the window before, by the definition."""
    slide = getattr(window, "slide", window.size)
    rows = {(r["key"], r["window"]["start"]): tuple(r["rows"]) for r in results}
    return sorted(
        (key, start, held)
        for (key, start), held in rows.items()
        if rows.get((key, start - slide)) != held
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("window", "lived", "repeats"), CASES, ids=repr)
def test_windows_with_the_rows_of_the_window_before_are_left_out(
    spark: SparkSession, window: transom.Window, *, lived: bool, repeats: bool
) -> None:
    df = spark.createDataFrame(as_input(reports()[:400]), SCHEMA)
    every = counted(window, lived=lived, only=False)(df).collect()
    expected = changed(every, window)
    assert len(expected) > 0
    assert (len(expected) < len(every)) == repeats
    assert shown(counted(window, lived=lived, only=True)(df).collect()) == expected


def test_a_stream_that_starts_again_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    rows = reports()[:400]
    pipeline = counted(HOPS, lived=True, only=True, delay="400 days")
    # The last row closes the windows of all others.
    later = as_input(rows[-1:])[0][2] + timedelta(days=500)
    batches = [*map(as_input, in_batches_of(rows, 6)), [(0, "closing", later, later, 0)]]
    found: list[Row] = []
    for part in (batches[:3], batches[3:]):
        found += run_stream(spark, pipeline, SCHEMA, part, checkpoint=tmp_path).results
    df = spark.createDataFrame(as_input(rows), SCHEMA)
    every = counted(HOPS, lived=True, only=False)(df).collect()
    assert len(found) > 100
    assert shown(found) == changed(every, HOPS)


def test_explain_names_the_layout(spark: SparkSession) -> None:
    df = spark.createDataFrame(as_input(reports()[:10]), SCHEMA)
    text = transom.explain(counted(HOURS, lived=False, only=True)(df))
    assert "keyed: needed for changes_only()" in text


def test_the_step_cannot_be_added_over_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    def batch(minute: int) -> list[tuple[Any, ...]]:
        start = datetime(2024, 1, 1, 12, minute)
        return [("a", start, start + timedelta(minutes=5), minute)]

    schema = "key string, start timestamp, until timestamp, n int"
    every = counted(HOPS, lived=True, only=False, delay="0 seconds")
    run_stream(spark, every, schema, [batch(1)], checkpoint=tmp_path)
    changes = counted(HOPS, lived=True, only=True, delay="0 seconds")
    with pytest.raises(StreamingQueryException, match=r"TRANSOM_SPEC_CHANGED.*changes_only"):
        run_stream(spark, changes, schema, [batch(2)], checkpoint=tmp_path)
