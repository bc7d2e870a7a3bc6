"""Generated streams: our windows against Spark's batch windows and the model."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models.shapes import SHAPES, Shape, hopping, text
from tests.end_to_end.models.streams import DAY, MINUTE, Stream, examples, millis, streams
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import Outcome, run_stream

# Calendar windows need streams of days. All others use streams of minutes.
ANY = st.one_of([shape for name, shape in SHAPES.items() if name != "calendar"])


def aggregates() -> list[Column]:
    """Aggregates of several types. None depends on the order of rows."""
    value = F.col("value")
    return [
        F.count("*").alias("n"),
        # The model has no null.
        F.sum(F.coalesce(value, F.lit(0))).alias("total"),
        F.sort_array(F.collect_list("id")).alias("ids"),
        F.sum(value).alias("sum"),
        F.sum(value.cast("decimal(38,10)")).alias("exactly"),
        F.avg(value.cast("decimal(12,3)")).alias("mean"),
        F.sum(value / 7).alias("sevenths"),
        F.max(value.cast("string")).alias("text"),
        F.max(F.array(value)).alias("array"),
        F.min(F.struct(value, "id")).alias("struct"),
        F.max("time").alias("last"),
        F.bool_or(value > 90).alias("any"),
        F.count_distinct("value").alias("values"),
    ]


def windowed(rows: DataFrame, shape: Shape, delay: int) -> transom.Windowed:
    time = transom.EventTime("time", delay=text(delay)) if rows.isStreaming else "time"
    return transom.stream(rows, time=time).key_by("key").window(shape.window)


def run(
    spark: SparkSession,
    stream: Stream,
    shape: Shape,
    *,
    checkpoint: Path | None = None,
    drain: bool = False,
) -> Outcome:
    def pipeline(rows: DataFrame) -> DataFrame:
        late = windowed(rows, shape, stream.delay).with_late_rows(partly=True)
        return (late.drain() if drain else late).agg(*aggregates())

    return run_stream(spark, pipeline, stream.schema, stream.for_spark(), checkpoint=checkpoint)


def static(spark: SparkSession, stream: Stream) -> DataFrame:
    return spark.createDataFrame(
        [row for batch in stream.for_spark() for row in batch], stream.schema
    )


def results(outcome: Iterable[Row]) -> Counter[str]:
    """Rows for an exact comparison, without floating-point sums."""
    return Counter(
        repr([row[name] for name in row.__fields__ if name != "sevenths"]) for row in outcome
    )


def late(outcome: Outcome) -> Counter[str]:
    return Counter(
        repr((row["row"], row["reason"], sorted(row["missed_windows"]), row["watermark"]))
        for row in outcome.late
    )


def as_modelled(outcome: Outcome) -> tuple[Counter[model.Result], Counter[model.Row]]:
    fired: Counter[model.Result] = Counter(
        (
            repr(r["key"]),
            millis(r["window"]["start"]),
            millis(r["window"]["end"]),
            r["n"],
            r["total"],
        )
        for r in outcome.results
    )
    whole = [r["row"] for r in outcome.late if r["reason"] != "late_partly"]
    return fired, Counter((repr(r["key"]), millis(r["time"]), r["value"] or 0) for r in whole)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", SHAPES)
@given(data=st.data())
@examples(2)
def test_a_stream_gives_what_the_rules_say(
    spark: SparkSession, kind: str, data: st.DataObject
) -> None:
    shape = data.draw(SHAPES[kind])
    stream = data.draw(streams(span=40 * DAY if kind == "calendar" else MINUTE))
    outcome = run(spark, stream, shape)
    expected, expected_late = shape.modelled(stream)
    fired, refused = as_modelled(outcome)
    assert fired == Counter(expected)
    assert refused == Counter(expected_late)


@given(stream=streams(), shape=hopping().filter(lambda shape: shape.native is not None))
@examples(3)
def test_windows_hold_what_sparks_hold_but_for_late_rows(
    spark: SparkSession, stream: Stream, shape: Shape
) -> None:
    assert shape.native is not None
    outcome = run(spark, stream, shape, drain=True)
    missed = [
        (row["row"]["id"], window["start"])
        for row in outcome.late
        for window in row["missed_windows"]
    ]
    in_windows = static(spark, stream).select(
        "*", shape.native().alias("window"), F.col("window.start").alias("start")
    )
    taken = in_windows.join(
        spark.createDataFrame(missed, "id long, start timestamp"), ["id", "start"], "left_anti"
    )
    expected = taken.groupBy("key", "window").agg(*aggregates())
    assert_same(outcome.results, expected.collect(), "key", "window")


@given(stream=streams(on_time=True), shape=ANY, cuts=st.randoms(use_true_random=False))
@examples(4)
def test_with_all_rows_on_time_neither_cuts_nor_streaming_change_anything(
    spark: SparkSession, stream: Stream, shape: Shape, cuts: random.Random
) -> None:
    rows = list(stream.rows)
    cuts.shuffle(rows)
    cut = cuts.randrange(len(rows) + 1)
    recut = replace(stream, batches=(tuple(rows[:cut]), tuple(rows[cut:])))
    outcome = run(spark, recut, shape, drain=True)
    assert outcome.late == []

    df = spark.createDataFrame(
        [row for batch in stream.for_spark() for row in batch], stream.schema
    )
    ours = windowed(df, shape, 0).agg(*aggregates())
    assert_same(outcome.results, ours.collect(), "key", "window")
    if shape.native is not None:
        timed = df.where("time IS NOT NULL")
        native = timed.groupBy("key", shape.native().alias("window")).agg(*aggregates())
        assert_same(outcome.results, native.collect(), "key", "window")


@given(stream=streams(), shape=ANY, chosen=st.randoms(use_true_random=False))
@examples(3)
def test_restarts_and_the_order_within_batches_change_nothing(
    spark: SparkSession, stream: Stream, shape: Shape, chosen: random.Random
) -> None:
    # Otherwise each run would end with a batch without data, which moves the watermark.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    try:
        whole = run(spark, stream, shape)
        shuffled = tuple(tuple(chosen.sample(b, len(b))) for b in stream.batches)
        cut = chosen.randrange(1, len(shuffled))
        with TemporaryDirectory() as folder:
            parts = [
                run(spark, replace(stream, batches=batches), shape, checkpoint=Path(folder))
                for batches in (shuffled[:cut], shuffled[cut:])
            ]
    finally:
        spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
    assert results(whole.results) == results([*parts[0].results, *parts[1].results])
    assert late(whole) == late(parts[0]) + late(parts[1])


@given(stream=streams(), shape=ANY)
@examples(3)
def test_every_row_is_in_a_window_late_in_a_gap_or_without_time(
    spark: SparkSession, stream: Stream, shape: Shape
) -> None:
    outcome = run(spark, stream, shape, drain=True)
    in_windows = {id_ for row in outcome.results for id_ in row["ids"]}
    refused = [row["row"]["id"] for row in outcome.late if row["reason"] != "late_partly"]
    counts = outcome.observed()
    assert counts["transom_rows_in"] == len(stream.rows)
    assert counts["transom_rows_late"] == len(refused)
    assert counts["transom_rows_without_time"] == stream.without_time
    assert in_windows.isdisjoint(refused)
    elsewhere = ("transom_rows_late", "transom_rows_in_gaps", "transom_rows_without_time")
    assert len(in_windows) + sum(counts[name] for name in elsewhere) == len(stream.rows)


def test_sparks_sessions_are_the_inclusive_ones(spark: SparkSession) -> None:
    rows = [(i, "k", timedelta(seconds=s)) for i, s in enumerate([0, 5, 11])]
    df = spark.createDataFrame(rows, "id long, key string, after interval day to second").select(
        "id", "key", (F.lit("2024-01-01").cast("timestamp") + F.col("after")).alias("time")
    )
    counts = {
        inclusive: [
            row["n"]
            for row in transom.stream(df, time="time")
            .key_by("key")
            .window(transom.Session(gap="5 seconds", inclusive=inclusive))
            .agg(F.count("*").alias("n"))
            .orderBy("window")
            .collect()
        ]
        for inclusive in (True, False)
    }
    native = df.groupBy("key", F.session_window("time", "5 seconds")).count()
    assert counts == {True: [2, 1], False: [1, 1, 1]}
    assert [row["count"] for row in native.orderBy("session_window").collect()] == [2, 1]
