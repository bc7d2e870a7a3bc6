"""What the state stores of rows with lifetimes."""

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.support.queries import run_stream, state_rows

START = datetime(2024, 1, 1)
SCHEMA = "key string, time timestamp, until timestamp, value int"


def count(rows: pa.Table) -> pa.Table:
    return pa.table({"n": [rows.num_rows]})


def test_a_row_is_stored_once_however_many_windows_it_overlaps(
    spark: SparkSession, tmp_path: Path
) -> None:
    size = timedelta(seconds=1000)
    rows = [("a", START + timedelta(seconds=n), START + timedelta(hours=3), n) for n in range(40)]

    def stored_bytes(windows_per_row: int) -> int:
        def pipeline(rows: DataFrame) -> DataFrame:
            clock = transom.EventTime("time", delay="0 seconds")
            stream = transom.stream(rows, time=clock, lifetime="until").key_by("key")
            window = transom.Hopping(size, size / windows_per_row)
            return stream.window(window).apply(count, "n int")

        folder = tmp_path / str(windows_per_row)
        run_stream(spark, pipeline, SCHEMA, [rows], checkpoint=folder)
        (entry,) = state_rows(spark, folder, "keys")
        return len(entry["user_map_value"]["value"])

    # A few numbers of the window may be longer.
    assert abs(stored_bytes(windows_per_row=1) - stored_bytes(windows_per_row=100)) < 10


def test_a_row_that_has_ended_leaves_the_state(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        stream = transom.stream(rows, time=clock, lifetime="until").key_by("key")
        return stream.window(transom.Tumbling("10 seconds")).apply(count, "n int")

    def row(key: str, start: int, end: int | None) -> tuple[str, datetime, datetime | None, int]:
        until = None if end is None else START + timedelta(seconds=end)
        return (key, START + timedelta(seconds=start), until, start)

    def stored_bytes() -> dict[str, int]:
        entries = state_rows(spark, tmp_path, "keys")
        return {str(e["user_map_key"]): len(e["user_map_value"]["value"]) for e in entries}

    many = [row("a", n, 50) for n in range(40)]
    run_stream(spark, pipeline, SCHEMA, [[*many, row("b", 1, None)]], checkpoint=tmp_path)
    assert len(stored_bytes()) == 2
    # The rows of the key "a" have ended, and the row of the key "b" has no end.
    run_stream(spark, pipeline, SCHEMA, [[row("c", 100, 101)]], checkpoint=tmp_path)
    run_stream(spark, pipeline, SCHEMA, [[row("c", 200, 201)]], checkpoint=tmp_path)
    after = stored_bytes()
    assert len(after) == 2
