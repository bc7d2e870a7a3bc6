"""Lifetimes of real events: reports under review, and flights that wait."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_against_a_model import SCHEMA as LIVED
from tests.end_to_end.lifetimes.test_against_a_model import (
    as_input,
    check,
    contents,
    modelled,
    summed,
)
from tests.end_to_end.support.lifetimes import SECOND, Lived, Windows
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.real_data import earthquakes, flights

HOURS = transom.Hopping(size="1 hour", slide="30 minutes")


def reports() -> list[Lived]:
    """Earthquakes from their time to the last update of their report, in order of the update."""
    return [Lived(e.n, e.key, e.at, e.known) for e in earthquakes() if e.at < e.known]


def waiting(count: int) -> list[Lived]:
    """Flights from their scheduled time to their departure."""
    late = [Lived(e.n, e.key, e.at, e.known) for e in flights() if e.at < e.known]
    return late[:count]


@pytest.mark.parametrize("window", [transom.Snapshot(), HOURS], ids=repr)
def test_flights_that_wait_at_each_airport(spark: SparkSession, window: transom.Window) -> None:
    rows = waiting(4_000)
    df = spark.createDataFrame(as_input(rows), LIVED)
    expected = Windows(window, rows, drained=True).fired
    assert len(expected) > 400
    assert contents(summed(window, lived=True)(df).collect()) == expected


@pytest.mark.parametrize("window", [transom.Snapshot(), HOURS, transom.CountByStart(5)], ids=repr)
def test_reports_under_review_in_a_stream(spark: SparkSession, window: transom.Window) -> None:
    batches = in_batches_of(reports(), 4)
    pipeline = summed(window, lived=True, delay="1 hour")
    outcome = run_stream(spark, pipeline, LIVED, [as_input(batch) for batch in batches])
    expected = modelled(window, batches, 3_600 * SECOND, lived=True)
    assert len(expected.late | expected.partly_late) > 50
    check(outcome, expected)


def in_batches_of(rows: list[Lived], count: int) -> list[list[Lived]]:
    """Cut rows into batches of one size."""
    size = -(-len(rows) // count)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def test_the_number_of_waiting_flights_is_that_of_spark(spark: SparkSession) -> None:
    """A snapshot counts as many flights as a join of its start with the flights."""
    rows: DataFrame = spark.createDataFrame(as_input(waiting(4_000)), LIVED).cache()
    by_key = transom.stream(rows, time="start", lifetime="until").key_by("key")
    snapshots = by_key.window(transom.Snapshot()).agg(F.count("*").alias("flights"))
    ours = snapshots.select("key", F.col("window.start").alias("since"), "flights").cache()
    other = rows.withColumnRenamed("key", "at")
    is_live = (F.col("start") <= F.col("since")) & (F.col("since") < F.col("until"))
    joined = ours.join(other, (F.col("at") == F.col("key")) & is_live)
    theirs = joined.groupBy("key", "since").agg(F.count("*").alias("flights"))
    assert ours.count() > 1_000
    assert ours.exceptAll(theirs).count() == 0
    assert theirs.exceptAll(ours).count() == 0
