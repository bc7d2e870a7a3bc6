"""Windows over a time policy while no rows come: the wall clock acts instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import transom
from tests.end_to_end.support.clocked import bounds
from tests.end_to_end.support.clocked import instant as at
from tests.end_to_end.support.queries import add_batch, parse_schema, run_stream
from tests.end_to_end.support.wall_clock import HandClock, recent_progress, run_dated

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
    after: Callable[[StreamingQuery], None] = lambda _: None,
) -> list[list[Row]]:
    """Run a query over the steps, and return the rows that it emits after each step."""
    timed = [(now, [(seq, at(time), f"{seq % 2}") for seq, time in rows]) for now, rows in steps]
    return run_dated(
        spark,
        pipeline,
        SCHEMA,
        timed,
        folder=folder,
        files_per_batch=files_per_batch,
        after=after,
    )


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


@pytest.mark.parametrize(
    ("window", "closings"),
    [
        # Each window has a timer of its own.
        (
            transom.Hopping("20 seconds", "10 seconds"),
            {15: [(-10, 10, [0])], 25: [(0, 20, [0])]},
        ),
        (transom.Session("10 seconds"), {18: [(3, 13, [0])]}),
        (transom.Tumbling("3 seconds", closed="right"), {8: [(0, 3, [0])]}),
    ],
    ids=["hopping", "session", "closed right"],
)
def test_windows_of_each_kind_close(
    spark: SparkSession, tmp_path: Path, window: transom.Window, closings: dict[int, Any]
) -> None:
    steps: list[Step] = [(3, [(0, 3)])]
    for clock in closings:
        steps += [(clock - 1, []), (clock, [])]
    emitted = run(spark, tmp_path, lambda rows: counts(rows, "5 seconds", window=window), steps)
    found = {clock: fired([rows])[0] for (clock, _), rows in zip(steps, emitted, strict=True)}
    assert {clock: results for clock, results in found.items() if results} == closings


@pytest.mark.parametrize(
    "window",
    [transom.Tumbling("10 seconds"), transom.Session("5 seconds", max_duration="1 minute")],
    ids=["grid", "session with a maximum duration"],
)
def test_a_pane_names_the_idle_timeout_only_where_it_has_closed_the_window(
    spark: SparkSession, tmp_path: Path, window: transom.Window
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.TimePolicy("at"))
        return stream.window(window).with_pane().idle_timeout("5 seconds").agg(n=F.count("*"))

    # The second row moves the watermark past the window of the first row.
    steps: list[Step] = [(3, [(0, 3)]), (4, [(1, 15)]), (30, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    causes = [[row["pane"]["cause"] for row in rows] for rows in emitted]
    assert causes == [[], ["watermark"], ["idle"]]


def test_a_tick_without_a_watermark_fires_at_the_watermark_that_was_reached(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.TimePolicy("at"))
        by_clock = transom.Every("10 seconds", clock="processing")
        windowed = (
            stream.window(transom.Tumbling("10 seconds")).allowed_lateness("1 minute").with_pane()
        )
        late = windowed.trigger(transom.AfterWatermark(late=by_clock))
        return late.agg(n=F.count("*"))

    # The second row ends the window of the first row, and the third row comes late to it.
    steps: list[Step] = [(3, [(0, 3)]), (4, [(1, 15)]), (5, [(2, 4)]), (12, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    panes = [[(row["pane"]["timing"], row["n"]) for row in rows] for rows in emitted]
    assert panes == [[], [("on_time", 1)], [], [("late", 2)]]


def test_with_last_row_a_window_closes_before_its_end(spark: SparkSession, tmp_path: Path) -> None:
    steps: list[Step] = [(3, [(0, 3)]), (7, []), (8, []), (9, [(1, 4)]), (14, [])]
    emitted = run(spark, tmp_path, lambda rows: counts(rows, "5 seconds", rule="last_row"), steps)
    # The watermark has moved to the end of the window, so the second row is late.
    assert fired(emitted) == [[], [], [(0, 10, [0])], [], []]


def test_a_dropped_row_is_activity_of_the_source(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return counts(rows, "5 seconds", early=transom.Drop("1 minute"))

    # Without the second row, which is dropped, the window would close at 15.
    steps: list[Step] = [(3, [(0, 3)]), (12, [(1, 500)]), (16, []), (17, [])]
    assert fired(run(spark, tmp_path, pipeline, steps)) == [[], [], [], [(0, 10, [0])]]


def test_a_row_of_another_key_restarts_the_timeout(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        by_source = transom.stream(rows, time=transom.TimePolicy("at")).key_by("source")
        windowed = by_source.window(transom.Tumbling("10 seconds")).idle_timeout("5 seconds")
        return windowed.agg(F.collect_list("seq").alias("seqs"))

    # Rows with odd and with even numbers have two keys. Both windows wait for the second row.
    steps: list[Step] = [(3, [(0, 3)]), (12, [(1, 4)]), (16, []), (17, [])]
    found = fired(run(spark, tmp_path, pipeline, steps))
    assert found == [[], [], [], [(0, 10, [0]), (0, 10, [1])]]


@pytest.mark.parametrize(
    ("trigger", "late"),
    [(transom.AfterWatermark(), [(0, 10, [0, 1])]), (transom.AfterLateness(), [])],
    ids=["AfterWatermark", "AfterLateness"],
)
def test_a_row_within_the_lateness_after_the_timeout(
    spark: SparkSession, tmp_path: Path, trigger: transom.Trigger, late: list[Any]
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows, time=transom.TimePolicy("at")).window(
            transom.Tumbling("10 seconds")
        )
        waiting = windowed.allowed_lateness("1 minute").trigger(trigger).idle_timeout("5 seconds")
        return waiting.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    steps: list[Step] = [(3, [(0, 3)]), (30, []), (31, [(1, 4)])]
    assert fired(run(spark, tmp_path, pipeline, steps)) == [[], [(0, 10, [0])], late]


def test_a_clock_that_goes_back_loses_no_row(spark: SparkSession, tmp_path: Path) -> None:
    # The timeout starts at the last row, at 14 by the wall clock.
    steps: list[Step] = [(20, [(0, 3)]), (14, [(1, 4)]), (18, []), (19, []), (30, [])]
    emitted = run(spark, tmp_path, lambda rows: counts(rows, "5 seconds"), steps)
    assert fired(emitted) == [[], [], [], [(0, 10, [0, 1])], []]


def test_a_replayed_batch_closes_the_same_windows(spark: SparkSession, tmp_path: Path) -> None:
    for seq, time in [(0, 3), (1, 13)]:
        add_batch(tmp_path / "input", [(seq, at(time), "0")], parse_schema(SCHEMA))

    def crash_with_results(results: DataFrame, _: int) -> None:
        if results.collect():
            raise OSError("pulled the plug")

    def pipeline(rows: DataFrame) -> DataFrame:
        return counts(
            rows,
            "5 seconds",
            partition="source",
            idle_partition="2 seconds",
            late=transom.Adjust("1 hour"),
            estimate_arrival=True,
            out_of_order="1 minute",
        )

    read = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    clock = HandClock(spark, 14)
    query = clock.start(
        pipeline(read)
        .writeStream.foreachBatch(crash_with_results)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    query.processAllAvailable()
    # The first window closes at 19: its last row came at 14. The second one closes at 25.
    clock.move(19)
    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        query.awaitTermination(60)

    # The machine's clock is years later, so both windows would have timed out.
    again = run_stream(spark, pipeline, SCHEMA, [], checkpoint=tmp_path)
    assert fired([again.by_batch[min(again.by_batch)]]) == [[(0, 10, [0])]]


def test_a_silent_source_makes_no_batch_spin(spark: SparkSession, tmp_path: Path) -> None:
    batches: list[int] = []

    def watch(query: StreamingQuery) -> None:
        batches.append(len(recent_progress(query)))

    steps: list[Step] = [(3, [(0, 3)]), (15, []), (40, []), (60, [])]
    emitted = run(spark, tmp_path, lambda rows: counts(rows, "5 seconds"), steps, after=watch)
    assert fired(emitted) == [[], [(0, 10, [0])], [], []]
    # A step of the clock is one tick, however far it is, and a tick is one batch.
    assert [later - before for before, later in pairwise(batches)] == [1, 1, 1]


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
