"""Topics of a Kafka broker on this machine, as the input of queries."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.kafka.jars import connector_jars
from benchmarks.kafka.topics import make_topics
from tests.end_to_end.support.clocked import instant
from tests.end_to_end.support.sessions import Reason, skip_in_connect

PARTITIONS = 4
# The partition whose rows are ten minutes behind, and the partition that may have no rows.
SLOW, IDLE = 2, 3
# The time between two steps, in seconds.
STEP = 240
_EPOCH = datetime(1970, 1, 1)


class Event(NamedTuple):
    """A row of a topic. ``known`` is the timestamp that Kafka has for the row."""

    n: int
    key: str
    at: datetime
    known: datetime
    partition: int


def rows_of_steps(steps: int, idle_in: Sequence[int] = ()) -> list[list[Event]]:
    """Rows of four partitions, in batches. A batch arrives in the minutes before its step.

    Two partitions are on time, and one is ten minutes behind. One row in six of the slow partition
    is a further 400 seconds behind. The last partition has rows only in some steps, 800 seconds
    behind. Apart from this, rows are at most 50 seconds out of order.
    """
    chosen, numbers = random.Random(5), count()
    made = []
    for step in range(steps):
        parts = [0, 1, SLOW, *([IDLE] if step in idle_in else [])]
        batch = []
        for wait in range(6):
            for part in parts:
                known = STEP * (step - 1) + 40 * wait + 5 * part + 1
                behind = chosen.randrange(50)
                if part == IDLE:
                    behind += 800
                elif part == SLOW:
                    behind += 1000 if wait == 5 else 600
                at, key = instant(known - behind), chosen.choice("ab")
                batch.append(Event(next(numbers), key, at, instant(known), part))
        made.append(batch)
    return made


def rows_before(batches: Sequence[Sequence[Event]], step: int) -> list[Event]:
    return [event for batch in batches[:step] for event in batch]


def of_partition(batches: Sequence[Sequence[Event]], partition: int) -> set[int]:
    return {event.n for batch in batches for event in batch if event.partition == partition}


def add_connector(spark: SparkSession) -> None:
    """Add the Kafka source to a session that runs, as ``spark.jars`` does when a session starts.

    Spark has a class loader for such jars, which its tasks use too. A thread may have a further
    class loader below it.
    """
    skip_in_connect(Reason.JVM)
    jvm: Any = spark._jvm
    ours = jvm.java.lang.Class.forName("org.apache.spark.util.MutableURLClassLoader")
    loader = jvm.Thread.currentThread().getContextClassLoader()
    while ours.isInstance(loader.getParent()):
        loader = loader.getParent()
    for jar in connector_jars():
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


class Topic:
    """A topic with four partitions, to which a test writes rows with timestamps of its choice."""

    def __init__(self, spark: SparkSession, brokers: str, name: str) -> None:
        self.name = name
        self._spark, self._brokers = spark, brokers
        # Kafka deletes rows by their timestamp, which are long ago.
        forever = {"retention.ms": "-1"}
        make_topics(spark, brokers, [name], partitions=PARTITIONS, settings=forever)
        jvm: Any = spark._jvm
        self._records = jvm.org.apache.kafka.clients.producer
        properties = jvm.java.util.Properties()
        properties.put("bootstrap.servers", brokers)
        for part in ("key", "value"):
            serializer = "org.apache.kafka.common.serialization.StringSerializer"
            properties.put(f"{part}.serializer", serializer)
        self._producer = self._records.KafkaProducer(properties)

    def send(self, events: Iterable[Event]) -> None:
        """Write rows. They can be read when this returns."""
        sent = [
            self._producer.send(
                self._records.ProducerRecord(
                    self.name,
                    event.partition,
                    millis(event.known),
                    None,
                    f"{event.n},{event.key},{millis(event.at)}",
                )
            )
            for event in events
        ]
        for future in sent:
            future.get()

    def read(self, **options: Any) -> DataFrame:
        """Read the topic as a stream, with options of the source."""
        records = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._brokers)
            .option("subscribe", self.name)
            .options(**options)
            .load()
        )
        value = F.from_csv(F.col("value").cast("string"), "n int, key string, at long")
        return records.withColumn("event", value).select(
            "event.n",
            "event.key",
            F.timestamp_millis("event.at").alias("at"),
            "timestamp",
            "partition",
            "offset",
        )

    def close(self) -> None:
        """Close the connection to the broker."""
        self._producer.close()


def millis(time: datetime) -> int:
    """Milliseconds since 1970, as Kafka has them."""
    return (time - _EPOCH) // timedelta(milliseconds=1)
