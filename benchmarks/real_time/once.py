"""The peers of ``benchmarks.real_time`` on Spark.

``python -m benchmarks.real_time.once PEER BROKERS INPUT OUTPUT WORK``. Reads the topic ``INPUT``,
counts by key in windows of event time, and writes the topic ``OUTPUT`` until the process is killed.
Its checkpoint is the folder ``checkpoint`` of ``WORK``. A row is ``key,microseconds``, and a result
``end,rows,key``. All peers have the settings of `transom.configure`. ``transom-counts-real-time``
also writes a new count for each row.
"""

import argparse
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from benchmarks.kafka.jars import connector_jars
from benchmarks.peers.spark_once import SETTINGS

PARTITIONS = 2
PEERS = (
    "transom-real-time",
    "transom-counts-real-time",
    "native-real-time",
    "transom",
    "transom-policy",
    "native",
)
# The tasks of Real-Time Mode need their slots at the same time.
SLOTS = 2 * PARTITIONS + 2


def session(name: str, *, real_time: bool) -> SparkSession:
    """Start Spark with the jars of Kafka's connector, also for classes that Python calls."""
    jars = [str(jar) for jar in connector_jars()]
    builder = SparkSession.builder.appName(name).master(f"local[{SLOTS}]")
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    builder = builder.config("spark.sql.shuffle.partitions", PARTITIONS)
    builder = builder.config("spark.driver.memory", "4g")
    builder = builder.config("spark.jars", ",".join(jars))
    builder = builder.config("spark.driver.extraClassPath", ":".join(jars))
    return transom.configure(builder, real_time=real_time).getOrCreate()


def windows(rows: DataFrame, peer: str, size: str) -> DataFrame:
    """Count by key in windows."""
    count = F.count("*").alias("n")
    if peer.startswith("native"):
        rows = rows.withWatermark("at", "0 seconds")
        return rows.groupBy("k", F.window("at", size)).agg(count)
    if peer == "transom-policy":
        policy = transom.TimePolicy("at", partition="partition")
        stream = transom.stream(rows, time=policy, order="offset")
    else:
        stream = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    windowed = stream.key_by("k").window(transom.Tumbling(size))
    if peer == "transom-counts-real-time":
        windowed = windowed.trigger(transom.AfterWatermark(early=transom.AfterCount(1)))
    return windowed.agg(count)


def main() -> None:
    """Run the query until this process is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("brokers")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("work", type=Path)
    parser.add_argument("--size", default="1 second", help="size of the windows")
    parser.add_argument("--batch", default="1 minute", help="duration of a batch of Real-Time Mode")
    arguments = parser.parse_args()
    is_real_time = arguments.peer.endswith("-real-time")
    spark = session(arguments.peer, real_time=is_real_time)
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.brokers)
        .option("subscribe", arguments.input)
        .option("startingOffsets", "earliest")
        .option("kafka.max.poll.records", 20_000)
        .load()
    )
    parts = F.split(F.col("value").cast("string"), ",")
    at = F.timestamp_micros(parts[1].cast("long")).alias("at")
    rows = records.select(parts[0].alias("k"), at, "partition", "offset")
    results = windows(rows, arguments.peer, arguments.size)
    value = F.concat_ws(",", F.unix_micros("window.end"), "n", "k").alias("value")
    # The types of PySpark 4.2 lack the trigger of Real-Time Mode.
    writer: Any = (
        results.select(value)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.brokers)
        .option("topic", arguments.output)
        .option("checkpointLocation", str(arguments.work / "checkpoint"))
    )
    if is_real_time:
        writer = writer.outputMode("update").trigger(realTime=arguments.batch)
    query = writer.start()
    print("ready", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
