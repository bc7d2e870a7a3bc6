"""Joins of the results of two streams. A row without a partner comes out when it is final."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import add_batch, parse_schema

SCHEMA = "airport string, at timestamp"
JFK, LGA, EWR = "JFK", "LGA", "EWR"
# Airport, hour of the window, and the counts of departures and landings.
Both = tuple[str, int, int | None, int | None]
BEFORE: dict[str, list[Both]] = {
    "left_outer": [(JFK, 5, 1, 1), (LGA, 5, 1, None)],
    "right_outer": [(JFK, 5, 1, 1)],
    "full_outer": [(JFK, 5, 1, 1), (LGA, 5, 1, None)],
}
# What comes out once the windows of 07:00 have ended.
AFTER: dict[str, list[Both]] = {
    "left_outer": [(JFK, 7, 1, None)],
    "right_outer": [(EWR, 7, None, 1)],
    "full_outer": [(EWR, 7, None, 1), (JFK, 7, 1, None)],
}


def at(time: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 {time}")


def counts(spark: SparkSession, folder: Path, name: str, window: transom.Window) -> DataFrame:
    rows = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / name / "input"))
    )
    clock = transom.EventTime("at", delay="10 minutes")
    windowed = transom.stream(rows, time=clock).key_by("airport").window(window)
    return windowed.options(name=name).agg(F.count("*").alias(name))


def joined_on_the_window(departed: DataFrame, landed: DataFrame, how: str) -> DataFrame:
    return departed.join(landed, ["airport", "window"], how)


def joined_on_another_name(departed: DataFrame, landed: DataFrame, how: str) -> DataFrame:
    hours = [side.withColumnRenamed("window", "hour") for side in (departed, landed)]
    both = hours[0].join(hours[1], ["airport", "hour"], how)
    return both.withColumnRenamed("hour", "window")


def shown(rows: list[Row]) -> list[Both]:
    return sorted(
        (row["airport"], row["window"]["start"].hour, row["departed"], row["landed"])
        for row in rows
    )


def run(
    spark: SparkSession,
    folder: Path,
    how: str,
    join: Callable[[DataFrame, DataFrame, str], DataFrame] = joined_on_the_window,
    window: transom.Window | None = None,
) -> list[list[Both]]:
    """The rows that come out before and after a row of 09:00 in each stream."""

    def arrive(name: str, *rows: tuple[str, str]) -> None:
        for airport, time in rows:
            add_batch(folder / name / "input", [(airport, at(time))], parse_schema(SCHEMA))

    arrive("departed", (JFK, "05:10"), (LGA, "05:50"), (JFK, "07:30"))
    arrive("landed", (JFK, "05:20"), (EWR, "07:40"))
    sides = [
        counts(spark, folder, name, window or transom.Tumbling("1 hour"))
        for name in ("departed", "landed")
    ]
    kept = Kept()
    query = (
        join(sides[0], sides[1], how)
        .writeStream.foreachBatch(kept)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    found = []
    try:
        query.processAllAvailable()
        found.append(shown(kept.rows))
        arrive("departed", (JFK, "09:00"))
        arrive("landed", (JFK, "09:00"))
        query.processAllAvailable()
        found.append(shown(kept.rows))
    finally:
        query.stop()
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", BEFORE)
def test_a_result_without_a_partner_comes_out_when_its_window_has_ended_in_both_streams(
    spark: SparkSession, tmp_path: Path, how: str
) -> None:
    before, after = run(spark, tmp_path, how)
    assert before == BEFORE[how]
    assert after == sorted([*before, *AFTER[how]], key=repr)


def test_outer_joins_do_not_depend_on_the_name_or_the_ends_of_windows(
    spark: SparkSession, tmp_path: Path
) -> None:
    setting = "spark.sql.streaming.join.stateFormatVersion"
    before = str(spark.conf.get(setting))
    # The newest format that Spark 4.2 has finished.
    spark.conf.set(setting, 3)
    try:
        ends = transom.Tumbling("1 hour", closed="right")
        found = run(spark, tmp_path, "full_outer", joined_on_another_name, ends)
    finally:
        spark.conf.set(setting, before)
    expected = BEFORE["full_outer"]
    assert found == [expected, sorted([*expected, *AFTER["full_outer"]], key=repr)]
