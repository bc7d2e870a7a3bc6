"""`Windows`, `top`, `changes_only` and `with_watermarks` over windows that hold lifetimes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_by_hand import SCHEMA, at, row
from tests.end_to_end.support.queries import run_stream

DAY = timedelta(days=1)
MEMBERS = {
    "grid": transom.Hopping("10 seconds", "5 seconds"),
    "snapshot": transom.Snapshot(),
    "starts": transom.CountByStart(3),
}


def by_key(rows: DataFrame, lifetime: Any = "until") -> transom.Stream:
    time = transom.EventTime("start", delay="0 seconds")
    return transom.stream(rows, time=time, lifetime=lifetime).key_by("key")


def seconds(instant: datetime) -> float:
    return (instant - at(0)) / timedelta(seconds=1)


def bounds(result: Row) -> tuple[float, float]:
    return seconds(result["window"]["start"]), seconds(result["window"]["end"])


def results(
    spark: SparkSession,
    pipeline: Callable[[transom.Stream], DataFrame],
    rows: Sequence[tuple[Any, ...]],
    *,
    is_streaming: bool,
    lifetime: Any = "until",
) -> list[Row]:
    """The results over a static DataFrame, or over a stream of at most five batches."""
    if not is_streaming:
        return pipeline(by_key(spark.createDataFrame(list(rows), SCHEMA), lifetime)).collect()
    size = -(-len(rows) // 5)
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    return run_stream(spark, lambda read: pipeline(by_key(read, lifetime)), SCHEMA, batches).results


@pytest.mark.parametrize("is_streaming", [False, True])
def test_several_windows_give_what_each_of_them_gives_alone(
    spark: SparkSession, *, is_streaming: bool
) -> None:
    chosen = random.Random(3)
    starts = sorted(chosen.randrange(60) for _ in range(20))
    rows = [
        row(n, chosen.choice("ab"), start, start + chosen.randrange(1, 25))
        for n, start in enumerate(starts)
    ]

    def listed(window: transom.Window) -> Callable[[transom.Stream], DataFrame]:
        def pipeline(stream: transom.Stream) -> DataFrame:
            return stream.window(window).drain().agg(rows=F.sort_array(F.collect_list("n")))

        return pipeline

    def shown(name: str, result: Row) -> tuple[Any, ...]:
        return name, result["key"], bounds(result), result["rows"]

    together = results(spark, listed(transom.Windows(MEMBERS)), rows, is_streaming=is_streaming)
    alone = [
        shown(name, result)
        for name, window in MEMBERS.items()
        for result in results(spark, listed(window), rows, is_streaming=False)
    ]
    assert {name for name, *_ in alone} == {*MEMBERS}
    assert sorted(shown(result["window_id"], result) for result in together) == sorted(alone)


# Rows 2 and 3 are equal in the order, and row 1 is behind them.
RANKED = [row(1, "a", 0, 10), row(2, "a", 5, 15), row(3, "a", 5, 8)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_streaming", [False, True])
@pytest.mark.parametrize(
    ("window", "lifetime", "expected"),
    [
        (
            transom.Snapshot(),
            "until",
            {(0, 5): [1], (5, 8): [2, 3], (8, 10): [2], (10, 15): [2]},
        ),
        (transom.CountByStart(2), None, {(0, 5.000001): [2, 3]}),
        (transom.Rolling("6 seconds"), None, {(-6, 0): [1], (-1, 5): [2, 3], (0, 6): [2, 3]}),
    ],
    ids=["Snapshot", "CountByStart", "Rolling"],
)
def test_each_window_has_its_first_rows(
    spark: SparkSession,
    window: transom.Window,
    lifetime: Any,
    expected: dict[tuple[float, float], list[int]],
    *,
    is_streaming: bool,
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(window).drain().top(1, F.desc(F.col("n") > 1))

    found: dict[tuple[float, float], list[int]] = {}
    for result in results(spark, pipeline, RANKED, is_streaming=is_streaming, lifetime=lifetime):
        assert result["rank"] == 1
        found.setdefault(bounds(result), []).append(result["n"])
    assert {at_: sorted(rows) for at_, rows in found.items()} == expected


@pytest.mark.parametrize("is_streaming", [False, True])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (transom.Calendar("day", time_zone="UTC"), [(0, 1, [1]), (3, 4, [2])]),
        # The grid of six days starts on 31 December, day -1. Each larger window also holds the
        # earlier rows.
        (transom.Cumulate("6 days", "1 day"), [(-1, 1, [1]), (-1, 4, [1, 2])]),
    ],
    ids=["Calendar", "Cumulate"],
)
def test_changes_only_emits_when_the_rows_of_a_window_change(
    spark: SparkSession,
    window: transom.Window,
    expected: list[tuple[float, float, list[int]]],
    *,
    is_streaming: bool,
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windows = stream.window(window).changes_only().drain()
        return windows.agg(rows=F.sort_array(F.collect_list("n")))

    day = DAY.total_seconds()
    rows = [row(1, "a", 0, 2.5 * day), row(2, "a", 3 * day, 3.5 * day)]
    found = results(spark, pipeline, rows, is_streaming=is_streaming)
    shown = [(*(bound / day for bound in bounds(result)), result["rows"]) for result in found]
    assert sorted(shown) == expected


@pytest.mark.parametrize("is_streaming", [False, True])
def test_lifetimes_can_be_shifted_and_altered(spark: SparkSession, *, is_streaming: bool) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        shifted = rows.withColumn("start", F.col("start") + F.expr("INTERVAL 1 HOUR"))
        time = transom.EventTime("start", delay="1 day")
        lifetime = transom.Lifetime(duration="5 seconds")
        windows = transom.stream(shifted, time=time, lifetime=lifetime).window(transom.Snapshot())
        return windows.drain().agg(rows=F.sort_array(F.collect_list("n")))

    rows = [row(1, "a", 0, 100), row(2, "a", 3, 100)]
    if is_streaming:
        found = run_stream(spark, pipeline, SCHEMA, [[each] for each in rows]).results
    else:
        found = pipeline(spark.createDataFrame(rows, SCHEMA)).collect()
    assert sorted((*bounds(result), result["rows"]) for result in found) == [
        (3600, 3603, [1]),
        (3603, 3605, [1, 2]),
        (3605, 3608, [2]),
    ]


def test_the_watermarks_of_results_are_the_punctuation_of_another_query(
    spark: SparkSession,
) -> None:
    ten = transom.Tumbling("10 seconds")

    def counted(rows: DataFrame) -> DataFrame:
        windows = transom.stream(rows, time=transom.TimePolicy("start")).key_by("key").window(ten)
        return windows.output_policy("clip_to_window_end").with_watermarks().agg(n=F.count("*"))

    first = run_stream(spark, counted, SCHEMA, [[row(1, "a", 3, None)], [row(2, "a", 27, None)]])
    marks = [
        tagged["watermarks"]["watermark"]
        for _, batch in sorted(first.by_batch.items())
        for tagged in batch
        if tagged["tag"] == "watermarks"
    ]
    # The window from 20 to 30 is open.
    assert marks == [at(0), at(20)]

    def imported(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "start", advance=transom.Punctuated("key = 'watermark'", at="start")
        )
        windows = transom.stream(rows, time=policy, order="n").window(ten)
        return windows.agg(rows=F.sort_array(F.collect_list("n")))

    others = [row(1, "b", 12, None), row(2, "b", 21, None), row(3, "b", 4, None)]
    punctuation = [(9, "watermark", mark, None) for mark in marks]
    second = run_stream(spark, imported, SCHEMA, [others, punctuation[:1], punctuation[1:]])
    assert [(*bounds(result), result["rows"]) for result in sorted(second.by_batch[2])] == [
        (0, 10, [3]),
        (10, 20, [1]),
    ]
    assert len(second.results) == 2
