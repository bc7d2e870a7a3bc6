"""The metrics of each batch, against values computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress

import transom
from tests.end_to_end.support.clocked import START
from tests.end_to_end.support.clocked import instant as at
from tests.end_to_end.support.queries import add_batch, parse_schema
from tests.end_to_end.support.wall_clock import HandClock, Past, Step, recent_progress

SCHEMA = "key string, at timestamp, known timestamp, source string"
# Of a batch: its progress, and the metrics of the only operator.
Batch = tuple[StreamingQueryProgress, transom.Metrics]


def run(
    spark: SparkSession,
    folder: Path,
    pipeline: Callable[[DataFrame], DataFrame],
    steps: Sequence[Step],
    start: float = 0,
) -> list[list[Batch]]:
    """Run a query over the steps. Returns the batches of each step."""
    (folder / "input").mkdir(exist_ok=True)
    rows = spark.readStream.schema(SCHEMA).parquet(str(folder / "input"))
    clock = HandClock(spark, start)
    query = clock.start(
        pipeline(rows)
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    batches: list[list[Batch]] = []
    seen = 0
    try:
        for step in steps:
            if isinstance(step, Sequence):
                add_batch(folder / "input", step, parse_schema(SCHEMA))
            else:
                clock.move(step)
            # The first call may return for a check of the sources that began before the step.
            query.processAllAvailable()
            query.processAllAvailable()
            progress = recent_progress(query)
            batches.append([(each, transom.metrics(Past(each))) for each in progress[seen:]])
            seen = len(progress)
    finally:
        query.stop()
    return batches


def row(key: str, time: float | None, known: float = 0, source: str = "0") -> tuple[Any, ...]:
    return (key, None if time is None else at(time), at(known), source)


def utc(seconds: float) -> datetime:
    return (START + timedelta(seconds=seconds)).replace(tzinfo=UTC)


def counts(metrics: transom.Metrics) -> dict[str, int]:
    """All counts that are not 0."""
    names = [name for name in metrics.__slots__ if name.startswith("rows_")]
    values = {name: getattr(metrics, name) for name in [*names, "windows_fired", "idle_closes"]}
    return {name: value for name, value in values.items() if value}


def gauges(metrics: transom.Metrics) -> tuple[datetime | None, ...]:
    return metrics.watermark, metrics.earliest_open, metrics.latest_open


def by_event_time(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    clock = transom.EventTime("at", delay="10 seconds")
    return transom.stream(rows, time=clock).key_by("key").window(window)


def counted(rows: DataFrame, window: transom.Window) -> DataFrame:
    return by_event_time(rows, window).agg(F.count("*").alias("n"))


def memory(progress: StreamingQueryProgress) -> int:
    return sum(operator.memoryUsedBytes for operator in progress.stateOperators)


def test_windows_of_the_event_time(spark: SparkSession, tmp_path: Path) -> None:
    hops = transom.Hopping(size="20 seconds", slide="10 seconds")
    steps = [
        [row("a", 3), row("b", 25), row("a", None)],
        [row("a", 47), row("b", -8)],
    ]
    first, second = run(spark, tmp_path, lambda rows: counted(rows, hops), steps, start=60)
    (_, opening), (progress, firing) = first
    assert counts(opening) == {"rows_in": 3, "rows_dead_lettered": 1}
    assert gauges(opening) == (None, utc(-10), utc(20))
    assert opening.watermark_delay is None
    # The batch without rows fires [-10, 10) of the row at 3. It reaches only one of the keys.
    assert counts(firing) == {"windows_fired": 1}
    assert gauges(firing) == (utc(15), utc(0), utc(20))
    assert firing.watermark_delay == timedelta(seconds=45)
    assert firing.partitions == {}
    assert firing.state_bytes == memory(progress) > 0
    (_, late), (_, last) = second
    # The row at -8 is in [-20, 0) and [-10, 10).
    assert counts(late) == {"rows_in": 2, "rows_late": 1}
    assert gauges(late) == (utc(15), utc(0), utc(40))
    # The watermark of 37 fires [0, 20) of the row at 3, and [10, 30) of the row at 25.
    assert counts(last) == {"windows_fired": 2}
    assert gauges(last) == (utc(37), utc(20), utc(40))


def test_open_windows_in_the_keyed_layout(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        hops = by_event_time(rows, transom.Hopping(size="20 seconds", slide="10 seconds"))
        once = hops.allowed_lateness("5 seconds").trigger(transom.AfterLateness())
        return once.agg(F.count("*").alias("n"))

    steps = [[row("a", 3), row("b", 25)], [row("a", 47), row("b", -8)]]
    (first, second) = run(spark, tmp_path, pipeline, steps)
    assert [gauges(metrics) for _, metrics in first] == [
        (None, utc(-10), utc(20)),
        # [-10, 10) is over at 15. This batch reaches only one of the keys.
        (utc(15), utc(0), utc(20)),
    ]
    assert [gauges(metrics) for _, metrics in second] == [
        (utc(15), utc(0), utc(40)),
        # [0, 20) is over at 25, and [10, 30) at 35.
        (utc(37), utc(20), utc(40)),
    ]


def test_after_a_restart_windows_count_once_a_batch_reaches_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return counted(rows, transom.Tumbling(size="10 seconds"))

    run(spark, tmp_path, pipeline, [[row("a", 3)]])
    ((_, metrics), *_), ((_, reached), *_) = run(
        spark, tmp_path, pipeline, [[row("b", 15)], [row("a", 6)]]
    )
    assert gauges(metrics) == (utc(-7), utc(10), utc(10))
    assert gauges(reached) == (utc(5), utc(0), utc(10))


@pytest.mark.parametrize(
    ("window", "fired"),
    [
        # The rows at 1 and 4 are a session, and so is the row at 12.
        (transom.Session(gap="5 seconds"), 2),
        # A check at 20 closes the session of the first three rows, which began at 1.
        (transom.Session(gap="10 seconds", max_duration="10 seconds"), 1),
    ],
)
def test_sessions_do_not_show_which_of_them_are_open(
    spark: SparkSession, tmp_path: Path, window: transom.Window, fired: int
) -> None:
    rows = [row("a", 1), row("a", 4), row("a", 12), row("b", 32)]
    ((_, opening), (_, closing)) = run(spark, tmp_path, lambda read: counted(read, window), [rows])[
        0
    ]
    assert counts(opening) == {"rows_in": 4}
    assert counts(closing) == {"windows_fired": fired}
    assert gauges(closing) == (utc(22), None, None)


def test_early_and_late_firings_count_and_a_retraction_does_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = by_event_time(rows, transom.Tumbling(size="10 seconds"))
        firings = windowed.trigger(transom.AfterWatermark(early=transom.AfterCount(1)))
        return firings.allowed_lateness("1 minute").retract().agg(F.count("*").alias("n"))

    steps = [[row("a", 1), row("a", 2), row("b", 20)], [row("a", 3)]]
    ((_, early), (_, on_time)), ((_, late), *_) = run(spark, tmp_path, pipeline, steps)
    assert counts(early) == {"rows_in": 3, "windows_fired": 3}
    # The result at the end of [0, 10) equals the one before, so it is not emitted.
    assert counts(on_time) == {}
    assert counts(late) == {"rows_in": 1, "windows_fired": 1}
    # Both windows may fire for late rows.
    assert gauges(late) == (utc(10), utc(0), utc(20))


def test_each_operator_of_a_query_has_metrics_of_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "input").mkdir()
    add_batch(tmp_path / "input", [row("a", 1), row("a", 70), row("a", 110)], parse_schema(SCHEMA))
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    tens = by_event_time(rows, transom.Tumbling(size="10 seconds")).options(name="tens")
    results = transom.stream(tens.agg(F.count("*").alias("n")), time="window")
    minutes = results.window_all(transom.Tumbling(size="1 minute")).options(name="minutes")
    query = (
        minutes.agg(F.sum("n").alias("n"))
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = query.lastProgress
    assert progress is not None
    of_tens = transom.metrics(query, operator="tens")
    of_minutes = transom.metrics(query, operator="minutes")
    assert [(m.rows_in, m.windows_fired) for m in (of_tens, of_minutes)] == [(0, 2), (2, 1)]
    # The window of the row at 110 is open, and so is the minute of the row at 70.
    assert of_tens.earliest_open == of_tens.latest_open == utc(110)
    assert of_minutes.earliest_open == of_minutes.latest_open == utc(60)
    assert of_tens.state_bytes + of_minutes.state_bytes == memory(progress)
    named = r"'tens', as in metrics\(query, operator='minutes'\)"
    with pytest.raises(PySparkValueError, match=named) as caught:
        transom.metrics(query)
    assert caught.value.getCondition() == "TRANSOM_BAD_CHOICE"
