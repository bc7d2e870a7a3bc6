"""Windows over a time policy while no rows come: the wall clock acts instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds
from tests.end_to_end.support.clocked import instant as at
from tests.end_to_end.support.wall_clock import run_dated

SCHEMA = "seq int, at timestamp, source string"
Pipeline = Callable[[DataFrame], DataFrame]
# The time of the wall clock, and the rows that come at this time.
Step = tuple[float, Sequence[tuple[int, float]]]


def run(
    spark: SparkSession,
    folder: Path,
    pipeline: Pipeline,
    steps: Sequence[Step],
    *,
    files_per_batch: int = 1000,
) -> list[list[Row]]:
    """Run a query over the steps, and return the rows that it emits after each step."""
    timed = [(now, [(seq, at(time), f"{seq % 2}") for seq, time in rows]) for now, rows in steps]
    return run_dated(spark, pipeline, SCHEMA, timed, folder=folder, files_per_batch=files_per_batch)


def counts(
    rows: DataFrame,
    timeout: str,
    *,
    rule: Any = "after_window_end",
    window: transom.Window | None = None,
    **settings: Any,
) -> DataFrame:
    chosen = transom.Tumbling(size="10 seconds") if window is None else window
    windowed = transom.stream(rows, time=transom.TimePolicy("at", **settings)).window(chosen)
    return windowed.idle_timeout(timeout, rule=rule).agg(
        F.sort_array(F.collect_list("seq")).alias("seqs")
    )


def fired(steps: Sequence[Sequence[Row]]) -> list[list[tuple[float, float, list[int]]]]:
    return [sorted((*bounds(row), row["seqs"]) for row in rows) for rows in steps]


def test_nothing_times_out_while_the_source_has_a_backlog(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps: list[Step] = [
        (5, [(0, 3)]),
        # The query was down for a day. Its three rows come in batches of their own.
        (86_400, [(1, 4), (2, 5), (3, 6)]),
        (86_405, []),
        (86_410, []),
    ]
    emitted = run(
        spark, tmp_path, lambda rows: counts(rows, "10 seconds"), steps, files_per_batch=1
    )
    assert fired(emitted) == [[], [], [], [(0, 10, [0, 1, 2, 3])]]


def test_rows_behind_a_window_that_closed_in_silence_are_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        by_time = transom.stream(rows, time=transom.TimePolicy("at"))
        windowed = by_time.window(transom.Tumbling(size="10 seconds"))
        return windowed.idle_timeout("5 seconds").with_late_rows().agg(F.count("*").alias("n"))

    steps: list[Step] = [(11, [(0, 3)]), (16, []), (17, [(1, 9)]), (18, [(2, 10)])]
    emitted = run(spark, tmp_path, pipeline, steps)
    late = [[row["late"]["row"]["seq"] for row in rows if row["tag"] == "late"] for rows in emitted]
    assert late == [[], [], [1], []]
    closed = [[row["results"]["n"] for row in rows if row["tag"] == "results"] for rows in emitted]
    assert closed == [[], [1], [], []]


def test_a_window_over_windows_closes_too(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        first = counts(rows, "5 seconds")
        second = transom.stream(first, time=transom.TimePolicy("window.end"))
        minutes = second.window(transom.Tumbling(size="1 minute")).idle_timeout("5 seconds")
        return minutes.agg(F.flatten(F.collect_list("seqs")).alias("seqs"))

    steps: list[Step] = [(11, [(0, 3)]), (16, []), (64, []), (65, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    assert fired(emitted) == [[], [], [], [(0, 60, [0])]]


def test_a_silent_partition_no_longer_holds_windows_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.TimePolicy("at", partition="source", idle_partition="20 seconds")
        windowed = transom.stream(rows, time=time).window(transom.Tumbling(size="10 seconds"))
        return windowed.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    # Rows with even numbers are in one partition, rows with odd numbers in the other.
    steps: list[Step] = [(0, [(0, 1), (1, 2)]), (15, [(2, 15)]), (19, []), (20, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    assert fired(emitted) == [[], [], [], [(0, 10, [0, 1])]]


def test_the_watermark_moves_on_with_the_estimated_arrival(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.TimePolicy("at", late=transom.Adjust("5 seconds"), estimate_arrival=True)
        windowed = transom.stream(rows, time=time).window(transom.Tumbling(size="10 seconds"))
        return windowed.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    # The row arrives at its batch's time, 8. The estimate is then that of the wall clock.
    steps: list[Step] = [(8, [(0, 7)]), (14, []), (15, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    assert fired(emitted) == [[], [], [(0, 10, [0])]]
