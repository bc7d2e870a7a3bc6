"""The metrics of time policies, against values computed by hand, and what Spark's pages show."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.wall_clock import Step
from tests.end_to_end.time.test_metrics import (
    counted,
    counts,
    gauges,
    memory,
    row,
    run,
    utc,
)


def test_a_time_policy_with_a_silent_partition_and_an_idle_timeout(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "at",
            arrival="known",
            partition="source",
            partitions=["0", "1"],
            early=transom.Drop("5 seconds"),
            late=transom.Adjust("20 seconds"),
            out_of_order=transom.Drop("0 seconds"),
            idle_partition="30 seconds",
        )
        windowed = transom.stream(rows, time=policy).window(transom.Tumbling(size="10 seconds"))
        return windowed.idle_timeout("21 seconds").agg(F.count("*").alias("n"))

    rows = [
        row("a", 12, known=13),
        # More than 5 seconds before its time.
        row("a", 25, known=14),
        # Behind the row at 12.
        row("a", 10, known=15),
        row("a", None, known=15),
        row("a", 12, known=15, source="2"),
    ]
    # 25 seconds late, so its time moves to 20.
    late = [row("a", 15, known=40)]
    steps: list[Step] = [rows, 40, late, 51, 62]
    batches = run(spark, tmp_path, pipeline, steps, start=20)
    # A tick may start a batch without rows.
    first, adjusted = [
        next(metrics for _, metrics in batches[step] if metrics.rows_in) for step in (0, 2)
    ]
    (_, silent), (progress, closed) = batches[3][-1], batches[4][-1]

    def partition(time: float | None, *, idle: bool = False) -> transom.PartitionMetrics:
        return transom.PartitionMetrics(None if time is None else utc(time), idle)

    assert counts(first) == {
        "rows_in": 5,
        "rows_early": 1,
        "rows_out_of_order": 1,
        "rows_dropped": 2,
        "rows_dead_lettered": 4,
    }
    # The watermark waits for the other partition.
    assert gauges(first) == (None, utc(10), utc(10))
    assert first.watermark_delay is None
    assert first.partitions == {"0": partition(12), "1": partition(None)}

    assert counts(adjusted) == {"rows_in": 1, "rows_late_arrival": 1, "rows_adjusted": 1}
    assert gauges(adjusted) == (None, utc(10), utc(20))
    assert adjusted.partitions == {"0": partition(20), "1": partition(None)}

    # Only the other partition has been silent for 30 seconds.
    assert counts(silent) == {"windows_fired": 1}
    assert gauges(silent) == (utc(20), utc(20), utc(20))
    assert silent.watermark_delay == timedelta(seconds=31)
    assert silent.partitions == {"0": partition(20), "1": partition(None, idle=True)}

    # 22 seconds after the last row, the wall clock closes [20, 30).
    assert counts(closed) == {"windows_fired": 1, "idle_closes": 1}
    assert gauges(closed) == (utc(30), None, None)
    assert closed.watermark_delay == timedelta(seconds=32)
    assert closed.partitions == {"0": partition(30), "1": partition(30, idle=True)}
    # The time stage has a state of its own.
    assert len(progress.stateOperators) == 2
    assert closed.state_bytes == memory(progress)


def test_spark_shows_the_watermark_and_its_delay(spark: SparkSession, tmp_path: Path) -> None:
    def by_spark(rows: DataFrame) -> DataFrame:
        return counted(rows, transom.Tumbling(size="10 seconds"))

    def by_policy(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.TimePolicy("at", out_of_order="10 seconds"))
        return stream.window(transom.Tumbling(size="10 seconds")).agg(F.count("*").alias("n"))

    def by_substream(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("at", over=["key"], out_of_order="10 seconds")
        return (
            transom.stream(rows, time=policy)
            .key_by("key")
            .window(transom.Tumbling(size="10 seconds"))
            .agg(F.count("*").alias("n"))
        )

    rows = [row("a", 25), row("b", 47)]
    for name, pipeline, reached in [
        ("spark", by_spark, {37}),
        ("policy", by_policy, {37}),
        # The tasks may share the substreams in any way.
        ("substream", by_substream, {15, 37}),
    ]:
        folder = tmp_path / name
        folder.mkdir()
        run(spark, folder, pipeline, [rows], start=60)
        watermarks, delays = in_the_ui(spark)
        since_1970 = {(utc(time).timestamp()) * 1000 for time in reached}
        assert max(watermarks) == max(since_1970)
        assert watermarks <= since_1970
        assert delays <= {(60 - time) * 1000 for time in reached}
        assert min(delays) == 23_000


def in_the_ui(spark: SparkSession) -> tuple[set[float], set[float]]:
    """The watermarks and delays in Spark's UI, of the last batch with a watermark, in ms."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    for i in reversed(range(executions.size())):
        execution = executions.apply(i)
        values = store.executionMetrics(execution.executionId())
        shown: dict[str, set[float]] = {}
        for j in range(execution.metrics().size()):
            metric = execution.metrics().apply(j)
            value = values.get(metric.accumulatorId())
            if value.isDefined():
                shown.setdefault(metric.name(), set()).update(numbers(value.get()))
        if shown.get("transom watermark (ms since 1970)"):
            return (
                shown["transom watermark (ms since 1970)"],
                shown["transom watermark delay (ms)"],
            )
    raise AssertionError("Spark's UI shows no watermark")


def numbers(text: str) -> set[float]:
    """The numbers other than 0 of a metric: one, or the smallest, the median and the largest."""
    values = re.findall(r"\d[\d,.]*", text.partition("(stage ")[0])
    found = {float(value.strip(",").replace(",", "")) for value in values}
    return found - {0}


def test_stamped_rows(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "at", over=["key"], out_of_order=transom.Adjust("1 second"), arrival="known"
        )
        return transom.stream(rows, time=policy).stamped()

    rows = [row("a", 5, 1), row("b", 9, 2), row("a", 2, 3)]
    ((_, metrics),) = run(spark, tmp_path, pipeline, [rows])[0]
    assert counts(metrics) == {"rows_in": 3, "rows_out_of_order": 1, "rows_adjusted": 1}
    # The largest watermark of the substreams.
    assert gauges(metrics) == (utc(8), None, None)
