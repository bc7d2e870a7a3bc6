"""Results from a given instant on: windows that end before it emit nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "n int, at timestamp"
START = datetime(2024, 1, 1)
ROWS = [(n, START + timedelta(minutes=7 * n)) for n in range(30)]

WINDOWS: list[tuple[transom.Window, Any]] = [
    (transom.Tumbling(size="20 minutes"), "slices"),
    (transom.Tumbling(size="20 minutes"), "keyed"),
    (transom.Hopping(size="1 hour", slide="10 minutes"), "slices"),
    (transom.Hopping(size="1 hour", slide="10 minutes", closed="right"), "keyed"),
    (transom.Cumulate(size="1 hour", step="10 minutes"), "slices"),
    (transom.Session(gap="7 minutes", inclusive=False), "auto"),
    (transom.Session(gap="14 minutes", max_duration="1 hour"), "auto"),
]


def results(rows: DataFrame, window: transom.Window, layout: Any, at: datetime | None) -> DataFrame:
    by_key = transom.stream(rows, time=transom.TimePolicy("at"), order="n").key_by(F.expr("n % 2"))
    windowed = by_key.window(window).options(layout=layout)
    chosen = windowed if at is None else windowed.first_output(at)
    return chosen.agg(F.count("*").alias("rows"), F.sum("n").alias("sum"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("window", "layout"), WINDOWS, ids=repr)
def test_windows_that_end_earlier_emit_nothing(
    spark: SparkSession, window: transom.Window, layout: Any
) -> None:
    rows = spark.createDataFrame(ROWS, SCHEMA)
    everything = results(rows, window, layout, None).collect()
    ends = sorted({row["window"]["end"] for row in everything})
    first = ends[len(ends) // 2]
    expected = [row for row in everything if row["window"]["end"] >= first]
    assert 0 < len(expected) < len(everything)
    assert sorted(results(rows, window, layout, first).collect()) == sorted(expected)


def test_rows_of_earlier_windows_are_not_late(spark: SparkSession) -> None:
    at = START + timedelta(hours=2)
    window = transom.Hopping(size="1 hour", slide="10 minutes")
    batches = [ROWS[:11], ROWS[11:20], ROWS[20:]]
    outcome = run_stream(spark, lambda rows: results(rows, window, "slices", at), SCHEMA, batches)
    # The watermark ends at the last row.
    closed = [
        row
        for row in results(spark.createDataFrame(ROWS, SCHEMA), window, "slices", None).collect()
        if at <= row["window"]["end"] <= ROWS[-1][1]
    ]
    assert sorted(outcome.results) == sorted(closed)
    assert outcome.observed()["transom_rows_late"] == 0


@pytest.mark.parametrize(
    "window",
    [
        transom.Tumbling(size="20 minutes"),
        transom.Hopping(size="1 hour", slide="20 minutes"),
        transom.Hopping(size="10 minutes", slide="30 minutes"),
    ],
    ids=repr,
)
def test_a_start_plus_the_interval_leaves_out_windows_that_began_before_the_start(
    spark: SparkSession, window: transom.Tumbling | transom.Hopping
) -> None:
    rows = spark.createDataFrame(ROWS, SCHEMA)
    everything = results(rows, window, "auto", None).collect()
    (interval,) = {row["window"]["end"] - row["window"]["start"] for row in everything}
    for start in (START + timedelta(hours=1), START + timedelta(minutes=67)):
        expected = [row for row in everything if row["window"]["start"] >= start]
        assert 0 < len(expected) < len(everything)
        assert sorted(results(rows, window, "auto", start + interval).collect()) == sorted(expected)
