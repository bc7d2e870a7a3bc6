"""Rows before 1970. Spark's watermark starts at 1970, so these rows do not move it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from transom.spec import Layout

SCHEMA = "key string, time timestamp"

# The windows of 1960 are [00:00:00, 00:00:10), or from the first row to 5 s after the last.
WINDOWS = {
    "tumbling": transom.Tumbling(size="10 seconds"),
    "hopping": transom.Hopping(size="10 seconds", slide="10 seconds"),
    "end included": transom.Tumbling(size="10 seconds", offset="-1 microsecond", closed="right"),
    "session": transom.Session(gap="5 seconds"),
}
LAYOUTS: list[Layout] = ["slices", "keyed"]


def at(second: int, year: int = 1960) -> datetime:
    return datetime(year, 1, 1) + timedelta(seconds=second)


class Counts:
    """A query that counts rows by window, with its options."""

    def __init__(self, window: str, layout: Layout, *, lateness: str | None, drain: bool) -> None:
        self._window = WINDOWS[window]
        self._layout = layout
        self._lateness = lateness
        self._drain = drain

    def __call__(self, rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        windowed = stream.key_by("key").window(self._window).options(layout=self._layout)
        if self._lateness is not None:
            windowed = windowed.allowed_lateness(self._lateness)
        if self._drain:
            windowed = windowed.drain()
        return windowed.agg(F.count("*").alias("rows"))


def counts(rows: list[Row], year: int) -> list[int]:
    """The counts of the windows that start near the beginning of a year."""
    return [
        row["rows"]
        for row in rows
        if abs(row["window"]["start"] - at(0, year)) < timedelta(days=300)
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_before_1970_fires_once_and_complete_when_drained(
    window: str, layout: Layout, spark: SparkSession, tmp_path: Path
) -> None:
    batches = [[("a", at(0))], [("a", at(5))], [("b", at(7))]]
    query = Counts(window, layout, lateness=None, drain=True)
    outcome = run_stream(spark, query, SCHEMA, batches, checkpoint=tmp_path)
    assert sorted((row["key"], row["rows"]) for row in outcome.results) == [("a", 2), ("b", 1)]
    assert outcome.observed()["transom_rows_late"] == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("layout", "lateness"), [("slices", None), ("keyed", None), ("keyed", "1 second")]
)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_before_1970_fires_with_the_first_watermark(
    window: str, layout: Layout, lateness: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    # The third batch sets the first watermark. The fourth batch fires windows by it. By it, the row
    # of the fifth batch is late.
    times = [at(0), at(5), at(0, 2024), at(1), at(2)]
    batches = [[("a" if time.year == 1960 else "b", time)] for time in times]
    query = Counts(window, layout, lateness=lateness, drain=False)
    outcome = run_stream(spark, query, SCHEMA, batches, checkpoint=tmp_path)
    assert counts(outcome.results, 1960) == [3]
    assert counts(outcome.results, 2024) == []
    assert outcome.observed()["transom_rows_late"] == 1
    assert all(rows == [] for batch, rows in outcome.by_batch.items() if batch < 3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_restart_does_not_fire_windows_before_1970(
    layout: Layout, spark: SparkSession, tmp_path: Path
) -> None:
    query = Counts("tumbling", layout, lateness=None, drain=False)
    for row in (("a", at(0)), ("a", at(5))):
        assert run_stream(spark, query, SCHEMA, [[row]], checkpoint=tmp_path).results == []
    last = run_stream(spark, query, SCHEMA, [[("b", at(0, 2024))]], checkpoint=tmp_path)
    assert counts(last.results, 1960) == [2]


def test_results_before_1970_are_early_while_there_is_no_watermark(spark: SparkSession) -> None:
    def query(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        early = transom.AfterWatermark(early=transom.AfterCount(1))
        windowed = stream.key_by("key").window(WINDOWS["tumbling"]).trigger(early)
        return windowed.with_pane().agg(F.count("*").alias("rows"))

    outcome = run_stream(spark, query, SCHEMA, [[("a", at(0))], [("a", at(5))]])
    assert [(row["rows"], row["pane"]["timing"]) for row in outcome.results] == [
        (1, "early"),
        (2, "early"),
    ]


def test_the_advice_for_nanoseconds_cuts_digits_towards_the_past(spark: SparkSession) -> None:
    numbers = spark.createDataFrame([(1704067199999999999,), (0,), (-1,)], "ns bigint")
    with pytest.raises(PySparkException, match=r"NOT_A_TIMESTAMP.*F\.timestamp_micros") as caught:
        transom.stream(numbers, time="ns")
    advice = re.search(r"F\.expr\('(.*)'\)", str(caught.value))
    assert advice is not None
    days = transom.stream(numbers, time=F.expr(advice[1])).window(transom.Tumbling("1 day"))
    found = days.agg(F.count("*").alias("n")).collect()
    day = timedelta(days=1)
    assert sorted((row["window"]["start"], row["window"]["end"], row["n"]) for row in found) == [
        (start, start + day, 1)
        for start in (datetime(1969, 12, 31), datetime(1970, 1, 1), datetime(2023, 12, 31))
    ]
