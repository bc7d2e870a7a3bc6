"""Draining: windows that are open when an availableNow run ends fire, and the checkpoint ends."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.draining import (
    SCHEMA,
    WINDOWS,
    Input,
    at,
    batches,
    drained,
    in_order,
    phases,
    some_rows,
    static,
)
from tests.end_to_end.support.logs import log_file
from tests.end_to_end.support.queries import (
    run_stream,
    state_rows,
)


def test_a_run_that_drains_warns_before_it_reads(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, rows = drained(WINDOWS["tumbling"]), batches(some_rows())[:2]
    log, folder = tmp_path / "driver.log", tmp_path / "query"
    logger = "org.apache.spark.sql.transom.clock.DrainClock"
    with log_file(spark, logger, log):
        run_stream(spark, pipeline, SCHEMA, rows[:1], checkpoint=folder, available_now=False)
        assert log.read_text() == ""

        def refuse(_: DataFrame, __: int) -> None:
            raise ValueError("no batch before the warning")

        with pytest.raises(StreamingQueryException, match="no batch before the warning"):
            run_stream(spark, pipeline, SCHEMA, rows[1:], checkpoint=folder, writer=refuse)
    (line,) = log.read_text().splitlines()
    assert line.startswith("WARN The window operator window drains this query: ")
    assert str(folder / "checkpoint") in line
    assert line.endswith("start it without drain() and with a new checkpoint.")


@pytest.mark.sampled(2)
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


@pytest.mark.sampled(3)
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
        stream = transom.stream(rows, time=transom.EventTime("time", delay=delay)).key_by("key")
        counts = (
            stream.window(window).allowed_lateness(LONGEST).drain().agg(F.count("*").alias("n"))
        )
        # Python has no instants after the year 9999.
        return counts.select("key", "n", F.unix_micros("window.end").alias("end"))

    latest = datetime(9999, 12, 31, 23, 59, 59)
    outcome = run_stream(spark, pipeline, SCHEMA, [[("a", latest, 1)], [("a", latest, 2)]])
    ((key, count, end),) = outcome.results
    assert (key, count) == ("a", 2)
    assert end > (latest - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def test_a_watermark_too_far_behind_to_be_drained_is_refused(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "11000000 days")
    windowed = transom.stream(rows, time="timestamp").window(WINDOWS["tumbling"]).drain()
    with pytest.raises(IllegalArgumentException, match=r"TRANSOM_CANNOT_DRAIN.*10,000,000 days"):
        windowed.agg(F.count("*").alias("rows"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("draining", [{1}, {2}, {1, 2}], ids=["first", "second", "both"])
def test_one_control_row_drains_operators_behind_each_other(
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
        stream = transom.stream(rows, time=transom.EventTime("time", delay="5 seconds"))
        windowed = stream.key_by("key").window(WINDOWS["tumbling"])
        return windowed.with_late_rows().drain().agg(F.count("*").alias("rows"))

    given: list[Input] = [[("a", at(second), second)] for second in (1, 100, 101, 2)]
    outcome = run_stream(spark, pipeline, SCHEMA, given, checkpoint=tmp_path)
    assert [row["window"]["start"] for row in outcome.results] == [at(0), at(100)]
    assert [late["row"]["value"] for late in outcome.late] == [2]
    assert outcome.observed()["transom_rows_late"] == 1
