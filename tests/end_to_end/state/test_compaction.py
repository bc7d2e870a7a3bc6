"""Many small batches into one open window: the state merges its segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream, state_rows

SCHEMA = "key int, time timestamp, value int"
BATCHES = 40
# Sorted runs that a slice may have before some of them are merged (docs/how-it-works.md). Each
# batch has one file here, so it adds one run. The rows are few, so a run has one segment.
MOST_RUNS = 8
GROUPS = 3

Batch = Sequence[tuple[int, datetime, int]]


def at(minute: float) -> datetime:
    return datetime(2024, 1, 1) + timedelta(minutes=minute)


def counted(window: transom.Window, rows: DataFrame) -> DataFrame:
    return (
        transom.stream(rows, time=transom.EventTime("time", delay="2 hours"))
        .key_by("key")
        .window(window)
        .options(key_groups=GROUPS)
        .agg(F.count("*").alias("rows"), F.sum("value").alias("total"))
    )


def most_runs(spark: SparkSession, checkpoint: Path) -> int:
    """The largest number of segments in a slice of a key group.

    The first eight bytes of a segment's key are its slice.
    """
    slices = Counter(
        (row["key"], bytes(row["user_map_key"][0])[:8]) for row in state_rows(spark, checkpoint)
    )
    return max(slices.values())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("window", "end"),
    [
        (transom.Tumbling(size="1 hour"), 60),
        # The last row comes with the last batch, in the slice of the other rows.
        (transom.Session(gap="1 hour"), BATCHES - 1 + 60),
    ],
    ids=["tumbling", "sessions"],
)
def test_the_segments_of_an_open_window_stay_few(
    spark: SparkSession, tmp_path: Path, window: transom.Window, end: int
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return counted(window, rows)

    # Each batch has four keys of all batches and one new key.
    batches: list[Batch] = [
        [(key, at(number), 1) for key in (0, 1, 2, 3, 100 + number)] for number in range(BATCHES)
    ]
    before = run_stream(spark, pipeline, SCHEMA, batches, checkpoint=tmp_path)
    assert before.results == []
    assert most_runs(spark, tmp_path) <= MOST_RUNS

    last = run_stream(spark, pipeline, SCHEMA, [[(0, at(600), 1)]], checkpoint=tmp_path)
    of_window = {row["key"]: row for row in last.results}
    assert of_window.keys() == {0, 1, 2, 3} | {100 + number for number in range(BATCHES)}
    for key, row in of_window.items():
        assert (row["rows"], row["total"]) == ((BATCHES, BATCHES) if key < 100 else (1, 1))
    assert {of_window[key]["window"]["end"] for key in range(4)} == {at(end)}
    # Only the window of the last row is left.
    assert len(state_rows(spark, tmp_path)) == 1


def test_small_segments_share_an_entry_of_the_state(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return counted(transom.Hopping(size="1 hour", slide="1 minute"), rows)

    batch: Batch = [(0, at(minute), 1) for minute in range(60)]
    before = run_stream(spark, pipeline, SCHEMA, [batch], checkpoint=tmp_path)
    assert before.results == []
    # One key has one key group, with a slice for each minute.
    assert len(state_rows(spark, tmp_path)) == 1

    # After a restart the query finds each segment in this entry.
    later: list[Batch] = [[(0, at(300), 1)], [(0, at(301), 1)]]
    last = run_stream(spark, pipeline, SCHEMA, later, checkpoint=tmp_path)
    rows_of = {row["window"]["start"]: row["rows"] for row in last.results}
    assert rows_of == {at(start): 60 - abs(start) for start in range(-59, 60)}
