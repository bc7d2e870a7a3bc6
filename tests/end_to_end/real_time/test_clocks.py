"""Time policies, the wall clock and metrics in Real-Time Mode."""

from __future__ import annotations

import time
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds, instant, seconds
from tests.end_to_end.support.queries import Outcome
from tests.end_to_end.support.real_time import (
    LONG_BATCH,
    Pipeline,
    Values,
    real_time,
    run_real_time,
)

SCHEMA = "key string, time timestamp, arrival timestamp, value int"
TEN = transom.Tumbling("10 seconds")


def at(*rows: tuple[str | None, float, float, int]) -> list[Values]:
    """Rows of a key, a time and an arrival in seconds, and a value."""
    return [(key, instant(time), instant(arrival), value) for key, time, arrival, value in rows]


def tens_of(time: transom.EventTime | transom.TimePolicy | transom.ProcessingTime) -> Pipeline:
    def tens(rows: DataFrame) -> DataFrame:
        windows = transom.stream(rows, time=time).key_by("key").window(TEN).with_dead_letters()
        return windows.agg(values=F.sort_array(F.collect_list("value")))

    return tens


def of_kind(outcome: Outcome, tag: str) -> list[Row]:
    rows = [row for step in outcome.by_batch.values() for row in step]
    return [row[tag] for row in rows if row["tag"] == tag]


def test_a_policy_drops_rows_by_their_source(spark: SparkSession, tmp_path: Path) -> None:
    policy = transom.TimePolicy("time", out_of_order=transom.Drop("2 seconds"))
    first = [at(("a", 9, 0, 1), ("a", 6, 0, 2), ("a", 7, 0, 3)), at(("a", 3, 0, 4))]
    # The watermark of the first source is 7 s after a restart too.
    second = [at(("a", 5, 0, 5), ("a", 20, 0, 6)), at(("a", 2, 0, 7), ("a", 20, 0, 8))]
    outcome = run_real_time(spark, tens_of(policy), SCHEMA, [first, second], tmp_path, restart=True)
    (fired,) = outcome.results
    assert (bounds(fired), fired["values"]) == ((0, 10), [1, 3, 4, 7])
    dropped = of_kind(outcome, "dead_letters")
    assert sorted(row["row"]["value"] for row in dropped) == [2, 5]
    assert {row["reason"] for row in dropped} == {"out_of_order"}


def test_a_policy_moves_rows_by_their_arrival(spark: SparkSession, tmp_path: Path) -> None:
    policy = transom.TimePolicy(
        "time",
        arrival="arrival",
        early=transom.Adjust("1 second"),
        late=transom.Drop("5 seconds"),
    )
    # The first row is early, and its time becomes 1 s. The third row is too old.
    rows = at(("a", 30, 0, 1), ("a", 12, 12, 2), ("a", 3, 12, 3), ("a", 25, 25, 4))
    outcome = run_real_time(spark, tens_of(policy), SCHEMA, [[rows]], tmp_path)
    found = [(bounds(row), row["values"]) for row in outcome.results]
    assert sorted(found) == [((0, 10), [1]), ((10, 20), [2])]
    dropped = of_kind(outcome, "dead_letters")
    assert [row["row"]["value"] for row in dropped] == [3]


def test_windows_of_a_substream_follow_its_punctuation(spark: SparkSession, tmp_path: Path) -> None:
    advance = transom.Punctuated("value = 0", at="time")
    policy = transom.TimePolicy("time", over=["key"], advance=advance)
    rows = at(("a", 1, 0, 1), ("b", 2, 0, 2), ("b", 30, 0, 3), ("a", 10, 0, 0), ("a", 3, 0, 4))
    outcome = run_real_time(spark, tens_of(policy), SCHEMA, [[rows]], tmp_path)
    found = [(row["key"], bounds(row), row["values"]) for row in outcome.results]
    assert found == [("a", (0, 10), [1])]


