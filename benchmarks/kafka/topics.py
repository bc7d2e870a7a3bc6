"""Topics of a broker, made through the JVM of a Spark session."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession


def make_topics(
    spark: SparkSession,
    brokers: str,
    names: Sequence[str],
    *,
    partitions: int,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Make topics, as soon as the broker answers.

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
    topics = jvm.java.util.ArrayList()
    admin = jvm.org.apache.kafka.clients.admin
    for name in names:
        topics.add(admin.NewTopic(name, partitions, 1).configs(configs))
    client = admin.AdminClient.create(properties)
    try:
        client.createTopics(topics).all().get()
    finally:
        client.close()
