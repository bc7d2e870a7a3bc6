"""Lifetimes where clocks change, of times without a time zone, and of earlier windows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom


@pytest.fixture
def in_rome(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Rome")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def hours_of(results: DataFrame) -> list[float]:
    """The length of each window in hours, however clocks show it."""
    seconds = [
        F.unix_micros(F.col(f"window.{name}").cast("timestamp")) for name in ("end", "start")
    ]
    length = ((seconds[0] - seconds[1]) / F.lit(3_600_000_000)).alias("hours")
    return [
        row["hours"] for row in results.select("window.start", length).orderBy("start").collect()
    ]


# On 2024-03-31 clocks in Rome go forward from 02:00 to 03:00.
BEFORE = "timestamp '2024-03-30 12:00:00'"


@pytest.mark.parametrize("length", ["1 day", "make_dt_interval(1)"])
def test_a_duration_of_a_day_lasts_24_hours(in_rome: SparkSession, length: str) -> None:
    rows = in_rome.sql(f"select {BEFORE} as at")
    duration = F.expr(length) if "(" in length else length
    lifetime = transom.Lifetime(duration=duration)
    days = transom.stream(rows, time="at", lifetime=lifetime).window_all(transom.Snapshot())
    assert hours_of(days.agg(F.count("*").alias("n"))) == [24]


def test_an_end_without_time_zone_is_in_the_zone_of_the_session(in_rome: SparkSession) -> None:
    rows = in_rome.sql(f"select {BEFORE} as at, timestamp_ntz '2024-03-30 13:00:00' as until")
    hours = transom.stream(rows, time="at", lifetime="until").window_all(transom.Snapshot())
    assert hours_of(hours.agg(F.count("*").alias("n"))) == [1]


def test_times_without_time_zone_have_ends_without_time_zone(in_rome: SparkSession) -> None:
    ntz = "timestamp_ntz '2024-03-31 {}:00:00'"
    rows = in_rome.sql(f"select {ntz.format('01')} as at, {ntz.format('04')} as until")
    found = transom.stream(rows, time="at", lifetime="until").window_all(transom.Snapshot())
    (row,) = (
        found.agg(F.count("*").alias("n")).selectExpr("window.start s", "window.end e").collect()
    )
    assert (row["s"].hour, row["e"].hour) == (1, 4)


def test_a_result_of_an_earlier_window_lasts_from_its_last_instant(spark: SparkSession) -> None:
    rows = spark.sql("select timestamp '2024-01-01 05:40:00' as at")
    hours = transom.stream(rows, time="at").window_all(transom.Tumbling(size="1 hour"))
    counts = hours.agg(F.count("*").alias("n"))
    lifetime = transom.Lifetime(duration="1 hour")
    lasting = transom.stream(counts, time="window", lifetime=lifetime)
    (row,) = lasting.window_all(transom.Snapshot()).agg(F.sum("n").alias("n")).collect()
    assert [str(row["window"][name]) for name in ("start", "end")] == [
        "2024-01-01 05:59:59.999999",
        "2024-01-01 06:59:59.999999",
    ]
