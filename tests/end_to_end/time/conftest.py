"""A Kafka broker on this machine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import SparkSession

from benchmarks.kafka.broker import broker
from benchmarks.kafka.jars import connector_jars
from tests.end_to_end.support.kafka import Topic, add_connector
from tests.end_to_end.support.sessions import Reason, skip_in_connect


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker."""
    skip_in_connect(Reason.CLOCK)
    if not any(pyspark.__version__ in jar.name for jar in connector_jars()):
        pytest.skip(f"the Kafka source is not the one of PySpark {pyspark.__version__}")
    with broker(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def topic(spark: SparkSession, brokers: str) -> Iterator[Topic]:
    """A topic of its own for each test."""
    add_connector(spark)
    made = Topic(spark, brokers, f"topic-{uuid.uuid4()}")
    yield made
    made.close()
