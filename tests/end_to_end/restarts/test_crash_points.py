"""A query that crashes at a durable write and restarts has the output of an undisturbed run.

`make crash-sweep` tries all points of all queries, and `make check-long` runs it.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.restarts.crashes.runs import CRASHING
from tests.end_to_end.restarts.crashes.sweep import Sweep
from tests.end_to_end.support.sessions import Reason, settings, skip_in_connect

POINTS = 3


@pytest.fixture
def crashing(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of the tests, whose durable writes can crash."""
    skip_in_connect(Reason.JVM)
    with settings(spark, CRASHING):
        yield spark


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "sink"),
    [
        ("late-rows", "batches"),
        ("lifetimes", "files"),
        ("policy", "files"),
    ],
)
def test_a_crash_at_a_durable_write_changes_nothing(
    crashing: SparkSession, tmp_path: Path, kind: str, sink: str
) -> None:
    sweep = Sweep(crashing, kind, sink, tmp_path)
    for point in random.Random(f"{kind} {sink}").sample(sweep.points(), POINTS):
        sweep.crash([point])
    assert sweep.report.different == []
    assert sweep.report.tried == POINTS
    assert sweep.report.rows > 0
