"""Windows larger than the heap fire, and few rows need little memory."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.run import run
from tests.end_to_end.support.queries import in_the_plan, run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect

long = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="moves a gigabyte: run by make check-long"
)


def filled(
    folder: Path, *, heap: str, keys: int, width: int, groups: int, batches: int
) -> dict[str, int]:
    done = run("filling_memory", folder, heap, keys, width, groups, batches, timeout=1_800)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    totals: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return totals


@long
def test_a_window_of_a_million_keys_fires_in_a_gigabyte(tmp_path: Path) -> None:
    totals = filled(tmp_path, heap="1g", keys=1_000_000, width=32, groups=128, batches=1)
    assert totals.pop("heap") <= 1 << 30
    assert totals == {"results": 1_000_000, "right": 1_000_000, "characters": 32_000_000}


@long
@pytest.mark.parametrize("kind", ["static", "stream"])
@pytest.mark.parametrize(
    ("rows", "keys", "hot"),
    [(2_000_000, 1_000_000, 0), (4_000_000, 10_000, 99)],
    ids=["a million keys", "one key with 99 of 100 rows"],
)
def test_keys_of_any_number_and_share_have_the_results_of_spark_in_a_gigabyte(
    tmp_path: Path, rows: int, keys: int, hot: int, kind: str
) -> None:
    done = run("spreading_keys", tmp_path, "1g", kind, rows, keys, hot, timeout=3_600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    totals = json.loads(done.stdout.splitlines()[-1])
    assert totals.pop("heap") <= 1 << 30
    # Results, results of Spark's own windows, and whether they are the same.
    for found, expected, same in totals.values():
        assert found == expected >= keys
        assert same
    assert set(totals) == {"slices", "keyed", "sessions"}


@long
def test_a_key_group_larger_than_the_heap_fires(tmp_path: Path) -> None:
    totals = filled(tmp_path, heap="512m", keys=600_000, width=1_024, groups=1, batches=12)
    # The values of the key group alone are larger than the heap.
    assert totals.pop("heap") < 600_000 * 1_024
    assert totals == {"results": 600_000, "right": 600_000, "characters": 600_000 * 1_024}


def assert_sweeps(folder: Path, *, kind: str, rows: int, keys: int, width: int) -> None:
    done = run("sweeping_memory", folder, "1g", kind, rows, keys, width, timeout=3_000)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    totals: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    assert totals.pop("heap") <= 1 << 30
    # A window ends at each row, and ten seconds after each row but the last one.
    seconds = rows // keys
    results = keys * (seconds + min(seconds, 10) - 1)
    assert totals == {"results": results, "expected": results, "right": 1}


@long
@pytest.mark.parametrize("kind", ["static", "stream"])
def test_six_million_rows_of_one_key_roll_in_a_gigabyte(tmp_path: Path, kind: str) -> None:
    assert_sweeps(tmp_path, kind=kind, rows=6_000_000, keys=1, width=1)


@long
@pytest.mark.parametrize("kind", ["static", "stream"])
def test_rows_of_ten_kilobytes_over_many_keys_roll_in_a_gigabyte(tmp_path: Path, kind: str) -> None:
    assert_sweeps(tmp_path, kind=kind, rows=200_000, keys=50_000, width=10_000)


def test_few_rows_are_sorted_in_little_memory(spark: SparkSession) -> None:
    skip_in_connect(Reason.JVM)
    taken: list[int] = []

    def counts(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        windows = transom.stream(rows, time=clock).key_by("key")
        return windows.window(transom.Tumbling(size="10 seconds")).agg(F.count("*").alias("n"))

    def sorted_in(rows: DataFrame, _batch_id: int) -> None:
        rows.collect()
        taken.append(in_the_plan(spark, "ByKeyGroup", "peakMemory"))

    batches = [[(at, key) for key in "abc"] for at in (datetime(2024, 1, 1), datetime(2024, 1, 2))]
    run_stream(spark, counts, "time timestamp, key string", batches, writer=sorted_in)
    # One task of a batch has rows to sort. It gets a whole page, however few rows it has.
    assert 0 < max(taken) < 5 << 20
