"""Topics of a broker, made through the JVM of a Spark session."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_LONGEST_WAIT = 120


def make_topics(
    spark: SparkSession,
    brokers: str,
    names: Sequence[str],
    *,
    partitions: int,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Make topics, as soon as the broker answers, and wait until their partitions can be used.

    Parameters
    ----------
    spark : SparkSession
        A session that has the jars of the connector.
    brokers : str
        The address of the broker.
    names : sequence of str
        Names of the topics.
    partitions : int
        Number of partitions of each topic.
    settings : mapping, optional
        Settings of each topic, such as ``retention.ms``.
    """
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    properties.put("bootstrap.servers", brokers)
    configs = jvm.java.util.HashMap()
    for name, value in (settings or {}).items():
        configs.put(name, value)
    topics, offsets = jvm.java.util.ArrayList(), jvm.java.util.HashMap()
    admin = jvm.org.apache.kafka.clients.admin
    for name in names:
        topics.add(admin.NewTopic(name, partitions, 1).configs(configs))
        for number in range(partitions):
            place = jvm.org.apache.kafka.common.TopicPartition(name, number)
            offsets.put(place, admin.OffsetSpec.latest())
    client = admin.AdminClient.create(properties)
    try:
        client.createTopics(topics).all().get()
        _wait_for_offsets(client, offsets)
    finally:
        client.close()


def _wait_for_offsets(client: Any, offsets: Any) -> None:
    """Wait until the broker leads all partitions, which it does a moment after it made them.

    A producer that writes earlier has to send its rows again, and may get stuck.
    """
    latest = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            client.listOffsets(offsets).all().get()
        except Py4JJavaError as error:
            if "UnknownTopicOrPartition" not in str(error) or time.monotonic() > latest:
                raise
        else:
            return
