"""Opens a window for each of many keys in Real-Time Mode, then closes all of them.

``python -m tests.end_to_end.support.programs.opening_keys FOLDER KEYS BROKER HEAP KIND`` prints as
JSON the largest heap, the number of results, and how many of them are right. KIND is a name of
`WINDOWS`. The program prints the progress of each batch to standard error.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from benchmarks.kafka.jars import connector_jars
from benchmarks.kafka.topics import make_topics
from tests.end_to_end.support.programs.sessions import small_session

PARTITIONS = 2
# Rows of each key, a minute apart.
ROUNDS = 2
# In the slice log, and in the keyed layout.
WINDOWS = {"tumbling": transom.Tumbling("1 hour"), "session": transom.Session("1 hour")}
BATCH = "20 seconds"
_FIRST_MS = 1_000_000_800_000
_ROUND_MS = 60_000
_DAY_MS = 86_400_000
_LONGEST_RUN = 1_500


def session(folder: Path, heap: str) -> SparkSession:
    """A session that ends when its heap is full, with a slot for each task."""
    jars = [str(jar) for jar in connector_jars()]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.driver.memory": heap,
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
    }
    return small_session(folder, "local[4]", **settings)


def feed(spark: SparkSession, broker: str, keys: int) -> None:
    """Write rows of all keys, round by round, and a last row that closes all windows."""
    of_partition = keys // PARTITIONS
    passed = (F.col("id") % of_partition * _ROUND_MS / of_partition).cast("long")
    for number in range(ROUNDS):
        ids = spark.range(0, keys, numPartitions=PARTITIONS)
        _send(broker, ids, passed + (_FIRST_MS + number * _ROUND_MS), F.col("id") + number)
    last = spark.range(-PARTITIONS, 0, numPartitions=PARTITIONS)
    _send(broker, last, F.lit(_FIRST_MS + _DAY_MS), F.lit(0))


def _send(broker: str, ids: DataFrame, at: Column, value: Column) -> None:
    row = F.concat_ws(",", F.col("id").cast("string"), at.cast("string"), value.cast("string"))
    records = ids.select(row.alias("value"), F.spark_partition_id().alias("partition"))
    options = {"kafka.bootstrap.servers": broker, "topic": "in"}
    records.write.format("kafka").options(**options).save()


def windowed(rows: DataFrame, kind: str) -> DataFrame:
    """Count and sum the values of each key."""
    by_key = transom.stream(rows, time=transom.EventTime("time", delay="0 seconds")).key_by("key")
    results = by_key.window(WINDOWS[kind]).agg(n=F.count("*"), s=F.sum("value"))
    return results.select(
        F.concat_ws(",", *(F.col(name).cast("string") for name in ("key", "n", "s"))).alias("value")
    )


def main(folder: Path, keys: int, broker: str, heap: str, kind: str) -> None:
    """Open the windows, close them, and count the results."""
    spark = session(folder, heap)
    assert spark.sparkContext._jvm is not None
    largest = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    make_topics(spark, broker, ["in"], partitions=PARTITIONS)
    make_topics(spark, broker, ["out"], partitions=1)
    feed(spark, broker, keys)
    options = {"kafka.bootstrap.servers": broker, "startingOffsets": "earliest"}
    value = F.col("value").cast("string")
    records = spark.readStream.format("kafka").options(**options, subscribe="in").load()
    row = F.from_csv(value, "key long, time long, value long")
    rows = records.select(row.alias("row")).select(
        "row.key", F.timestamp_millis("row.time").alias("time"), "row.value"
    )
    # The types of PySpark 4.2 lack the argument realTime.
    writer: Any = windowed(rows, kind).writeStream.format("kafka").outputMode("update")
    query = (
        writer.options(**options, topic="out")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(realTime=BATCH)
        .start()
    )
    # A batch has the results of all its rows when it ends.
    read, batch, latest = 0, -1, time.monotonic() + _LONGEST_RUN
    while read < ROUNDS * keys + PARTITIONS:
        assert not query.awaitTermination(1)
        assert time.monotonic() < latest, f"{read} rows were read"
        progress = query.lastProgress
        if progress is not None and progress.batchId != batch:
            batch, read = progress.batchId, read + progress.numInputRows
            print(progress.json, file=sys.stderr, flush=True)
    query.stop()
    written = spark.read.format("kafka").options(**options, subscribe="out").load()
    result = F.from_csv(value, "key long, n long, s long").alias("result")
    # Of each key, all rows but the first have the number of the round more than the key.
    is_right = (F.col("n") == ROUNDS) & (F.col("s") == F.col("key") * ROUNDS + sum(range(ROUNDS)))
    found = written.select(result).select("result.*").where(is_right)
    totals = {
        "heap": largest,
        "results": written.count(),
        "right": found.select("key").distinct().count(),
    }
    print(json.dumps(totals), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
