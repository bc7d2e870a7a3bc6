"""Windows over the results of a time policy: the watermark of the policy moves them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import cut, instant, millis
from tests.end_to_end.results.test_chaining import (
    FIRST,
    ON_TIME,
    PAIRS,
    SCHEMA,
    SECOND,
    TEN,
    as_input,
    fired,
    generated,
    native_counts,
)
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import run_restarted, run_stream
from tests.python.conditions import raises
from transom.inspection.metrics import named

MINUTE = transom.Tumbling(size="1 minute")
POLICY = transom.TimePolicy("time", out_of_order="5 seconds")
START = datetime(2024, 1, 1)
# A policy judges rows one by one, so the rows of a batch are in order. Batches overlap by less
# than the tolerance, so no row is late.
ORDERED = as_input([sorted(batch, key=lambda row: row[1] or 0) for batch in ON_TIME])


def windowed(rows: DataFrame, window: transom.Window = TEN) -> transom.Windowed:
    return transom.stream(rows, time=POLICY).key_by("key").window(window).options(name="first")


def counts(rows: DataFrame, window: transom.Window = TEN) -> DataFrame:
    return windowed(rows, window).agg(F.count("*").alias("rows"), F.sum("value").alias("total"))


def minutes(results: DataFrame) -> DataFrame:
    second = transom.stream(results, time="window").window(MINUTE).options(name="second")
    return second.agg(F.count("*").alias("windows"), F.sum("rows").alias("rows"))


def at(*seconds: float) -> list[tuple[object, ...]]:
    """Rows of one key at seconds after the start."""
    return [("a", START + timedelta(seconds=second), 1) for second in seconds]


def shown(results: list[Row]) -> list[tuple[int, int | list[int]]]:
    """The second at which each minute starts, and its number of rows, or the number of each."""
    return [
        (round((row["window"]["start"] - START).total_seconds()), row["rows"]) for row in results
    ]


def test_windows_over_results_fire_by_the_watermark(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        second = transom.stream(counts(rows), time="window").window(MINUTE).with_pane()
        return second.options(name="second").agg(F.sum("rows").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, [at(1, 12), at(70), at(135)])
    causes = [row["pane"]["cause"] for row in outcome.results]
    assert shown(outcome.results) == [(0, 2), (60, 1)]
    assert causes == ["watermark", "watermark"]


def test_windows_over_results_read_the_results_of_a_batch_in_the_order_that_is_named(
    spark: SparkSession,
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        second = transom.stream(counts(rows), time="window", order="rows").window(MINUTE)
        return second.options(name="second").agg(F.collect_list("rows").alias("rows"))

    # The first batch closes the window with two rows, and the second one those with three and one.
    outcome = run_stream(spark, pipeline, SCHEMA, [at(1, 2, 11, 12, 13, 21), at(135)])
    assert shown(outcome.results) == [(0, [2, 1, 3])]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_window_over_windows_gives_what_spark_gives_in_batch(
    spark: SparkSession, first: str, second: str
) -> None:
    (inner, native_inner), (outer, native_outer) = FIRST[first], SECOND[second]

    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(counts(rows, inner), time="window").window(outer)
        return windowed.agg(F.count("*").alias("windows"), F.sum("rows").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, ORDERED)
    grouped = native_counts(spark, native_inner()).groupBy(native_outer().alias("window"))
    expected = fired(grouped.agg(F.count("*").alias("windows"), F.sum("rows").alias("rows")))
    assert expected, "the stream should end windows"
    assert_same(outcome.results, expected, "window")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_batches_and_restarts_change_nothing(spark: SparkSession, seed: int) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        first = windowed(rows).with_pane().agg(F.count("*").alias("rows"))
        second = transom.stream(first, time="window").key_by("key").window(TEN)
        again = second.options(name="second").agg(F.sum("rows").alias("rows"))
        third = transom.stream(again, time="window").window(MINUTE).options(name="third")
        return third.agg(F.count("*").alias("windows"), F.sum("rows").alias("rows"))

    rows = [row for batch in generated(seed, behind=60_000) for row in batch]
    given = [(key, instant(time), value) for key, time, value in rows]
    whole = run_stream(spark, pipeline, SCHEMA, [given])
    assert whole.observed("first")["transom_rows_late"] > 0, "the stream should have late rows"
    assert len(whole.results) > 1

    chosen = random.Random(seed)
    batches = cut(given, chosen)[-5:]
    batches = [given[: len(given) - sum(map(len, batches))], *batches]
    parts = run_restarted(spark, pipeline, SCHEMA, batches, chosen.randrange(1, len(batches)))
    assert Counter(parts.results) == Counter(whole.results)
    for operator in ("second", "third"):
        observed = parts.observed(operator)
        assert observed["transom_rows_in"] > 0
        assert observed["transom_rows_late"] == 0


def test_a_second_window_fires_in_the_batch_of_the_watermark_that_ends_it(
    spark: SparkSession,
) -> None:
    # The row at 66 moves the watermark to 61. No result comes with it, but the minute is over.
    batches = [at(1, 25), at(61), at(66)]
    outcome = run_stream(spark, lambda rows: minutes(counts(rows)), SCHEMA, batches)
    last = max(batch for batch, rows in outcome.by_batch.items() if rows)
    assert shown(outcome.by_batch[last]) == [(0, 2)]
    assert last == 2
    assert outcome.observed("second")["transom_rows_in"] == 2


def test_late_results_are_late_by_the_watermark_before_their_batch(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        late = windowed(rows).allowed_lateness("10 minutes").agg(F.count("*").alias("rows"))
        second = transom.stream(late, time="window").window(MINUTE).with_late_rows()
        return second.options(name="second").agg(F.sum("rows").alias("rows"))

    # The row at 3 fires [0, 10) again while the minute is open, and the row at 4 after its end.
    batches = [at(1), at(20), at(3), at(70), at(4)]
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    # [0, 10) counts 1 row and then 2, and [20, 30) counts 1 row.
    assert shown(outcome.results) == [(0, 4)]
    assert [row["row"]["rows"] for row in outcome.late] == [3]
    assert outcome.observed("second")["transom_rows_late"] == 1


STEPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "columns and filters": lambda df: df.where("rows > 0").select("rows", F.col("window")),
    "explode": lambda df: df.withColumn("n", F.explode(F.array(F.lit(1)))).drop("n"),
    "a Python function": lambda df: df.withColumn("rows", F.udf(lambda n: n, "long")("rows")),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("step", STEPS)
def test_the_watermark_passes_steps_between(spark: SparkSession, step: str) -> None:
    outcome = run_stream(
        spark, lambda rows: minutes(STEPS[step](counts(rows))), SCHEMA, [at(1, 25), at(61, 66)]
    )
    assert shown(outcome.results) == [(0, 2)]


def with_other_rows(results: DataFrame) -> DataFrame:
    """The results of two operators, each with a watermark of its own."""
    rate = results.sparkSession.readStream.format("rate").load()
    other = transom.stream(rate, time=transom.TimePolicy("timestamp")).window(TEN)
    counted = other.options(name="others").agg(F.count("*").alias("rows"))
    return results.select("window", "rows").unionByName(counted)


LOST: dict[str, Callable[[DataFrame], DataFrame]] = {
    "repartition": lambda df: df.repartition(2),
    "join": lambda df: df.join(df.sparkSession.range(2), F.col("rows") == F.col("id"), "left"),
    "other rows": with_other_rows,
}


@pytest.mark.parametrize("step", LOST)
def test_what_stops_the_watermark_is_refused(
    spark: SparkSession, tmp_path: Path, step: str
) -> None:
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with raises("WATERMARK_LOST", "time"):
        minutes(LOST[step](counts(rows)))


def by_substream(rows: DataFrame) -> transom.Windowed:
    """Windows without a common watermark."""
    policy = transom.TimePolicy("time", over=["key"])
    return transom.stream(rows, time=policy).key_by("key").window(TEN)


def late_by_the_wall_clock(rows: DataFrame) -> transom.Windowed:
    """Windows that give late results in batches that may not know the watermark."""
    trigger = transom.Every("1 minute", clock="processing")
    return windowed(rows).trigger(trigger).allowed_lateness("1 minute")


@pytest.mark.parametrize("first", [by_substream, late_by_the_wall_clock])
def test_some_results_have_no_watermark(
    spark: SparkSession, tmp_path: Path, first: Callable[[DataFrame], transom.Windowed]
) -> None:
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with raises("NO_WATERMARK", "time"):
        minutes(first(rows).agg(F.count("*").alias("rows")))


@pytest.mark.parametrize("which", ["the first", "the second"])
def test_draining_one_operator_drains_both(spark: SparkSession, which: str) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        first = windowed(rows).drain() if which == "the first" else windowed(rows)
        results = first.agg(F.count("*").alias("rows"))
        second = transom.stream(results, time="window").window(MINUTE).options(name="second")
        drained = second.drain() if which == "the second" else second
        return drained.agg(F.sum("rows").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, [at(1, 25, 61)])
    assert sorted(shown(outcome.results)) == [(0, 2), (60, 1)]


def test_windows_that_include_their_end(spark: SparkSession) -> None:
    ten = transom.Tumbling(size="10 seconds", closed="right")
    minute = transom.Tumbling(size="1 minute", closed="right")

    def pipeline(rows: DataFrame) -> DataFrame:
        second = transom.stream(counts(rows, ten), time="window").window(minute)
        return second.agg(F.sum("rows").alias("rows"))

    # The row at 60 is in (50, 60] and so in the minute that ends at 60.
    outcome = run_stream(spark, pipeline, SCHEMA, [at(1, 60), at(61), at(66)])
    assert shown(outcome.results) == [(0, 2)]


def test_the_metrics_of_the_second_operator_show_the_watermark(spark: SparkSession) -> None:
    outcome = run_stream(spark, lambda rows: minutes(counts(rows)), SCHEMA, [at(1, 25), at(66)])
    reached = [
        named(progress.observedMetrics["second"].asDict())["transom_watermark_us"]
        for progress in outcome.progress
        if "second" in progress.observedMetrics
    ]
    assert reached[-1] == millis(START) * 1000 + 61_000_000


def test_a_static_dataframe_gives_the_same(spark: SparkSession) -> None:
    rows = [row for batch in ORDERED for row in batch]
    drained = run_stream(
        spark,
        lambda df: (
            transom.stream(windowed(df).drain().agg(rows=F.count("*")), time="window")
            .window(MINUTE)
            .options(name="second")
            .agg(F.sum("rows").alias("rows"))
        ),
        SCHEMA,
        ORDERED,
    )
    static = transom.stream(counts(spark.createDataFrame(rows, SCHEMA)), time="window")
    expected = static.window(MINUTE).agg(F.sum("rows").alias("rows")).collect()
    assert len(expected) > 1
    assert_same(drained.results, expected, "window")
