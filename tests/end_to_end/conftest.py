"""The one Spark session of a test run."""

import os
import sys
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import transom
from tests.end_to_end.support.file_system import with_quick_files

# Python and the session use the same time zone, so naive datetimes mean the same in both.
os.environ["TZ"] = "UTC"
time.tzset()
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small session, configured as a user would configure it, but for its file system."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("transom tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    )
    session = transom.configure(with_quick_files(builder)).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
