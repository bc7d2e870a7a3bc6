"""The one Spark session of a test run."""

import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import DefaultChannelBuilder

import transom
from tests.end_to_end.support.file_system import with_quick_files
from tests.end_to_end.support.sessions import INTERPRETED, is_connect

# Python and the session use the same time zone, so naive datetimes mean the same in both.
os.environ["TZ"] = "UTC"
time.tzset()
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
if is_connect():
    # A server sends functions to its own processes, which import the modules of the tests.
    root = str(Path(__file__).parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", root)])
    # Each test process has a server of its own.
    _PORT = 15002 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep each n-th case of tests marked ``sampled(n)``, so that the short check stays short.

    With TRANSOM_LONG all cases run.
    """
    seen: Counter[str] = Counter()
    left_out = []
    for item in items:
        test = item.nodeid.split("[")[0]
        mark = item.get_closest_marker("sampled")
        if mark is not None and seen[test] % mark.args[0] and not os.environ.get("TRANSOM_LONG"):
            left_out.append(item)
        seen[test] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small session, configured as a user would configure it, but for its file system.

    With ``SPARK_REMOTE=local[2]`` it is a Connect session, whose server starts in this process.
    """
    builder = (
        SparkSession.Builder()
        .appName("transom tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    )
    if not is_connect():
        if os.environ.get("TRANSOM_QUICK"):
            # Over so few rows, Spark would spend more time on compiling code than the code saves.
            # The tests in a Connect session, on a cluster and in other processes compile it.
            for name, value in INTERPRETED.items():
                builder.config(name, value)
        # In Real-Time Mode all tasks of a query run at the same time. Other queries have two.
        builder.master("local[8]").config("spark.default.parallelism", "2")
        session = transom.configure(with_quick_files(builder)).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    else:
        builder.config("spark.log.level", "ERROR")
        builder.config("spark.connect.grpc.binding.port", str(_PORT))
        DefaultChannelBuilder.default_port = staticmethod(lambda: _PORT)  # type: ignore[method-assign]
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            # PySpark tries to set the settings of the server once more, by the client.
            session = transom.configure(with_quick_files(builder)).getOrCreate()
    yield session
    session.stop()
