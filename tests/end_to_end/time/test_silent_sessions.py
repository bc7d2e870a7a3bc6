"""Sessions that the wall clock closes, and the rows that come after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds
from tests.end_to_end.time.test_idle import Step, run

# The wall clock is an hour after the rows, so only silence counts.
LATER = 3_600
STEPS: list[Step] = [
    (LATER, [(0, 0)]),
    (LATER + 3, []),
    (LATER + 10, [(1, 3)]),
    (LATER + 13, []),
]


def sessions(spark: SparkSession, folder: Path, *, lateness: str = "", **session: Any) -> list[Any]:
    """The results and late rows of each step."""

    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.TimePolicy("at"))
        windowed = stream.window(transom.Session("5 seconds", **session))
        if lateness:
            windowed = windowed.allowed_lateness(lateness)
        windowed = windowed.idle_timeout("3 seconds").with_pane().with_late_rows()
        return windowed.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    def shown(row: Row) -> Any:
        if row["tag"] == "late":
            return ("late", row["late"]["reason"])
        result = row["results"]
        return (*bounds(result), result["seqs"], result["pane"]["cause"])

    return [[shown(row) for row in rows] for rows in run(spark, folder, pipeline, STEPS)]


def test_a_row_after_an_idle_session_begins_a_session_that_overlaps_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert sessions(spark, tmp_path) == [
        [],
        [(0, 5, [0], "idle")],
        [],
        [(3, 8, [1], "idle")],
    ]


def test_a_row_after_an_idle_session_is_late_if_it_begins_behind_the_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert sessions(spark, tmp_path, late_start="reject") == [
        [],
        [(0, 5, [0], "idle")],
        [("late", "late_session")],
        [],
    ]


def test_a_row_within_the_lateness_joins_an_idle_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert sessions(spark, tmp_path, lateness="1 minute") == [
        [],
        [(0, 5, [0], "idle")],
        [],
        [(0, 8, [0, 1], "idle")],
    ]


def test_an_estimated_arrival_moves_an_old_row_to_the_wall_clock(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("at", late=transom.Adjust("5 seconds"), estimate_arrival=True)
        return (
            transom.stream(rows, time=policy)
            .window(transom.Session("5 seconds"))
            .agg(n=F.count("*"))
        )

    steps: list[Step] = [(LATER, [(0, 0)]), (LATER + 4, []), (LATER + 5, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    # The row is adjusted to 5 seconds before its arrival.
    found = [[(*bounds(row), row["n"]) for row in rows] for rows in emitted]
    assert found == [[], [], [(LATER - 5, LATER, 1)]]
