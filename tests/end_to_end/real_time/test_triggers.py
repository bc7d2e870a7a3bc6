"""Triggers in Real-Time Mode: when windows fire, and which rows their results contain.

A row may fire its window before the watermark moves, and it does so in the order of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds, instant, seconds
from tests.end_to_end.support.queries import Outcome
from tests.end_to_end.support.real_time import Values, run_real_time

SCHEMA = "key string, time timestamp, value int"
TEN = transom.Tumbling("10 seconds")

Steps = Callable[[transom.Windowed], transom.Windowed]


def at(*rows: tuple[str, float, int]) -> list[Values]:
    return [(key, instant(time), value) for key, time, value in rows]


def of_a(*times: float) -> list[Values]:
    """Rows of one key, whose values are 1, 2, and so on."""
    return at(*(("a", time, number) for number, time in enumerate(times, 1)))


def run(
    spark: SparkSession,
    checkpoint: Path,
    window: transom.Window,
    steps: Steps,
    *batches: Sequence[Sequence[Values]],
) -> Outcome:
    """Run a query without a delay. Each batch has the rows of each source."""

    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        windowed = stream.key_by("key").window(window)
        return steps(windowed).agg(F.collect_list("value").alias("values"))

    return run_real_time(spark, pipeline, SCHEMA, batches, checkpoint)


def values(rows: Sequence[Row]) -> list[tuple[str, float, list[int]]]:
    """Key, end and values of each result, in the order of the results."""
    return [
        (row["key"], -1 if row["window"] is None else bounds(row)[1], row["values"]) for row in rows
    ]


# The window and its steps, the times of the rows of one key, and the results.
BY_HAND: dict[str, tuple[transom.Window, Steps, list[float], list[tuple[float, list[int]]]]] = {
    "a count": (
        TEN,
        lambda w: w.trigger(transom.AfterCount(2)),
        [1, 2, 3, 4, 11, 12, 13],
        [(10, [1, 2]), (10, [1, 2, 3, 4]), (20, [5, 6])],
    ),
    "a count that purges": (
        transom.Global(),
        lambda w: w.trigger(transom.Purging(transom.AfterCount(2))),
        [1, 2, 3, 4, 5],
        [(-1, [1, 2]), (-1, [3, 4])],
    ),
    "windows of rows": (
        transom.Count(3, 2),
        lambda w: w,
        [1, 2, 3, 4, 5, 6],
        [(3, [1, 2, 3]), (5, [3, 4, 5])],
    ),
    "early results": (
        TEN,
        lambda w: w.trigger(transom.AfterWatermark(early=transom.AfterCount(2))),
        [1, 2, 3, 10],
        [(10, [1, 2]), (10, [1, 2, 3])],
    ),
    "a condition": (
        TEN,
        lambda w: w.trigger(transom.When(F.col("value") % 3 == 0)),
        [1, 2, 3, 4, 5, 6, 30],
        [(10, [1, 2, 3]), (10, [1, 2, 3, 4, 5, 6])],
    ),
    "a difference": (
        transom.Global(),
        lambda w: w.trigger(
            transom.AfterDelta(lambda old, new: new["value"] - old["value"], threshold=2)
        ),
        [1, 2, 3, 4, 5, 6, 7],
        [(-1, [1, 2, 3, 4]), (-1, [1, 2, 3, 4, 5, 6, 7])],
    ),
    # The row that moves the watermark comes before the timers that it causes to fire.
    "an interval of event time": (
        transom.Tumbling("20 seconds"),
        lambda w: w.trigger(transom.Every("5 seconds")),
        [1, 6, 12, 30],
        [(20, [1, 2]), (20, [1, 2, 3]), (20, [1, 2, 3]), (20, [1, 2, 3])],
    ),
    "late results": (
        TEN,
        lambda w: w.allowed_lateness("5 seconds"),
        [1, 10, 2, 14.5, 3, 15, 4],
        [(10, [1]), (10, [1, 3]), (10, [1, 3, 5])],
    ),
    "a result after the lateness": (
        TEN,
        lambda w: w.allowed_lateness("5 seconds").trigger(transom.AfterLateness()),
        [1, 10, 2, 14.5, 3, 15, 4],
        [(10, [1, 3, 5])],
    ),
    "the last rows": (
        TEN,
        lambda w: w.evictor(transom.KeepLast(2)),
        [1, 2, 3, 10],
        [(10, [2, 3])],
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_results_follow_the_order_of_a_source(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    window, steps, times, expected = BY_HAND[name]
    outcome = run(spark, tmp_path, window, steps, [of_a(*times)])
    found = [(end, result) for _, end, result in values(outcome.results)]
    assert [(end, result) for end, result in found if end <= 20] == expected


@pytest.mark.parametrize("name", BY_HAND)
def test_batches_do_not_change_results(spark: SparkSession, tmp_path: Path, name: str) -> None:
    window, steps, times, expected = BY_HAND[name]
    rows = of_a(*times)
    third = len(rows) // 3
    batches = [[rows[:third]], [rows[third : 2 * third]], [rows[2 * third :]]]
    outcome = run(spark, tmp_path, window, steps, *batches)
    found = [(end, result) for _, end, result in values(outcome.results)]
    assert [(end, result) for end, result in found if end <= 20] == expected


def test_panes_tell_how_they_stand_to_their_window(spark: SparkSession, tmp_path: Path) -> None:
    def panes(windowed: transom.Windowed) -> transom.Windowed:
        early = windowed.trigger(transom.AfterWatermark(early=transom.AfterCount(2)))
        return early.allowed_lateness("5 seconds").with_pane()

    outcome = run(spark, tmp_path, TEN, panes, [of_a(1, 2, 10, 3, 15)])
    assert [row["pane"] for row in outcome.results if bounds(row)[1] == 10] == [
        Row(index=0, timing="early", is_last=False, number=None, cause="rows"),
        Row(index=1, timing="on_time", is_last=False, number=None, cause="watermark"),
        Row(index=2, timing="late", is_last=False, number=None, cause="rows"),
    ]


def test_a_new_result_retracts_the_one_before(spark: SparkSession, tmp_path: Path) -> None:
    def changes(windowed: transom.Windowed) -> transom.Windowed:
        return windowed.trigger(transom.AfterWatermark(early=transom.AfterCount(1))).retract()

    outcome = run(spark, tmp_path, TEN, changes, [of_a(1, 2)], [of_a(3, 10)])
    assert [(row["change"], row["values"]) for row in outcome.results if bounds(row)[1] == 10] == [
        ("+I", [1]),
        ("-U", [1]),
        ("+U", [1, 2]),
        ("-U", [1, 2]),
        ("+U", [1, 2, 1]),
    ]


def test_a_window_that_waits_for_a_slow_source_is_not_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A row behind its own source fires no late result before the window has fired."""

    def late(windowed: transom.Windowed) -> transom.Windowed:
        return windowed.allowed_lateness("5 seconds").with_late_rows()

    outcome = run(
        spark,
        tmp_path,
        TEN,
        late,
        [at(("a", 1, 1), ("a", 12, 2)), at(("a", 2, 3))],
        # The window has ended for the first source.
        [at(("a", 3, 4), ("a", 16, 5)), []],
        # Its lateness is over for the first source, and has not begun for the second.
        [at(("a", 4, 6)), at(("a", 5, 7))],
        [[], at(("a", 11, 8))],
        # Within the lateness of the second source.
        [[], at(("a", 6, 9), ("a", 40, 10))],
    )
    results = [(row["values"], bounds(row)[1]) for row in outcome.results]
    assert [(sorted(result), end) for result, end in results if end == 10] == [
        ([1, 3, 4, 7], 10),
        ([1, 3, 4, 7, 9], 10),
    ]
    (row,) = outcome.late
    assert (row["row"]["value"], seconds(row["watermark"])) == (6, 16)


def test_rows_of_several_sources_are_counted_together(spark: SparkSession, tmp_path: Path) -> None:
    rows = [at(*(("a", n, 100 * source + n) for n in range(20))) for source in range(3)]
    outcome = run(spark, tmp_path, transom.Count(10), lambda w: w, rows)
    results = [row["values"] for row in outcome.results]
    assert [len(result) for result in results] == [10] * 6
    found = [value for result in results for value in result]
    assert sorted(found) == sorted(value for part in rows for _, _, value in part)
    # The order of each source is kept.
    for source in range(3):
        assert [v for v in found if v // 100 == source] == [value for _, _, value in rows[source]]
