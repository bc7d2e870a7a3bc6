"""Slices of sessions keep few runs, also with late rows and with sessions that grow."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.state.test_compaction import (
    BATCHES,
    MOST_RUNS,
    SCHEMA,
    at,
    counted,
    most_runs,
)
from tests.end_to_end.support.queries import run_stream

HOURS = transom.Session(gap="1 hour")


def pipeline(rows: DataFrame) -> DataFrame:
    return counted(HOURS, rows)


def test_late_rows_that_join_a_session_leave_few_segments(
    spark: SparkSession, tmp_path: Path
) -> None:
    # The session began at 50 and is open. The watermark is at 90.
    first = [[(0, at(50), 1), (0, at(100), 1)], [(1, at(90 + 120), 1)]]
    # These rows are an hour behind the watermark, but touch the session.
    late = [[(0, at(20), 1)] for _ in range(BATCHES)]
    run_stream(spark, pipeline, SCHEMA, [*first, *late], checkpoint=tmp_path)
    assert most_runs(spark, tmp_path) <= MOST_RUNS + 1


def test_sessions_that_move_on_leave_few_segments(spark: SparkSession, tmp_path: Path) -> None:
    # Sessions of many keys continue in the next slice. Their first parts end one after another.
    first = [[(key, at(minute), 1) for key in range(40) for minute in (key + 5, key + 60)]]
    # Each batch moves the watermark by a minute.
    moving = [[(1000, at(60 + minute + 120), 1)] for minute in range(BATCHES)]
    run_stream(spark, pipeline, SCHEMA, [*first, *moving], checkpoint=tmp_path)
    assert most_runs(spark, tmp_path) <= MOST_RUNS + 1
