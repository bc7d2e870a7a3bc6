"""Sends rows to a broker and reads results from it, through the JVM of a Spark session."""

import threading
import time
from typing import Any, Self

from pyspark.sql import SparkSession

_STRING = "org.apache.kafka.common.serialization.String"
_LONGEST_POLL_MS = 5


class Client:
    """A producer, and a consumer of one topic that reads at once, on a thread of its own.

    Parameters
    ----------
    spark : SparkSession
        A session that has the jars of the connector.
    brokers : str
        The address of the broker.
    topic : str
        The topic of the results. It has one partition.

    Attributes
    ----------
    found : list of tuple
        The values that were read, each with the microseconds since 1970 when it was read.
    """

    def __init__(self, spark: SparkSession, brokers: str, topic: str) -> None:
        jvm: Any = spark._jvm
        settings = jvm.java.util.Properties()
        for name, value in {
            "bootstrap.servers": brokers,
            "linger.ms": "0",
            "acks": "1",
            "key.serializer": f"{_STRING}Serializer",
            "value.serializer": f"{_STRING}Serializer",
            "key.deserializer": f"{_STRING}Deserializer",
            "value.deserializer": f"{_STRING}Deserializer",
        }.items():
            settings.put(name, value)
        clients = jvm.org.apache.kafka.clients
        self._record = clients.producer.ProducerRecord
        self._producer = clients.producer.KafkaProducer(settings)
        self._consumer = clients.consumer.KafkaConsumer(settings)
        place = jvm.org.apache.kafka.common.TopicPartition(topic, 0)
        places = jvm.java.util.List.of(place)
        self._consumer.assign(places)
        self._consumer.seekToBeginning(places)
        self._longest_poll = jvm.java.time.Duration.ofMillis(_LONGEST_POLL_MS)
        self.found: list[tuple[int, str]] = []
        self._is_open = True
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._reader.join()
        self._consumer.close()
        self._producer.close()

    def send(self, topic: str, partition: int, value: str) -> None:
        """Send a row at once."""
        self._producer.send(self._record(topic, partition, None, value))

    def _read(self) -> None:
        while self._is_open:
            records = self._consumer.poll(self._longest_poll)
            if records.isEmpty():
                continue
            now = time.time_ns() // 1_000
            rows = records.iterator()
            while rows.hasNext():
                self.found.append((now, rows.next().value()))