def test_a_substream_counts_its_rows_across_restarts(spark: SparkSession, tmp_path: Path) -> None:
    policy = transom.TimePolicy("time", over=["key"], advance=transom.Periodic(rows=2))
    steps = [[at(("a", 1, 0, 1))], [at(("a", 30, 0, 2))], [at(("a", 60, 0, 3))]]
    outcome = run_real_time(spark, tens_of(policy), SCHEMA, steps, tmp_path, restart=True)
    assert [(bounds(row), row["values"]) for row in outcome.results] == [((0, 10), [1])]


@pytest.mark.parametrize(
    ("time", "late", "met"),
    [
        (transom.EventTime("time", delay="0 seconds"), [5], [2, 30, 30]),
        (
            transom.TimePolicy("time", out_of_order=transom.Drop("2 seconds")),
            [],
            [None, None, None],
        ),
    ],
    ids=["event time", "a policy"],
)
def test_a_row_whose_key_fails_moves_only_the_watermark_of_event_time(
    spark: SparkSession,
    tmp_path: Path,
    time: transom.EventTime | transom.TimePolicy,
    late: list[int],
    met: list[int | None],
) -> None:
    def by_number(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=time).key_by(F.expr("CAST(key AS INT) AS number"))
        windows = stream.window(TEN).with_late_rows().with_dead_letters()
        return windows.agg(values=F.sort_array(F.collect_list("value")))

    # The fourth row is out of order too. The row that fires the window comes after all others.
    rows = at(
        ("1", 1, 0, 1),
        (None, 2, 0, 2),
        ("x", 30, 0, 3),
        ("x", -9, 0, 4),
        ("1", 3, 0, 5),
    )
    rows += [("1", None, None, 6), *at(("1", 40, 0, 7))]
    outcome = run_real_time(spark, by_number, SCHEMA, [[rows]], tmp_path)
    found = [(row["number"], bounds(row), row["values"]) for row in of_kind(outcome, "results")]
    on_time = [1] if late else [1, 5]
    assert sorted(found, key=str) == [(1, (0, 10), on_time), (None, (0, 10), [2])]
    assert [row["row"]["value"] for row in of_kind(outcome, "late")] == late
    letters = [
        (row["row"]["value"], row["reason"], row["watermark"] and seconds(row["watermark"]))
        for row in of_kind(outcome, "dead_letters")
    ]
    reasons = [(3, "key_failed"), (4, "key_failed"), (6, "no_time")]
    expected = [(*reason, watermark) for reason, watermark in zip(reasons, met, strict=True)]
    assert sorted(letters) == expected
    counts = outcome.observed()
    assert counts["transom_rows_with_failed_keys"] == 2
    assert counts["transom_rows_dropped"] == counts["transom_rows_out_of_order"] == 0


def test_windows_do_not_wait_for_a_silent_source(spark: SparkSession, tmp_path: Path) -> None:
    policy = transom.TimePolicy("time", partition="key", idle_partition="1 second")
    with real_time(spark, tens_of(policy), SCHEMA, 2, tmp_path) as query:
        query.start(LONG_BATCH)
        query.add(1, at(("b", 1, 0, 1)))
        query.add(0, at(("a", 1, 0, 2), ("a", 10, 0, 3)))
        # If all sources were silent, nothing would say that time has passed.
        query.wait_for(2, meanwhile=lambda: query.add(0, at(("a", 11, 0, 4))))
        found = [(row["key"], bounds(row), row["values"]) for row in query.outcome.results]
    assert sorted(found) == [("a", (0, 10), [2]), ("b", (0, 10), [1])]


