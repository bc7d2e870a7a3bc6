"""The one Spark session of a test run."""

import os
import sys
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import transom

# Python's own clock is the session's, so that naive datetimes mean the same in both.
os.environ["TZ"] = "UTC"
time.tzset()
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as a user would make it, small."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("transom tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    )
    session = transom.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
