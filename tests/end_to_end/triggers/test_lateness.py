"""Allowed lateness in real queries: late rows, late firings, and the end of windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import Step, bounds, kept, run_clocked, seconds
from tests.end_to_end.support.queries import Outcome

TEN = transom.Tumbling(size="10 seconds")


def run(
    spark: SparkSession,
    window: transom.Window,
    steps: list[Step],
    *,
    partly: bool = False,
    trigger: transom.Trigger | None = None,
    checkpoint: Path | None = None,
) -> Outcome:
    """Run windows with an allowed lateness of 5 seconds."""

    def pipeline(stream: transom.Stream) -> DataFrame:
        kept = stream.window(window).allowed_lateness("5 seconds").with_late_rows(partly=partly)
        kept = kept if trigger is None else kept.trigger(trigger)
        return kept.agg(F.sort_array(F.collect_list("value")).alias("values"))

    return run_clocked(spark, pipeline, steps, checkpoint=checkpoint)


def results(outcome: Outcome) -> list[tuple[tuple[float, float], list[int]]]:
    return [(bounds(row), row["values"]) for row in outcome.results]


def late(outcome: Outcome) -> list[tuple[int, str]]:
    return [(row["row"]["value"], row["reason"]) for row in outcome.late]


def test_a_row_within_the_lateness_fires_its_window_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps: list[Step] = [[("a", 1, 1)], 10, [("a", 2, 2), ("a", 3, 3)], 14.999, [("a", 4, 4)]]
    outcome = run(spark, TEN, [*steps, 15], checkpoint=tmp_path)
    assert results(outcome) == [
        ((0, 10), [1]),
        ((0, 10), [1, 2]),
        ((0, 10), [1, 2, 3]),
        ((0, 10), [1, 2, 3, 4]),
    ]
    assert late(outcome) == []
    assert kept(spark, tmp_path) == {}


def test_a_row_is_late_once_the_watermark_has_passed_the_end_by_the_lateness(
    spark: SparkSession,
) -> None:
    outcome = run(spark, TEN, [[("a", 1, 1)], 15, [("a", 9.999, 2), ("b", 10, 3)]])
    assert results(outcome) == [((0, 10), [1])]
    assert late(outcome) == [(2, "late")]
    (row,) = outcome.late
    assert seconds(row["time"]) == 9.999
    assert seconds(row["watermark"]) == 15
    assert [(seconds(w["start"]), seconds(w["end"])) for w in row["missed_windows"]] == [(0, 10)]
    assert outcome.observed()["transom_rows_late"] == 1


def test_a_window_that_is_new_after_its_end_fires_at_once(spark: SparkSession) -> None:
    outcome = run(spark, TEN, [[("a", 11, 1)], 12, [("b", 5, 2)]])
    assert results(outcome) == [((0, 10), [2])]


def test_a_row_of_overlapping_windows_is_in_those_that_are_kept(spark: SparkSession) -> None:
    window = transom.Hopping(size="10 seconds", slide="5 seconds")
    outcome = run(spark, window, [[("a", 20, 1)], 16, [("a", 6, 2)]], partly=True)
    # The window [0, 10) is dropped. The window [5, 15) has fired.
    assert results(outcome) == [((5, 15), [2])]
    assert late(outcome) == [(2, "late_partly")]
    assert outcome.observed()["transom_rows_late_partly"] == 1
    assert outcome.observed()["transom_rows_late"] == 0


def test_of_rows_that_are_folded_on_their_way_only_those_behind_the_watermark_fire(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        hops = stream.window(transom.Hopping(size="10 seconds", slide="5 seconds"))
        kept = hops.allowed_lateness("5 seconds").with_late_rows(partly=True).with_pane()
        return kept.agg(F.count("*").alias("n"), F.sum("value").alias("total"))

    steps: list[Step] = [
        [("a", 1, 1), ("a", 2, 2), ("a", 6, 3), ("a", 7, 4), ("b", 8, 5)],
        11,
        # [-5, 5) is dropped, [0, 10) has fired, [5, 15) and [10, 20) have not fired.
        [("a", 6, 10), ("a", 4, 20), ("a", 12, 30), ("a", 8, 40), ("a", 13, 50)],
        30,
    ]
    outcome = run_clocked(spark, pipeline, steps, checkpoint=tmp_path)
    got = [(*bounds(row), row["n"], row["total"]) for row in outcome.results if row["key"] == "a"]
    assert got == [
        (-5, 5, 2, 3),
        (0, 10, 4, 10),
        (0, 10, 5, 20),
        (0, 10, 6, 40),
        (0, 10, 7, 80),
        (5, 15, 6, 137),
        (10, 20, 2, 80),
    ]
    assert [row["pane"]["timing"] for row in outcome.results if row["key"] == "b"] == [
        "on_time"
    ] * 2
    assert late(outcome) == [(20, "late_partly")]
    assert kept(spark, tmp_path) == {}


def test_a_late_row_joins_sessions_that_have_fired(spark: SparkSession, tmp_path: Path) -> None:
    window = transom.Session(gap="3 seconds")
    steps: list[Step] = [[("a", 1, 1), ("a", 4.5, 2)], 8, [("a", 4, 3)], 30]
    outcome = run(spark, window, steps, checkpoint=tmp_path)
    assert results(outcome) == [((1, 4), [1]), ((4.5, 7.5), [2]), ((1, 7.5), [1, 2, 3])]
    assert kept(spark, tmp_path) == {}


def test_a_late_row_of_no_open_session_is_late(spark: SparkSession) -> None:
    window = transom.Session(gap="3 seconds")
    outcome = run(spark, window, [[("a", 20, 1)], 12, [("a", 4, 2), ("b", 20, 3)]])
    assert late(outcome) == [(2, "late_session")]


@pytest.mark.parametrize("again", [None, transom.AfterCount(2)], ids=["not", "every second row"])
def test_late_rows_fire_as_the_trigger_says(
    spark: SparkSession, again: transom.Trigger | None
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(TEN).trigger(transom.AfterWatermark(late=again))
        return windowed.allowed_lateness("5 seconds").agg(F.count("*").alias("rows"))

    steps: list[Step] = [[("a", 1, 1)], 10, [("a", n, n) for n in range(5)], 15]
    counted = [row["rows"] for row in run_clocked(spark, pipeline, steps).results]
    assert counted == ([1] if again is None else [1, 3, 5])


def test_purged_windows_give_late_rows_alone(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(TEN).trigger(transom.Purging(transom.AfterWatermark()))
        return windowed.allowed_lateness("5 seconds").agg(F.count("*").alias("rows"))

    steps: list[Step] = [[("a", 1, 1), ("a", 2, 2)], 10, [("a", 3, 3)], 15]
    assert [row["rows"] for row in run_clocked(spark, pipeline, steps).results] == [2, 1]


def test_after_the_lateness_a_window_fires_once(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [[("a", 1, 1)], 10, [("a", 2, 2)], 14.999, [("a", 4, 4)], 15]
    late_again: list[Step] = [[("a", 9, 5), ("b", 11, 6)], 20]
    trigger = transom.AfterLateness()
    outcome = run(spark, TEN, [*steps, *late_again], trigger=trigger, checkpoint=tmp_path)
    assert results(outcome) == [((0, 10), [1, 2, 4])]
    assert late(outcome) == [(5, "late")]
    assert sum(kept(spark, tmp_path).values()) > 0
    last = run(spark, TEN, [25], trigger=trigger, checkpoint=tmp_path)
    assert results(last) == [((10, 20), [6])]
    assert kept(spark, tmp_path) == {}


def test_after_the_lateness_a_session_fires_once(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [[("a", 1, 1), ("a", 4.5, 2)], 8.999, [("a", 4, 3)], 12.499]
    late_again: list[Step] = [[("a", 7.5, 4)], 15.5, [("a", 7, 5)]]
    outcome = run(
        spark,
        transom.Session(gap="3 seconds"),
        [*steps, *late_again],
        trigger=transom.AfterLateness(),
        checkpoint=tmp_path,
    )
    # Without the row at 7.5, the session would end at 7.5 and fire at 12.5.
    assert results(outcome) == [((1, 10.5), [1, 2, 3, 4])]
    assert late(outcome) == [(5, "late_session")]
    assert kept(spark, tmp_path) == {}


def test_after_the_lateness_windows_have_rows_that_were_merged_before_the_exchange(
    spark: SparkSession,
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        hops = stream.window(transom.Hopping(size="10 seconds", slide="5 seconds"))
        final = hops.allowed_lateness("5 seconds").trigger(transom.AfterLateness())
        kept = final.with_late_rows(partly=True)
        return kept.agg(F.count("*").alias("n"), F.sum("value").alias("total"))

    steps: list[Step] = [
        [("a", 1, 1), ("a", 2, 2), ("a", 6, 3), ("a", 7, 4)],
        11,
        # [-5, 5) has fired, [0, 10) has ended, [5, 15) and [10, 20) are still open.
        [("a", 6, 10), ("a", 4, 20), ("a", 12, 30), ("a", 8, 40), ("a", 13, 50)],
        30,
    ]
    outcome = run_clocked(spark, pipeline, steps)
    assert [(*bounds(row), row["n"], row["total"]) for row in outcome.results] == [
        (-5, 5, 2, 3),
        (0, 10, 7, 80),
        (5, 15, 6, 137),
        (10, 20, 2, 80),
    ]
    assert late(outcome) == [(20, "late_partly")]
