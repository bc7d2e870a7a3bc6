"""Lifetimes of real events: reports, flights that wait or fly, and readings of a sensor."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from examples.demo.flights import instants, table
from tests.end_to_end.lifetimes.test_against_a_model import SCHEMA as LIVED
from tests.end_to_end.lifetimes.test_against_a_model import (
    as_input,
    check,
    contents,
    modelled,
    summed,
)
from tests.end_to_end.models.lifetimes import SECOND, Lived, Windows
from tests.end_to_end.models.streams import EPOCH
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.real_data import earthquakes, flights, machine_temperature

HOURS = transom.Hopping(size="1 hour", slide="30 minutes")
MINUTE = timedelta(minutes=1)
READINGS = "at timestamp, until timestamp, value double"
AIRBORNE = "origin string, departed timestamp, landed timestamp"
Reading = tuple[datetime, datetime, float]
Flight = tuple[str, datetime, datetime]


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


@pytest.mark.sampled(3)
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


def readings() -> list[Reading]:
    """Readings until the next later one. The last reading has no known end and is left out."""
    logged = machine_temperature()
    until = dict(pairwise(sorted({at for at, _ in logged})))
    return [(at, until[at], value) for at, value in logged if at in until]


def averages(
    rows: Sequence[Reading], size: timedelta, slide: timedelta
) -> dict[datetime, tuple[float, int]]:
    """The average of each window and its number of samples, one per reading and minute.

    All readings start and end on whole minutes.
    """
    samples: dict[datetime, list[float]] = defaultdict(list)
    for at, until, value in rows:
        for minute in steps(at, until, MINUTE):
            for start in steps(minute - (minute - EPOCH) % slide, minute - size, -slide):
                samples[start].append(value)
    return {start: (sum(values) / len(values), len(values)) for start, values in samples.items()}


def steps(first: datetime, end: datetime, step: timedelta) -> Iterator[datetime]:
    return (first + n * step for n in range(-((first - end) // step)))


def time_weighted(rows: DataFrame, window: transom.Window) -> DataFrame:
    """The average of each window, with the minutes of its readings."""

    def average(rows: pa.Table, context: transom.Context) -> pa.Table:
        bounds: Any = context.window
        held = [
            (min(row["until"], bounds.end) - max(row["at"], bounds.start), row["value"])
            for row in rows.to_pylist()
        ]
        seconds = sum(length.total_seconds() for length, _ in held)
        weighted = sum(length.total_seconds() * value for length, value in held)
        return pa.table({"average": [weighted / seconds], "minutes": [seconds / 60]})

    # The clock of the log goes back by 55 minutes.
    time = transom.EventTime("at", delay="1 hour")
    windowed = transom.stream(rows, time=time, lifetime="until").window_all(window)
    if rows.isStreaming:
        windowed = windowed.drain()
    return windowed.apply(average, "average double, minutes double")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_stream", [False, True], ids=["static", "stream"])
@pytest.mark.parametrize(
    "window",
    [
        transom.Hopping(size="1 hour", slide="1 hour"),
        transom.Hopping(size="3 hours", slide="45 minutes"),
    ],
    ids=repr,
)
def test_the_time_weighted_average_is_that_of_samples_of_each_minute(
    spark: SparkSession, window: transom.Hopping, *, is_stream: bool
) -> None:
    rows = readings()
    results: list[Row]
    if is_stream:
        third = len(rows) // 3
        batches = [rows[:third], rows[third : 2 * third], rows[2 * third :]]
        outcome = run_stream(spark, lambda df: time_weighted(df, window), READINGS, batches)
        results = outcome.results
    else:
        results = time_weighted(spark.createDataFrame(rows, READINGS), window).collect()
    size, slide = window.size, window.slide
    assert isinstance(size, timedelta)
    assert isinstance(slide, timedelta)
    expected = averages(rows, size, slide)
    assert len(results) == len(expected) > 300
    for row in results:
        average, minutes = expected[row["window"]["start"]]
        assert row["average"] == pytest.approx(average, rel=1e-9)
        assert row["minutes"] == minutes


def airborne() -> list[Flight]:
    """Flights from three airports on two days of March 2013, from departure to landing.

    On the second day clocks go forward.
    """
    all_flights = table("flights.csv.zip")
    days = all_flights[(all_flights["month"] == 3) & all_flights["day"].between(9, 10)]
    known = instants(days, table("airports.csv")).dropna(subset=["departed", "landed"])
    times = [known[name].dt.tz_localize(None) for name in ("departed", "landed")]
    return [
        (origin, departed.to_pydatetime(), landed.to_pydatetime())
        for origin, departed, landed in zip(known["origin"], *times, strict=True)
    ]


def planes(flights: Sequence[Flight], size: timedelta) -> Counter[tuple[str, datetime]]:
    """The number of planes in the air by airport, and by the start of each minute or hour."""
    return Counter(
        (origin, start)
        for origin, departed, landed in flights
        for start in steps(departed - (departed - EPOCH) % size, landed, size)
    )


def counted(rows: DataFrame, window: transom.Window) -> DataFrame:
    time = transom.EventTime("departed", delay="1 day")
    by_origin = transom.stream(rows, time=time, lifetime="landed").key_by("origin").window(window)
    drained = by_origin.drain() if rows.isStreaming else by_origin
    return drained.agg(F.count("*").alias("planes"))


@pytest.mark.parametrize("size", [MINUTE, timedelta(hours=1)], ids=str)
def test_planes_in_the_air_are_counted_for_each_minute_and_hour(
    spark: SparkSession, size: timedelta
) -> None:
    rows = airborne()
    results = counted(spark.createDataFrame(rows, AIRBORNE), transom.Tumbling(size=size)).collect()
    found = {(row["origin"], row["window"]["start"]): row["planes"] for row in results}
    assert found == planes(rows, size)
    assert len(results) == len(found)
    assert max(found.values()) > 50


def test_planes_in_the_air_are_counted_in_a_stream_of_landings(spark: SparkSession) -> None:
    rows = sorted(airborne(), key=lambda flight: flight[2])
    hour = timedelta(hours=1)
    outcome = run_stream(
        spark,
        lambda df: counted(df, transom.Tumbling(size=hour)),
        AIRBORNE,
        [rows[:500], rows[500:900], rows[900:]],
    )
    found = {(row["origin"], row["window"]["start"]): row["planes"] for row in outcome.results}
    assert found == planes(rows, hour)


def test_a_snapshot_has_the_planes_of_each_of_its_minutes(spark: SparkSession) -> None:
    rows = airborne()
    found: Counter[tuple[str, datetime]] = Counter()
    for row in counted(spark.createDataFrame(rows, AIRBORNE), transom.Snapshot()).collect():
        window = row["window"]
        for minute in steps(window["start"], window["end"], MINUTE):
            assert (row["origin"], minute) not in found
            found[row["origin"], minute] = row["planes"]
    assert found == planes(rows, MINUTE)
