"""Windows on a grid, over a few rows: their time zone, their resolution and their overlap."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import START, bounds, run_clocked


def values_in(
    spark: SparkSession, window: transom.Window, times: list[datetime]
) -> dict[datetime, list[int]]:
    """The numbers of the rows in each window, by the start of the window."""
    rows = spark.createDataFrame([(time, n) for n, time in enumerate(times)], "t timestamp, n int")
    values = F.sort_array(F.collect_list("n")).alias("values")
    results = transom.stream(rows, time="t").window(window).agg(values).collect()
    return {row["window"]["start"]: row["values"] for row in results}


def test_windows_start_in_utc_in_a_session_of_another_time_zone(spark: SparkSession) -> None:
    # New York changes its clocks on 10 March. Its days begin at 05:00 and 04:00 UTC.
    times = [
        datetime(2024, 3, 9, 23, 30),
        datetime(2024, 3, 10, 0, 30),
        datetime(2024, 3, 10, 4, 30),
        datetime(2024, 3, 10, 23, 30),
    ]
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = values_in(spark, transom.Tumbling(size="1 day"), times)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found == {datetime(2024, 3, 9): [0], datetime(2024, 3, 10): [1, 2, 3]}


def test_bounds_are_exact_to_the_microsecond(spark: SparkSession) -> None:
    times = [START + timedelta(microseconds=n) for n in (0, 9, 10, 25)]
    assert values_in(spark, transom.Tumbling(size="10 microseconds"), times) == {
        START: [0, 1],
        START + timedelta(microseconds=10): [2],
        START + timedelta(microseconds=20): [3],
    }


def test_windows_with_the_same_rows_each_give_a_result(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        hopping = transom.Hopping(size="10 seconds", slide="4 seconds")
        return stream.window(hopping).agg(F.sum("value").alias("total"))

    results = run_clocked(spark, pipeline, [[("a", 12, 7)], 30]).results
    assert sorted((*bounds(row), row["total"]) for row in results) == [
        (4, 14, 7),
        (8, 18, 7),
        (12, 22, 7),
    ]
