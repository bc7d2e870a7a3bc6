"""A wall clock that is set back and ahead, as by a repair of the machine's time.

Times are seconds since `START`.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds
from tests.end_to_end.support.wall_clock import Step, run_on_clock
from tests.end_to_end.time.test_idle import Step as IdleStep
from tests.end_to_end.time.test_idle import counts, fired, run

YEAR = 366 * 86_400


def test_windows_of_processing_time_open_and_fire_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.ProcessingTime()).key_by("key")
        tens = stream.window(transom.Tumbling("10 seconds"))
        return tens.agg(F.sort_array(F.collect_list("value")).alias("values"))

    steps: list[Step] = [
        3,
        [("a", 1), ("b", 2)],
        10,
        # The clock goes back. The window of ten seconds has fired, and opens again.
        4,
        [("a", 3)],
        9,
        11,
        [("b", 4)],
        # A year ahead, all windows end. Back again, rows are in the windows of their time.
        YEAR,
        [("b", 5)],
        12,
        [("a", 6)],
        YEAR + 20,
    ]
    given = run_on_clock(spark, pipeline, "key string, value int", steps, folder=tmp_path)
    found = [[(row["key"], *bounds(row), row["values"]) for row in rows] for rows in given]
    year = YEAR // 10 * 10
    assert [sorted(rows) for rows in found] == [
        [],
        [],
        [("a", 0, 10, [1]), ("b", 0, 10, [2])],
        [],
        [],
        [],
        [("a", 0, 10, [3])],
        [],
        [("b", 10, 20, [4])],
        [],
        [],
        [],
        [("a", 10, 20, [6]), ("b", year, year + 10, [5])],
    ]


def test_an_idle_timeout_closes_each_window_once(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[IdleStep] = [
        (103, [(0, 3)]),
        # The clock goes back by more than the timeout before the window is idle.
        (50, []),
        (57, [(1, 4)]),
        (58, []),
        (200, []),
        (YEAR, [(2, 25)]),
        (100, [(3, 26)]),
        (2 * YEAR, []),
    ]
    emitted = run(spark, tmp_path, lambda rows: counts(rows, "5 seconds"), steps)
    assert [window for rows in fired(emitted) for window in rows] == [
        (0, 10, [0, 1]),
        (20, 30, [2, 3]),
    ]
