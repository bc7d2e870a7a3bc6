"""Queries on a cluster write and count the same when their executors are disturbed.

`make test-cluster-all` tries all kinds of state, and `make check-long` runs it. With TRANSOM_QUICK
one batch of each query is disturbed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.models import MODELS
from tests.cluster.runs import Case, Outcome, Place, Point
from tests.cluster.standalone import Standalone
from tests.cluster.sweep import DISTURBED, Disturber
from tests.cluster.undisturbed import undisturbed

LATE_ROWS = Case("late-rows", is_shuffled=True)
SESSIONS = Case("sessions", is_shuffled=True)
POLICY = Case("policy", is_shuffled=False)
CHANGING = Case("changing", is_shuffled=True)
IS_LONG = "TRANSOM_LONG" in os.environ
CASES = [LATE_ROWS, SESSIONS, POLICY, *([CHANGING] if IS_LONG else [])]
BATCHES = (1,) if os.environ.get("TRANSOM_QUICK") else DISTURBED


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[Case, Outcome]:
    """The outcomes of undisturbed runs."""
    return dict(undisturbed(CASES, folder / "undisturbed"))


@pytest.fixture(scope="module")
def disturber(
    cluster: Standalone, folder: Path, expected: dict[Case, Outcome]
) -> Iterator[Disturber]:
    made = Disturber(cluster, folder)
    for case, outcome in expected.items():
        made.expect(case, outcome)
    yield made
    made.stop()


@pytest.mark.parametrize("case", [LATE_ROWS, SESSIONS, POLICY], ids=str)
def test_the_runs_that_others_are_compared_with_are_those_of_a_model(
    expected: dict[Case, Outcome], folder: Path, case: Case
) -> None:
    rows, counts = MODELS[case.kind](folder / "undisturbed" / "input")
    found = expected[case]
    assert (found.rows, {name: n for name, n in found.counts.items() if n}) == (rows, counts)


@pytest.mark.parametrize("case", [LATE_ROWS, POLICY], ids=str)
def test_a_killed_executor_changes_nothing(disturber: Disturber, case: Case) -> None:
    disturber.disturb(case, dict.fromkeys(BATCHES, "halt"))
    assert disturber.reports[case].different == []


def test_lost_shuffle_files_change_nothing(disturber: Disturber) -> None:
    disturber.disturb(SESSIONS, dict.fromkeys(BATCHES, "lose"))
    # The tasks send the same sessions again, so Spark does not end the query.
    report = disturber.reports[SESSIONS]
    assert (report.different, report.of_spark) == ([], 0)


@pytest.mark.skipif(not IS_LONG, reason="disturbs one more query: run by make check-long")
def test_a_query_that_spark_cannot_roll_back_is_identical_after_a_restart(
    disturber: Disturber,
) -> None:
    # More tasks than the executors run at once: the last ones find no shuffle files.
    disturber.session().conf.set("spark.sql.shuffle.partitions", "8")
    disturber.disturb_at(CHANGING, [Point("lose", Place(1, 0, 2, tasks=8), "end")])
    report = disturber.reports[CHANGING]
    assert (report.different, report.of_spark) == ([], 1)
