"""The one cluster of a test run."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import ENVIRONMENT, Standalone

# Python and the session use the same time zone, so naive datetimes mean the same in both.
os.environ["TZ"] = "UTC"
time.tzset()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master and two workers, whose Python has been made from the wheel."""
    assert (ENVIRONMENT / "bin" / "python").exists(), "run these tests by: make test-cluster"
    with Standalone(tmp_path_factory.mktemp("cluster") / "machines") as machines:
        machines.add_workers(2)
        yield machines


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the driver and the executors share, as machines share a store."""
    return tmp_path_factory.mktemp("shared")
