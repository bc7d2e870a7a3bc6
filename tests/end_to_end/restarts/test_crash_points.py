"""A query that crashes at a durable write and restarts has the output of an undisturbed run.

`make crash-sweep` tries all points of all queries, and `make check-long` runs it.
"""

import pytest

from tests.end_to_end.restarts.crashes.__main__ import report_of
from tests.end_to_end.support.sessions import Reason, skip_in_connect

POINTS = 3


@pytest.mark.parametrize(
    ("kind", "sink"),
    [
        ("late-rows", "batches"),
        ("lifetimes", "files"),
        ("policy", "files"),
    ],
)
def test_a_crash_at_a_durable_write_changes_nothing(kind: str, sink: str) -> None:
    skip_in_connect(Reason.PROCESS)
    report = report_of(kind, sink, ["--points", str(POINTS)])
    assert report.different == []
    assert report.tried == POINTS
    assert report.rows > 0
