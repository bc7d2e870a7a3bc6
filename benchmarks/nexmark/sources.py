"""Nexmark's events as streams in Spark. Each batch has a fifth of the events."""

import math
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.nexmark.data import BATCHES, FILES_PER_BATCH

SCHEMAS = {
    "persons": (
        "id long, name string, email_address string, credit_card string, city string, "
        "state string, date_time timestamp, extra string"
    ),
    "auctions": (
        "id long, item_name string, description string, initial_bid long, reserve long, "
        "date_time timestamp, expires timestamp, seller long, category long, extra string"
    ),
    "bids": "auction long, bidder long, price long, date_time timestamp, extra string",
}

# Records that a consumer of Kafka returns a call, at most. The same for all peers.
MOST_POLLED = "20000"


def topic(kind: str) -> str:
    """The name of the topic that holds a kind of events."""
    return f"nexmark-{kind}"


def from_files(spark: SparkSession, folder: Path, kind: str) -> DataFrame:
    """Read the files of a kind of events, batch by batch."""
    stream = spark.readStream.schema(SCHEMAS[kind]).option("maxFilesPerTrigger", FILES_PER_BATCH)
    return stream.parquet(str(folder / kind))


def from_kafka(spark: SparkSession, brokers: str, kind: str, rows: int) -> DataFrame:
    """Read a topic from its beginning. Its rows are JSON with times in milliseconds."""
    options = {
        "kafka.bootstrap.servers": brokers,
        "subscribe": topic(kind),
        "startingOffsets": "earliest",
        # The consumer returns 500 records a call unless this is set, and each call costs.
        "kafka.max.poll.records": MOST_POLLED,
        "maxOffsetsPerTrigger": str(math.ceil(rows / BATCHES)),
    }
    records = spark.readStream.format("kafka").options(**options).load()
    schema = SCHEMAS[kind].replace(" timestamp", " long")
    events = records.select(F.from_json(F.col("value").cast("string"), schema).alias("event"))
    return events.select(
        *(
            F.timestamp_millis(f"event.{name}").alias(name)
            if type_ == "timestamp"
            else F.col(f"event.{name}")
            for name, type_ in (column.split() for column in SCHEMAS[kind].split(", "))
        )
    )


def only_read(*streams: DataFrame) -> DataFrame:
    """Return the events of all streams, with no query over them."""
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), streams)


def as_json(events: DataFrame) -> DataFrame:
    """Convert events to the JSON that `from_kafka` reads."""
    columns = [
        F.unix_millis(name).alias(name) if type_ == "timestamp" else F.col(name)
        for name, type_ in events.dtypes
    ]
    return events.select(F.to_json(F.struct(*columns)).alias("value"), "partition")
