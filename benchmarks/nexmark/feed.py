"""Writes Nexmark's events into Kafka's topics, through Spark.

``python -m benchmarks.nexmark.feed BROKERS INPUT``. A partition of a topic holds the rows of one
file of each batch, in their order.
"""

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.nexmark import kafka
from benchmarks.nexmark.data import FILES_PER_BATCH, KINDS
from benchmarks.nexmark.sources import as_json, topic
from benchmarks.peers.spark_once import session


def make_topics(spark: SparkSession, brokers: str) -> None:
    """Make a topic for each kind of events, as soon as the broker answers."""
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    properties.put("bootstrap.servers", brokers)
    topics = jvm.java.util.ArrayList()
    admin = jvm.org.apache.kafka.clients.admin
    for kind in KINDS:
        topics.add(admin.NewTopic(topic(kind), FILES_PER_BATCH, 1))
    client = admin.AdminClient.create(properties)
    try:
        client.createTopics(topics).all().get()
    finally:
        client.close()


def write(spark: SparkSession, brokers: str, folder: Path, kind: str) -> None:
    """Write the events of a kind."""
    events = spark.read.parquet(str(folder / kind))
    file = F.col("_metadata.file_name")
    at = F.struct(file, "_metadata.row_index")
    partition = F.regexp_extract(file, r"-(\d+)\.parquet", 1).cast("int")
    placed = events.withColumn("at", at).withColumn("partition", partition)
    # One task writes a partition, in the order of its files.
    ordered = placed.repartition("partition").sortWithinPartitions("at").drop("at")
    records = as_json(ordered)
    options = {"kafka.bootstrap.servers": brokers, "topic": topic(kind)}
    records.write.format("kafka").options(**options).save()


def main() -> None:
    """Write all kinds."""
    brokers, folder = sys.argv[1:]
    spark = session(jars=kafka.connector_jars())
    make_topics(spark, brokers)
    for kind in KINDS:
        write(spark, brokers, Path(folder), kind)
    spark.stop()


if __name__ == "__main__":
    main()
