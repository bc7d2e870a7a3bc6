"""Draining: windows that are open when an availableNow run ends fire, and the checkpoint ends."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import (
    Outcome,
    add_batch,
    parse_schema,
    run_stream,
    state_rows,
)

SCHEMA = "key string not null, time timestamp, value int"
Input = list[tuple[str, datetime, int]]


def at(second: float) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def some_rows() -> Input:
    chosen = random.Random(3)
    seconds = sorted(chosen.randrange(300) for _ in range(60))
    return [(chosen.choice("abc"), at(second), chosen.randrange(10)) for second in seconds]


def batches(rows: Input, size: int = 15) -> list[Input]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def drained(window: transom.Window) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="5 seconds") if rows.isStreaming else "time"
        stage = transom.stream(rows, time=clock).key_by("key").window(window).drain()
        if isinstance(window, transom.Global):
            stage = stage.trigger(transom.EndOfStream())
        return stage.agg(F.count("*").alias("rows"), F.sum("value").alias("total"))

    return pipeline


def static(
    spark: SparkSession, pipeline: Callable[[DataFrame], DataFrame], rows: Input
) -> list[Row]:
    return in_order(pipeline(spark.createDataFrame(rows, SCHEMA)).collect())


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=str)


def phases(outcome: Outcome) -> list[str | None]:
    ends = [json.loads(progress.sources[-1].endOffset) for progress in outcome.progress]
    return [end and end["phase"] for end in ends]


WINDOWS = {
    "tumbling": transom.Tumbling(size="10 seconds"),
    "end included": transom.Tumbling(size="10 seconds", closed="right"),
    "hopping": transom.Hopping(size="10 seconds", slide="3 seconds"),
    "months": transom.Calendar(unit="month", time_zone="America/New_York"),
    "session": transom.Session(gap="7 seconds"),
    "global": transom.Global(),
}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_a_second_run_fires_all_that_is_open_and_leaves_no_state(
    window: transom.Window, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, rows = drained(window), some_rows()
    early, late = batches(rows)[:2], batches(rows)[2:]
    first = run_stream(spark, pipeline, SCHEMA, early, checkpoint=tmp_path, available_now=False)
    second = run_stream(spark, pipeline, SCHEMA, late, checkpoint=tmp_path)

    assert in_order(first.results + second.results) == static(spark, pipeline, rows)
    assert state_rows(spark, tmp_path) == []
    assert state_rows(spark, tmp_path, "directory") == []
    assert second.observed()["transom_rows_in"] == 30
    # The clock source comes after all input, and adds no input rows.
    assert set(phases(first)) == {None}
    assert phases(second) == ["open", "open", "open", "ended", "fired"]
    assert [progress.sources[0].numInputRows for progress in second.progress] == [15, 15, 0, 0, 0]


def test_a_run_that_does_not_end_is_as_without_drain(spark: SparkSession, tmp_path: Path) -> None:
    def plain(rows: DataFrame) -> DataFrame:
        return (
            transom.stream(rows, time=transom.EventTime("time", delay="5 seconds"))
            .key_by("key")
            .window(WINDOWS["session"])
            .agg(F.count("*").alias("rows"), F.sum("value").alias("total"))
        )

    given = batches(some_rows())
    pipelines = {"plain": plain, "drained": drained(WINDOWS["session"])}
    with_and_without = [
        run_stream(
            spark, pipeline, SCHEMA, given, checkpoint=tmp_path / name, available_now=False
        ).by_batch
        for name, pipeline in pipelines.items()
    ]
    assert with_and_without[0] == with_and_without[1]
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "plain" / "input"))
    assert pipelines["drained"](rows).schema == plain(rows).schema
    # Spark compares the number of sources before it calls transom.
    counted = r"There are \[2\] sources in the checkpoint offsets and now there are \[1\]"
    with pytest.raises(StreamingQueryException, match=counted):
        run_stream(spark, plain, SCHEMA, [], checkpoint=tmp_path / "drained")


@pytest.mark.parametrize("available_now", [True, False])
def test_a_drained_checkpoint_ends(
    spark: SparkSession, tmp_path: Path, *, available_now: bool
) -> None:
    pipeline = drained(WINDOWS["tumbling"])
    run_stream(spark, pipeline, SCHEMA, [[("a", at(1), 1)]], checkpoint=tmp_path)
    with pytest.raises(StreamingQueryException, match=r"TRANSOM_DRAINED.*new checkpoint"):
        run_stream(
            spark,
            pipeline,
            SCHEMA,
            [[("a", at(100), 1)]],
            checkpoint=tmp_path,
            available_now=available_now,
        )


def test_a_restart_of_a_drained_query_without_further_rows_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = drained(WINDOWS["tumbling"])
    rows: Input = [("a", at(1), 1)]
    first = run_stream(spark, pipeline, SCHEMA, [rows], checkpoint=tmp_path)
    assert in_order(first.results) == static(spark, pipeline, rows)
    for _ in range(2):
        again = run_stream(spark, pipeline, SCHEMA, [], checkpoint=tmp_path)
        assert again.results == []
    # Later rows raise the error in each further run.
    for further in ([[("a", at(100), 1)]], []):
        with pytest.raises(StreamingQueryException, match="TRANSOM_DRAINED"):
            run_stream(spark, pipeline, SCHEMA, further, checkpoint=tmp_path)


LONGEST = "10000000 days"


@pytest.mark.parametrize("delay", ["0 seconds", LONGEST])
@pytest.mark.parametrize(
    "window",
    [
        transom.Tumbling(size=LONGEST),
        transom.Hopping(size=LONGEST, slide=LONGEST, closed="right"),
        transom.Session(gap=LONGEST),
        transom.Calendar(unit="year", every=100_000, time_zone="UTC"),
    ],
    ids=lambda window: type(window).__name__,
)
def test_the_longest_windows_and_delays_are_drained(
    window: transom.Window, delay: str, spark: SparkSession
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stage = transom.stream(rows, time=transom.EventTime("time", delay=delay)).key_by("key")
        counts = stage.window(window).allowed_lateness(LONGEST).drain().agg(F.count("*").alias("n"))
        # Python has no instants after the year 9999.
        return counts.select("key", "n", F.unix_micros("window.end").alias("end"))

    latest = datetime(9999, 12, 31, 23, 59, 59)
    outcome = run_stream(spark, pipeline, SCHEMA, [[("a", latest, 1)], [("a", latest, 2)]])
    ((key, count, end),) = outcome.results
    assert (key, count) == ("a", 2)
    assert end > (latest - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def run_into_files(spark: SparkSession, window: transom.Window, folder: Path) -> list[Row]:
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    query = (
        drained(window)(rows.parquet(str(folder / "input")))
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    return in_order(spark.read.parquet(str(folder / "out")).collect())


def as_if_crashed_before_the_commit_of(phase: str, folder: Path) -> None:
    """Undo a finished run, up to the state between two commits of the batch of a phase.

    The sink has committed this batch, and Spark has not.
    """
    logs = {"offsets": folder / "checkpoint", "commits": folder / "checkpoint"}
    logs["_spark_metadata"] = folder / "out"
    offsets = folder / "checkpoint" / "offsets"
    (crashed,) = (
        int(path.name)
        for path in offsets.glob("[0-9]*")
        if f'"{phase}"' in path.read_text(encoding="utf-8")
    )
    for log, parent in logs.items():
        kept = crashed - 1 if log == "commits" else crashed
        for path in (parent / log).glob("[0-9]*"):
            if int(path.name) > kept:
                path.unlink()
                (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("phase", ["ended", "fired"])
@pytest.mark.parametrize("window", ["hopping", "session", "global"])
def test_a_crash_after_the_sink_has_committed_loses_no_window(
    window: str, phase: str, spark: SparkSession, tmp_path: Path
) -> None:
    rows = some_rows()
    for batch in batches(rows):
        add_batch(tmp_path / "input", batch, parse_schema(SCHEMA))
    expected = static(spark, drained(WINDOWS[window]), rows)
    assert run_into_files(spark, WINDOWS[window], tmp_path) == expected
    as_if_crashed_before_the_commit_of(phase, tmp_path)
    assert run_into_files(spark, WINDOWS[window], tmp_path) == expected
    assert run_into_files(spark, WINDOWS[window], tmp_path) == expected


def test_a_sink_that_never_computes_the_control_row_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def ignore(rows: DataFrame, batch_id: int) -> None:
        pass

    # With this setting Spark itself would reject such a function.
    setting = "spark.sql.streaming.stateStore.commitValidation.enabled"
    spark.conf.set(setting, "false")
    try:
        with pytest.raises(StreamingQueryException, match=r"TRANSOM_CANNOT_DRAIN.*read all rows"):
            run_stream(
                spark,
                drained(WINDOWS["tumbling"]),
                SCHEMA,
                [[("a", at(1), 1)]],
                checkpoint=tmp_path,
                writer=ignore,
            )
    finally:
        spark.conf.unset(setting)


def test_a_watermark_too_far_behind_to_be_drained_is_refused(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "11000000 days")
    windowed = transom.stream(rows, time="timestamp").window(WINDOWS["tumbling"]).drain()
    with pytest.raises(IllegalArgumentException, match=r"TRANSOM_CANNOT_DRAIN.*10,000,000 days"):
        windowed.agg(F.count("*").alias("rows"))


@pytest.mark.parametrize("phase", ["open", "ended", "fired"])
def test_a_crash_on_the_way_loses_no_window(
    phase: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, rows = drained(WINDOWS["session"]), some_rows()
    collected: list[Row] = []

    def remember_or_crash(results: list[Row], batch_id: int) -> None:
        offsets = (tmp_path / "checkpoint" / "offsets" / str(batch_id)).read_text()
        if batch_id > 1 and f'"{phase}"' in offsets:
            raise OSError("pulled the plug")
        collected.extend(results)

    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        run_stream(
            spark,
            pipeline,
            SCHEMA,
            batches(rows),
            checkpoint=tmp_path,
            sink=remember_or_crash,
        )
    again = run_stream(spark, pipeline, SCHEMA, [], checkpoint=tmp_path)
    assert phases(again)[-1] == "fired"
    assert in_order(collected + again.results) == static(spark, pipeline, rows)


def test_a_run_that_only_finds_the_firing_undone_does_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, rows = drained(WINDOWS["global"]), some_rows()
    collected: list[Row] = []
    offsets = tmp_path / "checkpoint" / "offsets"

    def crash_at_last(results: list[Row], batch_id: int) -> None:
        if '"fired"' in (offsets / str(batch_id)).read_text():
            raise OSError("pulled the plug")
        collected.extend(results)

    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        run_stream(spark, pipeline, SCHEMA, batches(rows), checkpoint=tmp_path, sink=crash_at_last)
    # As if the crash had come between the two last batches.
    last = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
    for path in (offsets / str(last), offsets / f".{last}.crc"):
        path.unlink()
    fired: list[Row] = []
    with pytest.raises(StreamingQueryException, match=r"TRANSOM_DRAINED"):
        run_stream(
            spark,
            pipeline,
            SCHEMA,
            [],
            checkpoint=tmp_path,
            available_now=False,
            sink=lambda results, _: fired.extend(results),
        )
    assert in_order(collected + fired) == static(spark, pipeline, rows)


@pytest.mark.parametrize("draining", [{1}, {2}, {1, 2}], ids=["first", "second", "both"])
def test_one_control_row_drains_stages_behind_each_other(
    draining: set[int], spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="5 seconds") if rows.isStreaming else "time"
        first = transom.stream(rows, time=clock).key_by("key").window(WINDOWS["tumbling"])
        counts = (first.drain() if 1 in draining else first).agg(F.count("*").alias("rows"))
        second = transom.stream(counts, time="window").key_by("key").window(WINDOWS["session"])
        return (second.drain() if 2 in draining else second).agg(F.sum("rows").alias("total"))

    rows = some_rows()
    outcome = run_stream(spark, pipeline, SCHEMA, batches(rows), checkpoint=tmp_path)
    assert in_order(outcome.results) == static(spark, pipeline, rows)
    assert len(outcome.progress[0].sources) == 2
    assert state_rows(spark, tmp_path) == state_rows(spark, tmp_path, operator=1) == []


def test_rows_without_time_fire_when_drained(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows).key_by("key").window(transom.Global()).drain()
        return windowed.trigger(transom.EndOfStream()).agg(F.count("*").alias("rows"))

    rows = some_rows()
    outcome = run_stream(spark, pipeline, SCHEMA, batches(rows), checkpoint=tmp_path)
    assert in_order(outcome.results) == static(spark, pipeline, rows)


def test_streams_that_are_joined_are_drained_together(spark: SparkSession, tmp_path: Path) -> None:
    rows = some_rows()
    spark.createDataFrame(rows, SCHEMA).write.parquet(str(tmp_path / "other"))

    def pipeline(left: DataFrame) -> DataFrame:
        reader = spark.readStream.schema(SCHEMA) if left.isStreaming else spark.read
        right = reader.parquet(str(tmp_path / "other")).selectExpr("key as k", "time as t")
        if left.isStreaming:
            left = left.withWatermark("time", "5 seconds")
            right = right.withWatermark("t", "7 seconds")
        joined = left.join(right, F.expr("key = k AND time = t")).drop("t")
        windowed = transom.stream(joined, time="time").key_by("key").window(WINDOWS["hopping"])
        return windowed.drain().agg(F.count("*").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, batches(rows), checkpoint=tmp_path)
    assert in_order(outcome.results) == static(spark, pipeline, rows)


def test_a_watermark_that_draining_does_not_reach_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        watched = rows.withWatermark("time", "7 seconds")
        other = watched.groupBy("key", F.window("time", "10 seconds")).agg(
            F.count("*").alias("rows"), F.sum("value").alias("total")
        )
        return drained(WINDOWS["tumbling"])(rows).unionByName(other)

    with pytest.raises(StreamingQueryException, match=r"TRANSOM_CANNOT_DRAIN.*watermark on time"):
        run_stream(spark, pipeline, SCHEMA, [[("a", at(1), 1)]], checkpoint=tmp_path)
    assert not any((tmp_path / "checkpoint" / "offsets").glob("*"))


def test_a_source_that_does_not_know_available_now_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(_: DataFrame) -> DataFrame:
        rate = spark.readStream.format("rate").load()
        rows = rate.selectExpr("'a' as key", "timestamp as time", "1 as value")
        return drained(WINDOWS["tumbling"])(rows)

    with pytest.raises(StreamingQueryException, match=r"TRANSOM_CANNOT_DRAIN.*availableNow"):
        run_stream(spark, pipeline, SCHEMA, [[("a", at(1), 1)]], checkpoint=tmp_path)


def test_late_rows_are_told_apart_while_draining(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stage = transom.stream(rows, time=transom.EventTime("time", delay="5 seconds"))
        windowed = stage.key_by("key").window(WINDOWS["tumbling"])
        return windowed.with_late_rows().drain().agg(F.count("*").alias("rows"))

    given: list[Input] = [[("a", at(second), second)] for second in (1, 100, 101, 2)]
    outcome = run_stream(spark, pipeline, SCHEMA, given, checkpoint=tmp_path)
    assert [row["window"]["start"] for row in outcome.results] == [at(0), at(100)]
    assert [late["row"]["value"] for late in outcome.late] == [2]
    assert outcome.observed()["transom_rows_late"] == 1
