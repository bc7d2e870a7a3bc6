"""Spark retries a task: the rows that the failed attempt counted count once."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.programs import refetching
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


@pytest.mark.skipif(not LONG, reason="make test-cluster loses files on a cluster")
def test_a_finished_stage_that_runs_again_counts_once(tmp_path: Path) -> None:
    done = run("refetching", tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (tmp_path / "lost").exists()
    outcome = json.loads(done.stdout.splitlines()[-1])
    # Of each key, the first row is in one window, and the next two rows are in another one. The
    # input does not close the window of the last row.
    assert sorted(outcome["results"]) == [1] * refetching.KEYS + [2] * refetching.KEYS
    assert outcome["counts"] == {
        "tens": {
            "transom_rows_in": 5 * refetching.KEYS,
            "transom_rows_late": refetching.KEYS,
            "transom_windows_fired": 2 * refetching.KEYS,
        },
        "minutes": {
            "transom_rows_in": 2 * refetching.KEYS,
            "transom_windows_fired": 2 * refetching.KEYS,
        },
    }
