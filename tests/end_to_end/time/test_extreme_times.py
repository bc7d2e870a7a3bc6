"""Times at both ends of what Spark holds. A row gets a result or is a dead letter."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG

HOUR = 3_600 * 1_000_000
# The first and the last microsecond of the years 1 to 9999, in UTC.
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
NOW = 1_704_067_200_000_000
USABLE: dict[str, int] = {
    "first": FIRST,
    "after first": FIRST + 1,
    "first morning": FIRST + 6 * HOUR,
    "before the calendar changed": -12_219_724_800_000_000,
    "before 1970": -1,
    "1970": 0,
    "now": NOW,
    "last afternoon": LAST - 6 * HOUR,
    "last": LAST,
}
UNUSABLE: dict[str, int | None] = {
    "least": -(2**63),
    "long ago": -(10**18),
    "year 0": FIRST - 1,
    "year 10000": LAST + 1,
    "far away": 10**18,
    "largest": 2**63 - 1,
    "none": None,
}
TIMES: dict[str, int | None] = {**USABLE, **UNUSABLE}
REASONS = Counter({"time_out_of_range": 6, "no_time": 1})

ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Apia", "Africa/Monrovia"]


def grids() -> list[transom.Window]:
    """Windows that contain the times of their rows."""
    zoned: list[transom.Window] = []
    for zone in ZONES if LONG else ZONES[1:4]:
        zoned += [
            transom.Tumbling("1 day", time_zone=zone),
            transom.Hopping("10 days", "1 day", time_zone=zone),
            transom.Calendar("week", time_zone=zone, first_day="sunday"),
            transom.Calendar("year", every=1_000, time_zone=zone),
        ]
    return [
        transom.Tumbling("1 hour", offset="30 minutes"),
        transom.Tumbling("5000000 days"),
        transom.Hopping("3650 days", "365 days"),
        transom.Cumulate("1 day", "6 hours"),
        transom.Session("1 hour"),
        transom.Session("3000000 days"),
        transom.Session("1 hour", max_duration="1 day"),
        *zoned,
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("window", grids(), ids=repr)
def test_each_time_of_the_years_1_to_9999_is_in_a_window(
    spark: SparkSession, window: transom.Window
) -> None:
    rows = spark.createDataFrame([*TIMES.items()], "name string, micros long")
    stream = transom.stream(rows, time=F.timestamp_micros("micros"))
    found = (
        stream.window(window)
        .with_dead_letters()
        .agg(F.collect_list(F.struct("name", "micros")).alias("rows"))
        # A window may reach beyond the years that Python has.
        .select(
            F.unix_micros("results.window.start").alias("start"),
            F.unix_micros("results.window.end").alias("end"),
            "results.rows",
            "dead_letters.reason",
        )
        .collect()
    )
    results = [row for row in found if row["reason"] is None]
    assert {each["name"] for row in results for each in row["rows"]} == set(USABLE)
    assert all(row["start"] <= m["micros"] < row["end"] for row in results for m in row["rows"])
    assert Counter(row["reason"] for row in found if row["reason"] is not None) == REASONS


def test_the_largest_time_is_no_lifetime_without_end(spark: SparkSession) -> None:
    ends = [("bad", 2**63 - 1), ("bad too", 2**63 - 2), ("without end", None), ("day", LAST)]
    rows = spark.createDataFrame(ends, "name string, micros long")
    lifetime = F.timestamp_micros("micros")
    stream = transom.stream(rows, time=F.timestamp_micros(F.lit(0)), lifetime=lifetime)
    windows = stream.window(transom.Snapshot()).with_dead_letters()
    found = windows.agg(F.collect_set("name").alias("names")).collect()
    dead = {
        row["dead_letters"]["row"]["name"]: row["dead_letters"]["reason"]
        for row in found
        if row["dead_letters"]
    }
    assert dead == dict.fromkeys(["bad", "bad too"], "bad_lifetime")
    # The snapshot after the day has no end.
    names = [set(row["results"]["names"]) for row in found if row["results"]]
    assert names == [{"without end", "day"}]
