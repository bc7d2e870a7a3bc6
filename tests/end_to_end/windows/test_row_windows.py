"""Sessions with a gap for each row, and `Custom` windows that each row lists."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import Step, bounds, kept, run_clocked
from tests.end_to_end.support.queries import Outcome


def run(
    spark: SparkSession,
    window: transom.Window,
    steps: list[Step],
    checkpoint: Path | None = None,
) -> Outcome:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(window).with_late_rows()
        return windowed.agg(F.sort_array(F.collect_list("value")).alias("values"))

    return run_clocked(spark, pipeline, steps, checkpoint=checkpoint)


def results(outcome: Outcome) -> list[tuple[tuple[float, float], list[int]]]:
    return sorted((bounds(row), row["values"]) for row in outcome.results)


def test_a_gap_of_its_own_reaches_forward_only(spark: SparkSession, tmp_path: Path) -> None:
    gap = F.make_dt_interval(secs=F.col("value"))
    steps: list[Step] = [
        # The second row has a shorter gap, which moves no end back. The third row is one gap away.
        [("a", 1, 9), ("a", 2, 1), ("a", 10, 2), ("a", 12.5, 3)],
        [("b", 1, 0), ("b", 2, -1), ("b", 3, 1)],
        30,
        [("a", 4, 5)],
    ]
    outcome = run(spark, transom.Session(gap=gap), steps, tmp_path)
    assert results(outcome) == [((1, 12), [1, 2, 9]), ((3, 4), [1]), ((12.5, 15.5), [3])]
    assert outcome.observed()["transom_rows_with_bad_windows"] == 2
    assert [row["reason"] for row in outcome.late] == ["late_session"]
    assert kept(spark, tmp_path) == {}


def listed(*spans: str) -> transom.Custom:
    """Windows that start at the time of the row. The expressions are their lengths in seconds."""
    each = ", ".join(
        f"named_struct('start', time, 'end', time + make_dt_interval(0, 0, 0, {span}))"
        for span in spans
    )
    return transom.Custom(windows=F.expr(f"array({each})"))


def test_a_row_is_in_the_windows_that_it_lists(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [[("a", 1, 3), ("a", 1, 5), ("b", 2, 1)], 20, [("a", 1, 4)]]
    outcome = run(spark, listed("3", "value"), steps, tmp_path)
    assert results(outcome) == [
        ((1, 4), [3, 5]),
        ((1, 6), [5]),
        ((2, 3), [1]),
        ((2, 5), [1]),
    ]
    assert [row["row"]["value"] for row in outcome.late] == [4]
    assert len(outcome.late[0]["missed_windows"]) == 2
    assert kept(spark, tmp_path) == {}


def test_rows_whose_windows_are_empty_are_counted(spark: SparkSession) -> None:
    outcome = run(spark, listed("value"), [[("a", 1, 0), ("a", 1, -1), ("a", 1, 2)], 9])
    assert results(outcome) == [((1, 3), [2])]
    assert outcome.observed()["transom_rows_with_bad_windows"] == 2


def test_windows_of_rows_that_overlap_become_one(spark: SparkSession) -> None:
    merging = transom.Custom(windows=listed("value").windows, merging=True)
    outcome = run(spark, merging, [[("a", 1, 3), ("a", 3, 4), ("a", 9, 1)], 20])
    assert results(outcome) == [((1, 7), [3, 4]), ((9, 10), [1])]


def test_a_row_that_lists_no_windows_is_in_a_gap(spark: SparkSession) -> None:
    second = "named_struct('start', time, 'end', time + INTERVAL 1 SECOND)"
    some = transom.Custom(F.expr(f"filter(array({second}), _ -> value > 0)"))
    outcome = run(spark, some, [[("a", 1, 0), ("a", 1, 2)], 9])
    assert results(outcome) == [((1, 2), [2])]
    observed = outcome.observed()
    assert observed["transom_rows_in_gaps"] == 1
    assert observed["transom_rows_with_bad_windows"] == 0
