"""Processing time in real queries: windows, and triggers by the wall clock."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import instant, seconds
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import add_batch, parse_schema, run_stream, state_rows
from tests.end_to_end.support.wall_clock import HandClock, Step, run_on_clock

SCHEMA = "key string, value int"
TEN = transom.Tumbling(size="10 seconds")


def by_key(rows: DataFrame, window: transom.Window = TEN) -> transom.Windowed:
    return transom.stream(rows, time=transom.ProcessingTime()).key_by("key").window(window)


def values(rows: DataFrame) -> DataFrame:
    return by_key(rows).agg(F.collect_list("value").alias("values"))


def shown(rows: list[Row]) -> list[tuple[str, float, list[int]]]:
    """Key, start and values of results."""
    return sorted((row["key"], seconds(row["window"]["start"]), row["values"]) for row in rows)


def test_windows_close_when_the_clock_passes_their_end(spark: SparkSession, tmp_path: Path) -> None:
    def listed(rows: pa.Table, context: transom.Context) -> pa.Table:
        assert context.pane is not None
        pane = context.pane
        firing = f"{pane['timing']} {pane['cause']} {pane['is_last']}"
        return pa.table(
            {"values": [rows["value"].to_pylist()], "clock": [context.clock], "firing": [firing]}
        )

    def pipeline(rows: DataFrame) -> DataFrame:
        # The event time of the rows has no effect.
        timed = rows.withColumn("time", F.lit(datetime(2000, 1, 1))).withWatermark("time", "1 day")
        called = by_key(timed).with_pane()
        schema = "values array<int>, clock timestamp, firing string"
        return called.apply(listed, schema)

    steps: list[Step] = [3, [("a", 1), ("b", 2), ("a", 3)], 9.999, 10, [("b", 4)], 25]
    given = run_on_clock(spark, pipeline, SCHEMA, steps, folder=tmp_path)
    assert [shown(rows) for rows in given] == [
        *[[]] * 3,
        [("a", 0, [1, 3]), ("b", 0, [2])],
        [],
        [("b", 10, [4])],
    ]
    clocks = [row["clock"] for rows in given for row in rows]
    assert clocks == [instant(10), instant(10), instant(25)]
    assert {row["firing"] for rows in given for row in rows} == {"on_time clock True"}
    for variable in ("group", "keys", "timers", "clock", "clock_timers", "rows"):
        assert state_rows(spark, tmp_path, variable) == []


def test_triggers_by_the_clock_fire_in_event_time_without_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.withColumn("time", F.timestamp_seconds("at")).withWatermark("time", "1 second")
        early = transom.Every("5 seconds", clock="processing", aligned=False)
        trigger = transom.ProcessingTimeout(
            transom.AfterWatermark(early=early), after="8 seconds", clear=False
        )
        windowed = transom.stream(timed, time="time").key_by("key").window(TEN)
        return windowed.trigger(trigger).with_pane().agg(F.collect_list("value").alias("values"))

    steps: list[Step] = [2, [("a", 1, 3)], 6.999, 7.001, 10.001, [("b", 2, 20)], 11]
    given = run_on_clock(spark, pipeline, "key string, value int, at int", steps, folder=tmp_path)
    shown = [[(row["values"], row["pane"]["cause"]) for row in rows] for rows in given]
    every, timeout, end = [([1], "clock")], [([1], "clock")], [([1], "watermark")]
    assert shown == [[], [], [], every, timeout, end, []]


@pytest.mark.parametrize("reset", [True, False])
def test_a_window_that_timed_out_fires_at_its_end_only_if_more_rows_came(
    spark: SparkSession, tmp_path: Path, *, reset: bool
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        trigger = transom.ProcessingTimeout(
            transom.AfterClock(), after="700 milliseconds", reset=reset, clear=True
        )
        windowed = by_key(rows, transom.Tumbling(size="2 seconds")).trigger(trigger)
        return windowed.agg(F.collect_list("value").alias("values"))

    steps: list[Step] = [0.1, [("a", 1), ("b", 2)], 1, 1.5, [("b", 3)], 2, 5]
    given = run_on_clock(spark, pipeline, SCHEMA, steps, folder=tmp_path)
    results = [shown(rows) for rows in given if rows]
    assert results == [[("a", 0, [1]), ("b", 0, [2])], [("b", 0, [2, 3])]]
    for variable in ("group", "keys", "clock", "clock_timers"):
        assert state_rows(spark, tmp_path, variable) == []


def test_a_batch_that_is_done_again_has_the_clock_that_it_had(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "input"
    for batch in ([("a", 1)], [("b", 2)], [("a", 3)]):
        add_batch(folder, batch, parse_schema(SCHEMA))

    def crash_with_results(results: DataFrame, _: int) -> None:
        if results.collect():
            raise OSError("pulled the plug")

    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    checkpoint = tmp_path / "checkpoint"
    writer = (
        values(rows)
        .writeStream.foreachBatch(crash_with_results)
        .option("checkpointLocation", str(checkpoint))
    )
    query = HandClock(spark, 5).start(writer)
    query.processAllAvailable()
    query.stop()
    # There is no tick while files are left.
    offsets = [(checkpoint / "offsets" / str(batch)).read_text() for batch in range(3)]
    assert not any('"ticked"' in offset for offset in offsets)

    add_batch(folder, [("b", 4)], parse_schema(SCHEMA))
    query = HandClock(spark, 15).start(writer)
    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        query.processAllAvailable()

    # The machine's clock is years later. A batch moves the wall clock of the keys in it.
    again = run_stream(spark, values, SCHEMA, [], checkpoint=tmp_path)
    assert shown(again.by_batch[min(again.by_batch)]) == [("b", 0, [2])]
    assert shown(again.results) == [("a", 0, [1, 3]), ("b", 0, [2]), ("b", 10, [4])]


def test_available_now_keeps_its_batches_and_drains(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return (
            by_key(rows, transom.Session(gap="1 hour"))
            .drain()
            .with_pane()
            .agg(F.collect_list("value").alias("values"))
        )

    batches = [[("a", 1)], [("b", 2), ("a", 3)], [("a", 4)]]
    outcome = run_stream(spark, pipeline, SCHEMA, batches, checkpoint=tmp_path)
    rows = [progress.sources[0].numInputRows for progress in outcome.progress]
    assert rows[:3] == [1, 2, 1]
    assert sum(rows) == 4
    assert sorted((row["key"], row["values"]) for row in outcome.results) == [
        ("a", [1, 3, 4]),
        ("b", [2]),
    ]
    assert {row["pane"]["cause"] for row in outcome.results} == {"drain"}
    assert state_rows(spark, tmp_path, "keys") == state_rows(spark, tmp_path, "clock_timers") == []


def test_the_machines_clock_closes_windows_and_makes_no_batch_spin(
    spark: SparkSession, tmp_path: Path
) -> None:
    add_batch(tmp_path / "input", [("a", 1)], parse_schema(SCHEMA))
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    kept = Kept()
    size = "4 seconds"
    query = (
        by_key(rows, transom.Tumbling(size=size))
        .options(tick="1 second")
        .agg(F.sum("value"))
        .writeStream.foreachBatch(kept)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        assert any(kept.rows or query.awaitTermination(1) for _ in range(60))
    finally:
        query.stop()
    # Spark also reports progress without batches.
    batches = [p for p in query.recentProgress if "addBatch" in p.durationMs]
    times = [datetime.fromisoformat(batch.timestamp) for batch in batches]
    assert times[0].tzinfo == UTC
    ticks = [batch.sources[-1].numInputRows for batch in batches]
    # One tick in the batch with the row, and one in each second that had begun.
    assert sum(ticks) <= (times[-1] - times[0]).total_seconds() + 2
    assert len(ticks) <= sum(ticks) + 1
