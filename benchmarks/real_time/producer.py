"""Sends rows to a broker, through the JVM of a Spark session."""

from typing import Any, Self

from pyspark.sql import SparkSession

_SERIALIZER = "org.apache.kafka.common.serialization.StringSerializer"


class Producer:
    """Sends each row at once, without waiting for others.

    Parameters
    ----------
    spark : SparkSession
        A session that has the jars of the connector.
    brokers : str
        The address of the broker.
    """

    def __init__(self, spark: SparkSession, brokers: str) -> None:
        jvm: Any = spark._jvm
        settings = jvm.java.util.Properties()
        for name, value in {
            "bootstrap.servers": brokers,
            "linger.ms": "0",
            "acks": "1",
            "key.serializer": _SERIALIZER,
            "value.serializer": _SERIALIZER,
        }.items():
            settings.put(name, value)
        clients = jvm.org.apache.kafka.clients
        self._record = clients.producer.ProducerRecord
        self._producer = clients.producer.KafkaProducer(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close()

    def send(self, topic: str, partition: int, value: str) -> None:
        """Send a row."""
        self._producer.send(self._record(topic, partition, None, value))
