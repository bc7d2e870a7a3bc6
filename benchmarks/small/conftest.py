"""The Spark session of the short benchmarks, with the setup of the benchmarks of peers."""

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from benchmarks.peers import spark_once

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return the one session of all benchmarks. Its start is not measured."""
    session = spark_once.session(heap_gb=2)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
