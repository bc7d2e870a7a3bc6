"""The comparison of results of Nexmark's peers."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.nexmark.digest import digest
from benchmarks.nexmark.flink_sql import STATEMENTS
from benchmarks.nexmark.queries import QUERIES

START = datetime(2015, 7, 15)
Rows = list[tuple[int, datetime, int]]


def digested(folder: Path, name: str, *files: Rows, resolution: str = "us") -> tuple[int, str]:
    folder.mkdir()
    schema = pa.schema(
        [("bidder", pa.int64()), ("start", pa.timestamp(resolution)), ("n", pa.int64())]
    )
    for number, rows in enumerate(files):
        table = pa.Table.from_pylist(
            [dict(zip(schema.names, row, strict=True)) for row in rows], schema
        )
        pq.write_table(table, folder / f"part-{number}")
    (folder / "_SUCCESS").touch()
    return digest(folder, QUERIES[name])


def test_order_files_and_resolution_of_results_do_not_count(tmp_path: Path) -> None:
    one, other = (1_001, START, 3), (1_002, START, 4)
    expected = digested(tmp_path / "a", "q11", [one, other])
    assert expected[0] == 2
    assert digested(tmp_path / "b", "q11", [other], [one], resolution="ns") == expected
    assert digested(tmp_path / "c", "q11", [one, (1_002, START, 5)]) != expected


def test_results_of_the_closing_event_do_not_count(tmp_path: Path) -> None:
    one = (1_001, START, 3)
    expected = digested(tmp_path / "a", "q11", [one])
    assert digested(tmp_path / "b", "q11", [one, (0, START, 1)]) == expected


def test_of_windows_by_the_clock_the_totals_count(tmp_path: Path) -> None:
    later = START.replace(minute=1)
    expected = digested(tmp_path / "a", "q12", [(1_001, START, 3), (1_001, later, 4)])
    assert expected[0] == 1
    assert digested(tmp_path / "b", "q12", [(1_001, later, 7)]) == expected
    assert digested(tmp_path / "c", "q12", [(1_001, later, 6)]) != expected


def test_no_results_are_none(tmp_path: Path) -> None:
    assert digested(tmp_path / "a", "q11") == (0, "")
    assert digest(tmp_path / "never-written", QUERIES["q11"]) == (0, "")


@pytest.mark.parametrize("name", QUERIES)
def test_flink_reads_what_spark_reads(name: str) -> None:
    assert tuple(STATEMENTS[name].reads) == QUERIES[name].kinds
