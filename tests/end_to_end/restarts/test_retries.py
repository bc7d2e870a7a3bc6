"""Spark retries a task: the rows that the failed attempt counted count once."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.end_to_end.support.programs.retrying import KEYS

ROOT = Path(__file__).parents[3]


def test_a_task_that_is_tried_again_counts_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.support.programs.retrying", tmp_path],
        cwd=ROOT,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (tmp_path / "failed").exists()
    totals = json.loads(done.stdout.splitlines()[-1])
    assert {name: n for name, n in totals.items() if n} == {
        "transom_rows_in": 4 * KEYS,
        "transom_rows_late": KEYS,
        "transom_windows_fired": KEYS,
        "results": KEYS,
        "rows": KEYS,
    }
