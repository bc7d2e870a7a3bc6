"""Windows with more keys than a heap likes fire in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    "TRANSOM_LONG" not in os.environ, reason="moves a gigabyte: run by make check-long"
)
ROOT = Path(__file__).parents[2]


def filled(
    folder: Path, *, heap: str, keys: int, width: int, groups: int, batches: int
) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.end_to_end.filling_memory"]
    done = subprocess.run(
        [*command, folder, heap, *map(str, (keys, width, groups, batches))],
        cwd=ROOT,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    totals: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return totals


def test_a_window_of_a_million_keys_fires_in_a_gigabyte(tmp_path: Path) -> None:
    totals = filled(tmp_path, heap="1g", keys=1_000_000, width=32, groups=128, batches=1)
    assert totals.pop("heap") <= 1 << 30
    assert totals == {"results": 1_000_000, "right": 1_000_000, "characters": 32_000_000}


def test_a_key_group_larger_than_the_heap_fires(tmp_path: Path) -> None:
    totals = filled(tmp_path, heap="512m", keys=600_000, width=1_024, groups=1, batches=12)
    # The values alone, all of one group, which comes in pieces and fires in one.
    assert totals.pop("heap") < 600_000 * 1_024
    assert totals == {"results": 600_000, "right": 600_000, "characters": 600_000 * 1_024}
