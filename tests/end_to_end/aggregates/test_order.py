"""Aggregates that depend on the order of rows read them in the order of `stream(order=)`."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime, timedelta

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "key string, time timestamp, place int"
START = datetime(2024, 1, 1)
TEN = transom.Tumbling(size="10 seconds")

Input = tuple[str, datetime, int]


def shuffled(batch: int) -> list[Input]:
    """Rows of one window of ten seconds. Neither their times nor their places are sorted."""
    chosen = random.Random(batch)
    places = chosen.sample(range(100), 40)
    return [
        (chosen.choice("ab"), START + timedelta(seconds=chosen.uniform(0, 9)), place)
        for place in places
    ]


BATCHES = [shuffled(0), shuffled(1)]


def ordered(rows: DataFrame) -> transom.Stream:
    clock = transom.EventTime("time", delay="1 minute")
    # The repartition changes the order of the file.
    return transom.stream(rows.repartition(3), time=clock, order="place").key_by("key")


def aggregates() -> list[Column]:
    return [
        F.first("place").alias("first"),
        F.last("place").alias("last"),
        F.collect_list("place").alias("all"),
    ]


def expected(batches: list[list[Input]]) -> dict[str, list[int]]:
    """The places of each key's rows: batch by batch, sorted within a batch."""
    places: dict[str, list[int]] = defaultdict(list)
    for batch in batches:
        for key, _, place in sorted(batch, key=lambda row: row[2]):
            places[key].append(place)
    return places


def assert_ordered(found: list[Row], places: dict[str, list[int]]) -> None:
    assert {row["key"]: row["all"] for row in found} == places
    assert {row["key"]: (row["first"], row["last"]) for row in found} == {
        key: (all_[0], all_[-1]) for key, all_ in places.items()
    }


# Each of these windows contains all rows of a key.
WINDOWS = {
    "tumbling": TEN,
    "sessions": transom.Session(gap="1 minute"),
    "calendar": transom.Calendar(unit="day", time_zone="UTC"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_rows_of_a_static_dataframe_come_in_the_order_that_is_named(
    spark: SparkSession, window: transom.Window
) -> None:
    rows = [row for batch in BATCHES for row in batch]
    found = ordered(spark.createDataFrame(rows, SCHEMA)).window(window).agg(*aggregates())
    assert_ordered(found.collect(), expected([rows]))


def test_rows_of_a_batch_come_in_the_order_that_is_named(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return ordered(rows).window(TEN).drain().agg(*aggregates())

    outcome = run_stream(spark, pipeline, SCHEMA, BATCHES)
    assert_ordered(outcome.results, expected(BATCHES))


def test_only_an_aggregate_that_depends_on_the_order_needs_the_keyed_layout(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame([], SCHEMA)
    stream = transom.stream(rows, time="time")
    with_order = transom.stream(rows, time="time", order="place")

    def layout(stream: transom.Stream, *columns: Column) -> str:
        lines = transom.explain(stream.window(TEN).agg(*columns)).splitlines()
        return next(line[14:] for line in lines if line.startswith("  layout "))

    in_order = "keyed: needed for {}() in the order of stream(order=)"
    assert layout(with_order, F.count("*"), F.first("place")) == in_order.format("first")
    assert layout(with_order, F.max_by("key", "place")) == in_order.format("max_by")
    assert layout(with_order, F.expr("any_value(key)")) == in_order.format("any_value")
    assert layout(stream, F.first("place")).startswith("slices: ")
    # The results of these aggregates do not depend on the order.
    for free in ("count(DISTINCT key)", "avg(place)", "stddev(place)", "bool_or(place > 1)"):
        assert layout(with_order, F.expr(free)).startswith("slices: ")
    largest = transom.reduce("place", F.greatest)
    assert layout(with_order, largest).startswith("slices: ")


def test_the_slice_log_is_refused_for_an_aggregate_in_order(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], SCHEMA)
    windowed = transom.stream(rows, time="time", order="place").window(TEN)
    in_slices = windowed.options(layout="slices")
    in_slices.agg(F.sum("place"))
    with pytest.raises(IllegalArgumentException, match="needs the keyed layout") as caught:
        in_slices.agg(F.sum("place"), F.collect_list("place"))
    assert caught.value.getCondition() == "TRANSOM_LAYOUT_UNSUPPORTED"
    assert caught.value.getMessageParameters() == {
        "part": "collect_list() in the order of stream(order=)"
    }
