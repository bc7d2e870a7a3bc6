"""Windows over the lifetimes of results: the watermark of a time policy moves them."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG, cut
from tests.end_to_end.results.test_chaining import FIRST, SCHEMA, native_counts
from tests.end_to_end.results.test_chaining_policies import ORDERED, POLICY, at
from tests.end_to_end.support.queries import Outcome, run_restarted, run_stream
from tests.python.conditions import raises

POINT = "point_align_to_window_end"
CLIP = "clip_to_window_end"
TICK = timedelta(microseconds=1)
START = datetime(2024, 1, 1)
ROWS = [row for batch in ORDERED for row in batch]


def first(rows: DataFrame, window: transom.Window, policy: Any) -> DataFrame:
    windowed = transom.stream(rows, time=POLICY).key_by("key").window(window)
    return windowed.output_policy(policy).options(name="first").agg(F.count("*").alias("rows"))


def second(results: DataFrame, window: transom.Window) -> transom.Windowed:
    stream = transom.stream(results, time="lifetime.start", lifetime="lifetime.end")
    return stream.window(window).options(name="second")


def valid(results: DataFrame, window: transom.Window) -> DataFrame:
    return second(results, window).agg(F.count("*").alias("valid"))


def shown(results: list[Row]) -> Counter[tuple[datetime, datetime, int]]:
    return Counter((row["window"]["start"], row["window"]["end"], row["valid"]) for row in results)


def nothing_is_late(outcome: Outcome) -> bool:
    observed = outcome.observed("second")
    return observed["transom_rows_late"] == 0 and observed["transom_rows_late_partly"] == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("inner", "policy"),
    [("tumbling", CLIP), ("hopping", CLIP), ("hopping", POINT), ("sessions", POINT)],
)
def test_snapshots_count_the_results_that_are_valid_at_once(
    spark: SparkSession, inner: str, policy: str
) -> None:
    window, native = FIRST[inner]
    bounds = [tuple(row["window"]) for row in native_counts(spark, native()).collect()]
    lives = bounds if policy == CLIP else [(end, end + TICK) for _, end in bounds]
    ends = sorted({end for life in lives for end in life})
    expected = {
        (start, end, sum(life[0] <= start and end <= life[1] for life in lives))
        for start, end in pairwise(ends)
    }

    def pipeline(rows: DataFrame) -> DataFrame:
        drained = second(first(rows, window, policy), transom.Snapshot()).drain()
        return drained.agg(F.count("*").alias("valid"))

    outcome = run_stream(spark, pipeline, SCHEMA, ORDERED)
    assert shown(outcome.results) == Counter(window for window in expected if window[2])
    assert nothing_is_late(outcome)


FIRST_WINDOWS: list[tuple[transom.Window, str]] = [
    (transom.Hopping("10 seconds", slide="4 seconds", closed="right"), CLIP),
    (transom.Hopping("10 seconds", slide="4 seconds", closed="right"), POINT),
    (transom.Rolling("7 seconds"), POINT),
    (transom.CountByStart(3), POINT),
]
SECOND_WINDOWS: list[transom.Window] = [
    transom.Snapshot(),
    transom.Hopping("30 seconds", slide="10 seconds"),
]


# Each of the windows once, or each pair.
CHAINS = [
    (inner, policy, outer)
    for i, (inner, policy) in enumerate(FIRST_WINDOWS)
    for k, outer in enumerate(SECOND_WINDOWS)
    if LONG or i % 2 == k
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("inner", "policy", "outer"), CHAINS, ids=repr)
def test_batches_and_restarts_change_nothing(
    spark: SparkSession, inner: transom.Window, policy: str, outer: transom.Window
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return valid(first(rows, inner, policy), outer)

    static = pipeline(spark.createDataFrame(ROWS, SCHEMA)).collect()
    whole = run_stream(spark, pipeline, SCHEMA, [ROWS])
    assert len(whole.results) > 4
    # In the static DataFrame, the end of the input also fires the windows that are open.
    assert shown(whole.results) <= shown(static)
    chosen = random.Random(repr(inner) + repr(outer))
    batches = cut(ROWS, chosen)[-5:]
    batches = [ROWS[: len(ROWS) - sum(map(len, batches))], *batches]
    outcome = run_restarted(spark, pipeline, SCHEMA, batches, chosen.randrange(1, len(batches)))
    assert shown(outcome.results) == shown(whole.results)
    assert nothing_is_late(outcome)


@pytest.mark.parametrize(("policy", "fired"), [(POINT, [10]), (CLIP, [0, 10])])
def test_a_window_fires_once_no_result_can_start_before_its_end(
    spark: SparkSession, policy: str, fired: list[int]
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        ten = transom.Tumbling("10 seconds")
        return valid(first(rows, ten, policy), ten)

    # The watermark is at 21 in the end, and the window from 20 on is open. Its result will be a
    # point at 30, or start at 20. The points of the windows before are at 10 and at 20.
    outcome = run_stream(spark, pipeline, SCHEMA, [at(1, 11), at(21), at(26)])
    starts = [(row["window"]["start"] - START).total_seconds() for row in outcome.results]
    assert starts == fired


@pytest.mark.parametrize("window", [transom.Snapshot(), transom.Session("4 seconds")], ids=repr)
def test_the_lifetimes_of_windows_without_a_grid_have_no_watermark(
    spark: SparkSession, tmp_path: Path, window: transom.Window
) -> None:
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with raises("NO_WATERMARK", "time"):
        valid(first(rows, window, CLIP), transom.Snapshot())
