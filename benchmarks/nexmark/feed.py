"""Writes Nexmark's events into Kafka's topics, through Spark.

``python -m benchmarks.nexmark.feed BROKERS INPUT``. A partition of a topic holds the rows of one
file of each batch, in their order.
"""

import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.kafka.jars import connector_jars
from benchmarks.kafka.topics import make_topics
from benchmarks.nexmark.data import FILES_PER_BATCH, KINDS
from benchmarks.nexmark.sources import as_json, topic
from benchmarks.peers.spark_once import session


def feed(brokers: str, folder: Path) -> None:
    """Make the topics, and write the events of a folder into them, in a process of its own."""
    module = [sys.executable, "-m", "benchmarks.nexmark.feed"]
    subprocess.run([*module, brokers, str(folder)], check=True, stdout=subprocess.DEVNULL)


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
    spark = session(jars=connector_jars())
    make_topics(spark, brokers, [topic(kind) for kind in KINDS], partitions=FILES_PER_BATCH)
    for kind in KINDS:
        write(spark, brokers, Path(folder), kind)
    spark.stop()


if __name__ == "__main__":
    main()
