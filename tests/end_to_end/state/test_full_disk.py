"""A disk that is full while state is written: the query ends, and goes on once there is room."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.programs.run import run

pytestmark = pytest.mark.skipif(not LONG, reason="starts four JVMs: run by make check-long")
FIVE = datetime(2024, 1, 1, 5, tzinfo=UTC)


def write(folder: Path, hours: list[int], seed: int) -> list[tuple[str, int]]:
    """Write a file with rows of many keys. Returns the key and the hour of each."""
    keys = random.Random(seed)
    rows = [(f"{keys.getrandbits(256):064x}", hour) for hour in hours for _ in range(5_000)]
    times = [FIVE + timedelta(hours=hour) for _, hour in rows]
    table = pa.table(
        {"key": [key for key, _ in rows], "at": pa.array(times, pa.timestamp("us", "UTC"))}
    )
    pq.write_table(table, folder / "input" / f"{seed}.parquet")
    return rows


def test_no_row_is_lost(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    rows = write(tmp_path, [0], seed=1)
    assert run("filling_disk", tmp_path, "0").returncode == 0
    rows += write(tmp_path, [0, 1], seed=2)
    for most in ("20000", "60000"):
        failed = run("filling_disk", tmp_path, most)
        assert failed.returncode != 0
        assert "File too large" in failed.stdout + failed.stderr
    write(tmp_path, [9], seed=3)
    assert run("filling_disk", tmp_path, "0").returncode == 0
    # A batch that runs again has the same results.
    lines = (tmp_path / "results.json").read_text().splitlines()
    found = {tuple(json.loads(line)) for line in lines}
    assert Counter((key, hour - 5) for _, key, hour, n in found for _ in range(n)) == Counter(rows)
