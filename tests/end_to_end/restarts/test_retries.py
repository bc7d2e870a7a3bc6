"""Spark retries a task: the rows that the failed attempt counted count once."""

import json
from pathlib import Path

from tests.end_to_end.support.programs.retrying import KEYS
from tests.end_to_end.support.programs.run import run


def test_a_task_that_is_tried_again_counts_once(tmp_path: Path) -> None:
    done = run("retrying", tmp_path)
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