def test_windows_close_once_all_sources_are_silent(spark: SparkSession, tmp_path: Path) -> None:
    def closing(rows: DataFrame) -> DataFrame:
        windows = transom.stream(rows, time=transom.TimePolicy("time")).key_by("key").window(TEN)
        silent = windows.idle_timeout("2 seconds", rule="last_row").with_pane().with_late_rows()
        return silent.agg(n=F.count("*"))

    with real_time(spark, closing, SCHEMA, 2, tmp_path) as query:
        # Several batches pass before the windows close.
        query.start()
        query.add(0, at(("a", 1, 0, 1), ("b", 2, 0, 2)))
        query.add(1, at(("c", 15, 0, 3)))
        query.wait_for(3)
        found = [(row["key"], bounds(row), row["pane"]["cause"]) for row in query.outcome.results]
        assert sorted(found) == [
            ("a", (0, 10), "idle"),
            ("b", (0, 10), "idle"),
            ("c", (10, 20), "idle"),
        ]
        # Windows have closed for all keys.
        query.add(0, at(("d", 3, 0, 4), ("d", 20, 0, 5)))
        query.settle()
        (late,) = query.outcome.late
        assert (late["row"]["value"], seconds(late["watermark"])) == (4, 20)


def test_a_source_that_does_not_pass_a_window_is_not_silent(
    spark: SparkSession, tmp_path: Path
) -> None:
    policy = transom.TimePolicy("time", partition="key", idle_partition="3 seconds")
    with real_time(spark, tens_of(policy), SCHEMA, 2, tmp_path) as query:
        query.start(LONG_BATCH)
        # Keys in all tasks of the operator.
        query.add(0, at(*((f"a{n}", 1, 0, n) for n in range(20))))
        ends = time.monotonic() + 5
        while time.monotonic() < ends:
            query.add(0, at(("a", 50, 0, 20)))
            query.add(1, at(("b", 2, 0, 21)))
        assert query.rows == []
        query.wait_for(21, meanwhile=lambda: query.add(0, at(("a", 51, 0, 22))))


def test_a_trigger_of_the_wall_clock_fires_without_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    def early(rows: DataFrame) -> DataFrame:
        every = transom.Every("200 milliseconds", clock="processing")
        windows = transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        return (
            windows.key_by("key")
            .window(TEN)
            .trigger(transom.AfterWatermark(early=every))
            .with_pane()
            .agg(n=F.count("*"))
        )

    with real_time(spark, early, SCHEMA, 1, tmp_path) as query:
        query.start(LONG_BATCH)
        query.add(0, at(("a", 1, 0, 1), ("a", 2, 0, 2)))
        query.wait_for(1)
        first = query.rows[0]
    assert first["pane"]["timing"] == "early"
    assert bounds(first) == (0, 10)


def test_windows_in_processing_time_close_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    def short(rows: DataFrame) -> DataFrame:
        windows = transom.stream(rows, time=transom.ProcessingTime()).key_by("key")
        return windows.window(transom.Tumbling("500 milliseconds")).agg(n=F.count("*"))

    with real_time(spark, short, SCHEMA, 1, tmp_path) as query:
        query.start(LONG_BATCH)
        query.add(0, at(("a", 1, 0, 1), ("b", 2, 0, 2)))
        query.wait_for(2)
        assert sorted((row["key"], row["n"]) for row in query.rows) == [("a", 1), ("b", 1)]


def test_each_batch_has_metrics(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = tens_of(transom.EventTime("time", delay="0 seconds"))
    with real_time(spark, pipeline, SCHEMA, 2, tmp_path) as query:
        query.start()
        query.add(0, at(("a", 1, 0, 1), ("a", 12, 0, 2), ("a", 3, 0, 3)))
        query.add(1, at(("b", 1, 0, 4), ("b", 15, 0, 5)))
        query.settle()
        counts = [batch.observedMetrics["window"].asDict() for batch in query.progress]
        last = transom.metrics(query.running)
    assert sum(batch["transom_rows_in"] for batch in counts) == 5
    assert sum(batch["transom_rows_late"] for batch in counts) == 1
    assert sum(batch["transom_windows_fired"] for batch in counts) == 2
    latencies = [each["results"] for batch in counts for each in batch["transom_result_latency"]]
    assert sum(latencies) == 2
    assert last.watermark == instant(12).replace(tzinfo=UTC)
    assert last.earliest_open == last.latest_open == instant(10).replace(tzinfo=UTC)
    assert list(last.result_latency)[:2] == [timedelta(milliseconds=5), timedelta(milliseconds=10)]
