"""Queries on a cluster write and count the same when their executors are disturbed.

`make test-cluster-all` tries all kinds of state, and `make check-long` runs it. With TRANSOM_QUICK
one batch of each query is disturbed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.runs import Case
from tests.cluster.standalone import Standalone
from tests.cluster.sweep import DISTURBED, Disturber
from tests.cluster.undisturbed import undisturbed

LATE_ROWS = Case("late-rows", is_shuffled=True)
# Behind a shuffle, Spark may end sessions whose shuffle files are lost.
SESSIONS = Case("sessions", is_shuffled=False)
POLICY = Case("policy", is_shuffled=False)
CASES = [LATE_ROWS, SESSIONS, POLICY]
BATCHES = (1,) if os.environ.get("TRANSOM_QUICK") else DISTURBED


@pytest.fixture(scope="module")
def disturber(cluster: Standalone, folder: Path) -> Iterator[Disturber]:
    made = Disturber(cluster, folder)
    for case, outcome in undisturbed(CASES, folder / "undisturbed"):
        made.expect(case, outcome)
    yield made
    made.stop()


@pytest.mark.parametrize("case", [LATE_ROWS, POLICY], ids=str)
def test_a_killed_executor_changes_nothing(disturber: Disturber, case: Case) -> None:
    disturber.disturb(case, dict.fromkeys(BATCHES, "halt"))
    assert disturber.reports[case].different == []


def test_lost_shuffle_files_change_nothing(disturber: Disturber) -> None:
    disturber.disturb(SESSIONS, dict.fromkeys(BATCHES, "lose"))
    assert disturber.reports[SESSIONS].different == []
