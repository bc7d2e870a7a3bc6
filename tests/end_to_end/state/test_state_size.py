"""The state of a key: an accumulator for each window, and rows only where needed.

Functions over rows need rows too: see `test_apply`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import run_clocked
from tests.end_to_end.support.queries import run_stream, state_rows

# The number of windows of each key.
COUNTS = {"a": 1, "b": 2, "c": 3, "d": 3}


def test_entries_do_not_grow_with_rows_which_an_evictor_alone_has_stored(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(transom.Tumbling(size="10 seconds"))
        # This predicate is never true, because the values are too small.
        asking = windowed.options(name="asking").trigger(transom.When("sum(value) > 1000000"))
        evicting = windowed.options(name="evicting").evictor(transom.KeepWhere("value > 1"))
        count = F.count("*").alias("n")
        return asking.agg(count).union(evicting.agg(count))

    rows = [
        (key, 10 * window + 1, n)
        for key, windows in COUNTS.items()
        for window in range(windows)
        for n in range(51 if key == "d" else 1)
    ]
    run_clocked(spark, pipeline, [rows], checkpoint=tmp_path)
    for operator, stored in ((0, 0), (1, len(rows))):
        entries = state_rows(spark, tmp_path, "keys", operator=operator)
        one, two, three, many = sorted(len(row["user_map_value"]["value"]) for row in entries)
        assert 0 < two - one == three - two
        assert three == many
        assert len(state_rows(spark, tmp_path, "rows", operator=operator)) == stored


@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_top_stores_only_rows_that_may_be_results(
    spark: SparkSession, tmp_path: Path, layout: transom.typing.Layout
) -> None:
    def stored_bytes(rows: int) -> int:
        def pipeline(stream: transom.Stream) -> DataFrame:
            windowed = stream.window(transom.Tumbling(size="10 seconds"))
            return windowed.options(layout=layout).top(3, F.desc("value"))

        folder = tmp_path / str(rows)
        input_rows = [("a", 1, 1000 + n) for n in range(rows)]
        run_clocked(spark, pipeline, [input_rows], checkpoint=folder)
        entries = state_rows(spark, folder, "segments" if layout == "slices" else "keys")
        assert len(entries) == 1
        return sum(len(str(row["user_map_value"])) for row in entries)

    few, many = stored_bytes(5), stored_bytes(1000)
    assert many < 1.5 * few


@pytest.mark.parametrize(("key_groups", "busy"), [(2, 2), (128, 5)])
def test_no_more_tasks_than_key_groups_have_keys(
    spark: SparkSession, tmp_path: Path, key_groups: int, busy: int
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="1 hour")
        tens = transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling("10 seconds"))
        return tens.options(key_groups=key_groups).agg(n=F.count("*"))

    rows = [(f"k{n}", datetime(2024, 1, 1)) for n in range(100)]
    setting = "spark.sql.shuffle.partitions"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, 5)
    try:
        run_stream(spark, pipeline, "key string, time timestamp", [rows], checkpoint=tmp_path)
        entries = state_rows(spark, tmp_path)
    finally:
        spark.conf.set(setting, before)
    assert len({entry["partition_id"] for entry in entries}) == busy
