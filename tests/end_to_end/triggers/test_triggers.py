"""Triggers in real queries: when windows fire, and which rows their results contain."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.clocked import Step, bounds, instant, kept, run_clocked, seconds

TEN = transom.Tumbling(size="10 seconds")
SESSION = transom.Session(gap="3 seconds")


def values() -> Column:
    return F.collect_list("value").alias("values")


def fired(
    spark: SparkSession,
    window: transom.Window,
    trigger: transom.Trigger | None,
    steps: list[Step],
    checkpoint: Path | None = None,
) -> list[tuple[str, float, list[int]]]:
    """Key, end and values of each result, in the order of the results."""

    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(window)
        return (windowed if trigger is None else windowed.trigger(trigger)).agg(values())

    outcome = run_clocked(spark, pipeline, steps, checkpoint=checkpoint)
    return [
        (row["key"], -1 if row["window"] is None else bounds(row)[1], row["values"])
        for row in outcome.results
    ]


def test_a_count_fires_each_time_with_all_rows_so_far(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [
        [("a", 1, 1), ("b", 1, 2), ("a", 2, 3)],
        [("a", 3, 4)],
        [("a", 4, 5), ("a", 11, 6)],
        20,
    ]
    assert fired(spark, TEN, transom.AfterCount(2), steps, tmp_path) == [
        ("a", 10, [1, 3]),
        ("a", 10, [1, 3, 4, 5]),
    ]
    assert kept(spark, tmp_path) == {}


def test_what_purges_starts_anew(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [[("a", n, n)] for n in range(5)]
    trigger = transom.Purging(transom.AfterCount(2))
    assert fired(spark, transom.Global(), trigger, steps, tmp_path) == [
        ("a", -1, [0, 1]),
        ("a", -1, [2, 3]),
    ]
    # The fifth row is in the state, without a timer.
    assert kept(spark, tmp_path) == {"keys": 1}


def test_a_purged_key_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [[("a", n, n)] for n in range(4)]
    fired(spark, transom.Global(), transom.Purging(transom.AfterCount(2)), steps, tmp_path)
    assert kept(spark, tmp_path) == {}


def test_early_results_come_before_the_one_at_the_end(spark: SparkSession) -> None:
    trigger = transom.AfterWatermark(early=transom.AfterCount(2))
    steps: list[Step] = [[("a", 1, 1), ("a", 2, 2), ("a", 3, 3)], 10]
    assert fired(spark, TEN, trigger, steps) == [("a", 10, [1, 2]), ("a", 10, [1, 2, 3])]


def test_regular_results_come_at_multiples_of_the_interval(spark: SparkSession) -> None:
    window = transom.Tumbling(size="20 seconds")
    steps: list[Step] = [
        [("a", 1, 1)],
        5,  # one tick too early: the trigger fires when no row at 5 can come
        5.001,
        [("a", 6, 2)],
        10.001,
        [("a", 12, 3)],
        20,
    ]
    # When the watermark jumps to 20, two timers expire. Both results contain all rows.
    assert fired(spark, window, transom.Every("5 seconds"), steps) == [
        ("a", 20, [1]),
        ("a", 20, [1, 2]),
        ("a", 20, [1, 2, 3]),
        ("a", 20, [1, 2, 3]),
    ]


def test_each_batch_gives_the_windows_that_it_changed(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [
        [("a", 1, 1), ("a", 2, 2), ("a", 11, 3), ("b", 1, 4)],
        [("a", 3, 5)],
        [("b", 4, 6)],
        20,
    ]
    results = fired(spark, TEN, transom.EveryBatch(), steps, tmp_path)
    assert sorted(results[:3]) == [("a", 10, [1, 2]), ("a", 20, [3]), ("b", 10, [4])]
    assert results[3:] == [("a", 10, [1, 2, 5]), ("b", 10, [4, 6])]
    assert kept(spark, tmp_path) == {}


def test_never_gives_nothing_and_forgets_windows_all_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert fired(spark, TEN, transom.Never(), [[("a", 1, 1)], 10], tmp_path) == []
    assert kept(spark, tmp_path) == {}


@pytest.mark.parametrize(("partial", "in_gaps"), [(False, 3), (True, 0)])
def test_rows_between_windows_of_rows_are_counted_as_in_gaps(
    spark: SparkSession,
    partial: bool,  # noqa: FBT001, a parameter of the test
    in_gaps: int,
) -> None:
    """Windows of two rows that start every three rows: each third row is in a gap."""

    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(transom.Count(size=2, slide=3, partial=partial)).agg(values())

    rows: Step = [("a", n, n) for n in range(7)] + [("b", n, 10 + n) for n in range(3)]
    outcome = run_clocked(spark, pipeline, [rows])
    assert sorted((row["key"], row["values"]) for row in outcome.results) == (
        # After every three rows, a partial window contains the last two.
        [("a", [1, 2]), ("a", [4, 5]), ("b", [11, 12])]
        if partial
        else [("a", [0, 1]), ("a", [3, 4]), ("b", [10, 11])]
    )
    assert outcome.observed()["transom_rows_in_gaps"] == in_gaps
    assert outcome.observed()["transom_rows_late"] == 0


def test_full_windows_of_rows_have_numbers_and_the_times_of_their_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(transom.Count(size=3, slide=2)).with_pane().agg(values())

    rows: list[Step] = [[("a", 10 - n, n)] for n in range(6)]
    results = run_clocked(spark, pipeline, rows, checkpoint=tmp_path).results
    assert [(bounds(row), row["pane"]["number"], row["values"]) for row in results] == [
        ((8, 10), 0, [0, 1, 2]),
        ((6, 8), 1, [2, 3, 4]),
    ]
    assert {(row["pane"]["cause"], row["pane"]["is_last"]) for row in results} == {("rows", True)}


def test_partial_windows_of_rows_hold_the_last_ones(spark: SparkSession) -> None:
    window = transom.Count(size=3, slide=2, partial=True)
    steps: list[Step] = [[("a", n, n)] for n in range(7)]
    assert [last for *_, last in fired(spark, window, None, steps)] == [
        [0, 1],
        [1, 2, 3],
        [3, 4, 5],
    ]

    def panes(stream: transom.Stream) -> DataFrame:
        return stream.window(window).with_pane().agg(values())

    found = [row["pane"] for row in run_clocked(spark, panes, steps).results]
    shown = [(pane["index"], pane["timing"], pane["number"]) for pane in found]
    assert shown == [(0, "early", None), (1, "early", None), (2, "early", None)]


def test_changed_results_are_taken_back_and_repeated_ones_not_sent(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        trigger = transom.AfterWatermark(early=transom.AfterCount(1))
        return stream.window(TEN).trigger(trigger).retract().agg(F.max("value").alias("largest"))

    steps: list[Step] = [[("a", 1, 1), ("a", 2, 5)], [("a", 3, 2)], 10]
    results = run_clocked(spark, pipeline, steps).results
    assert [(row["change"], row["largest"]) for row in results] == [("+I", 1), ("-U", 1), ("+U", 5)]


def test_evictors_keep_rows_and_leave_none_behind(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(TEN).evictor(transom.KeepLast(2)).agg(values())

    rows: list[Step] = [[("a", n, n) for n in range(5)]]
    assert run_clocked(spark, pipeline, rows, checkpoint=tmp_path).results == []
    assert kept(spark, tmp_path)["rows"] == 5
    results = run_clocked(spark, pipeline, [10], checkpoint=tmp_path).results
    assert [row["values"] for row in results] == [[3, 4]]
    assert kept(spark, tmp_path) == {}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "trigger",
    [
        transom.AfterCount(3),
        transom.AfterWatermark(early=transom.Every("2 seconds")),
        transom.Purging(transom.AfterWatermark(early=transom.AfterCount(2))),
        transom.Every("3 seconds", aligned=False),
    ],
    ids=lambda trigger: type(trigger).__name__,
)
@pytest.mark.parametrize("window", [TEN, SESSION], ids=["grid", "session"])
def test_a_restart_anywhere_changes_nothing(
    spark: SparkSession, tmp_path: Path, window: transom.Window, trigger: transom.Trigger
) -> None:
    if not LONG and (window is TEN) == isinstance(trigger, transom.Every | transom.Purging):
        pytest.skip("make check-long runs all pairs")
    steps: list[Step] = [
        [("a", 1, 1), ("b", 2, 2), ("a", 5, 3)],
        [("a", 3, 4), ("b", 8, 5)],
        7,
        [("b", 12, 6), ("a", 9, 7), ("a", 9.5, 8)],
        30,
    ]
    at_once = fired(spark, window, trigger, steps)
    one_by_one = [
        result for step in steps for result in fired(spark, window, trigger, [step], tmp_path)
    ]
    assert at_once
    assert sorted(one_by_one) == sorted(at_once)
    assert kept(spark, tmp_path) == {}


def test_draining_fires_what_waits_for_the_end(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(transom.Global()).trigger(transom.EndOfStream())
        return windowed.drain().with_pane().agg(values())

    outcome = run_clocked(spark, pipeline, [[("a", 1, 1)], 5, [("a", 6, 2)]], checkpoint=tmp_path)
    assert [(row["values"], row["pane"]) for row in outcome.results] == [
        ([1, 2], Row(index=0, timing="on_time", is_last=True, number=None, cause="drain"))
    ]
    assert kept(spark, tmp_path) == {}


def test_draining_forgets_windows_without_end(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(transom.Global()).trigger(transom.AfterCount(2)).drain().agg(values())

    rows: list[Step] = [[("a", 1, 1), ("b", 1, 2)], [("a", 2, 3)]]
    outcome = run_clocked(spark, pipeline, rows, checkpoint=tmp_path)
    assert [row["values"] for row in outcome.results] == [[1, 3]]
    assert kept(spark, tmp_path) == {}


def test_a_static_dataframe_is_one_batch_at_whose_end_time_ends(spark: SparkSession) -> None:
    rows = [("a", instant(n), n) for n in (1, 2, 3, 11)]
    df = spark.createDataFrame(rows, "key string, time timestamp, value int").coalesce(1)
    trigger = transom.AfterWatermark(early=transom.AfterCount(2))
    result = (
        transom.stream(df, time="time").key_by("key").window(TEN).trigger(trigger).agg(values())
    )
    assert [(bounds(row)[1], row["values"]) for row in result.collect()] == [
        (10, [1, 2]),
        (10, [1, 2, 3]),
        (20, [11]),
    ]


def test_rows_come_in_the_order_that_is_asked_for(spark: SparkSession) -> None:
    rows = [(key, instant(n), n) for n in range(40) for key in ("a", "b")]
    df = spark.createDataFrame(rows[::-1], "key string, time timestamp, value int").repartition(4)
    windows = transom.stream(df, time="time", order="value").key_by("key")
    result = windows.window(transom.Count(size=10)).agg(values(), F.min("time").alias("first"))
    assert sorted((row["key"], row["values"]) for row in result.collect()) == [
        (key, list(range(n, n + 10))) for key in ("a", "b") for n in range(0, 40, 10)
    ]
    assert {seconds(row["first"]) for row in result.collect()} == {0, 10, 20, 30}
