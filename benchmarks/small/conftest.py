"""The Spark session of the short benchmarks, set up as the benchmarks of peers set it up."""

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from benchmarks.peers import spark_once

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all of them: starting it is not measured."""
    session = spark_once.session(heap_gb=2)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
