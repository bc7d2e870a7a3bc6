"""Windows whose slide does not divide their size, and times at the last microsecond or nanosecond.

The expected windows are worked out by hand: a start is a multiple of the slide since 1970, and a
time is in the window that contains it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.queries import run_stream


def spans(day: str, found: list[Row]) -> list[tuple[float, float, int]]:
    """Start and end in seconds since midnight, and the count of rows."""
    midnight = datetime.fromisoformat(day)
    return sorted(
        (
            round((row["window"]["start"] - midnight).total_seconds(), 6),
            round((row["window"]["end"] - midnight).total_seconds(), 6),
            row["n"],
        )
        for row in found
    )


@pytest.mark.parametrize(
    ("size", "slide", "times", "expected"),
    [
        (
            "5.5 seconds",
            "5 seconds",
            ["2024-07-01 00:08:33.040400", "2024-07-01 00:08:30.200000"],
            [(505, 510.5, 1), (510, 515.5, 2)],
        ),
        (
            "1.6 seconds",
            "0.7 seconds",
            ["2024-03-01 17:51:52.577000", "2024-03-01 17:51:52.577123"],
            [(64_311.4, 64_313.0, 2), (64_312.1, 64_313.7, 2)],
        ),
        (
            "1.6 seconds",
            "0.8 seconds",
            ["2024-03-01 17:51:52.577000", "2024-03-01 17:51:52.577123"],
            [(64_311.2, 64_312.8, 2), (64_312.0, 64_313.6, 2)],
        ),
    ],
)
def test_a_row_is_in_each_window_that_contains_it_and_in_no_other(
    spark: SparkSession,
    size: str,
    slide: str,
    times: list[str],
    expected: list[tuple[float, float, int]],
) -> None:
    rows = spark.createDataFrame([(time,) for time in times], "at string")
    hops = transom.stream(rows, time=F.to_timestamp("at")).window(transom.Hopping(size, slide))
    assert spans(times[0][:10], hops.agg(n=F.count("*")).collect()) == expected


@pytest.mark.parametrize("drained", [False, True])
def test_overlapping_windows_fire_in_the_first_batch_whose_watermark_is_past_their_end(
    spark: SparkSession, *, drained: bool
) -> None:
    first = datetime(2025, 6, 21, 0, 54, 12, 346_215)
    times = [first + timedelta(seconds=n) for n in range(10)]

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("at", delay="0 seconds")
        hops = transom.stream(rows, time=clock).window(transom.Hopping("5 seconds", "3 seconds"))
        return (hops.drain() if drained else hops).agg(n=F.count("*"))

    outcome = run_stream(spark, pipeline, "at timestamp", [[(time,)] for time in times])
    minute = 54 * 60
    fired = [(9, 14, 2), (12, 17, 5), (15, 20, 5)]
    left = [(18, 23, 4), (21, 26, 1)] if drained else []
    found = [(s - minute, e - minute, n) for s, e, n in spans("2025-06-21", outcome.results)]
    assert found == fired + left
    # The watermark of a batch is the time of the row before. It has no digits below milliseconds.
    for _, end, _ in fired:
        (batch,) = [
            number
            for number, rows in outcome.by_batch.items()
            if any(row["window"]["end"].second == end for row in rows)
        ]
        assert batch == next(n for n, time in enumerate(times) if time.second >= end) + 1


NANOSECONDS = [1_704_067_199_999_999_999, 0, -1]
LAST_DAY = ("2023-12-31 00:00:00", "2024-01-01 00:00:00", 1)
FIRST_DAY = ("1970-01-01 00:00:00", "1970-01-02 00:00:00", 1)
BEFORE = ("1969-12-31 00:00:00", "1970-01-01 00:00:00", 1)


def test_nanoseconds_that_are_cut_towards_the_past_stay_in_their_window(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame([(ns,) for ns in NANOSECONDS], "ns bigint")
    time = F.expr("timestamp_micros((ns - pmod(ns, 1000)) div 1000)")
    days = transom.stream(rows, time=time).window(transom.Tumbling("1 day")).agg(n=F.count("*"))
    found = days.select(
        F.col("window.start").cast("string"), F.col("window.end").cast("string"), "n"
    )
    assert sorted(map(tuple, found.collect())) == [BEFORE, FIRST_DAY, LAST_DAY]


AT_THE_WATERMARK: dict[str, transom.Window] = {
    "tumbling": transom.Tumbling("1 second"),
    "closed right": transom.Tumbling("5 seconds", closed="right"),
    "session": transom.Session("1 second"),
    "strict session": transom.Session("1 second", late_start="reject"),
    "rolling": transom.Rolling("1 second"),
    "snapshot": transom.Snapshot(),
}


@pytest.mark.sampled(3)
# Spark's watermark has no digits below milliseconds, so it is before the second time.
@pytest.mark.parametrize("micros", [0, 900] if LONG else [900])
@pytest.mark.parametrize("name", AT_THE_WATERMARK)
def test_a_row_at_the_watermark_is_not_late(spark: SparkSession, name: str, micros: int) -> None:
    window = AT_THE_WATERMARK[name]
    time = datetime(2024, 1, 1, 12, 0, 5, micros)

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("at", delay="0 seconds")
        windows = transom.stream(rows, time=clock).window(window).with_late_rows().drain()
        return windows.agg(n=F.count("*"))

    outcome = run_stream(spark, pipeline, "at timestamp", [[(time,)]] * 3)
    assert [row["n"] for row in outcome.results] == [3]
    assert outcome.late == []
