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
