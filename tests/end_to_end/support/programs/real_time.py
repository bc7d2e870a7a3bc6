"""A query in Real-Time Mode, from a Kafka topic to two others, which a test kills.

``python -m tests.end_to_end.support.programs.real_time FOLDER BROKER BATCH MASTER`` reads the topic
"in" and writes the topics "results" and "late" until the process is killed or the query fails.
"""

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from benchmarks.kafka.jars import connector_jars
from tests.end_to_end.support.programs.sessions import small_session
from tests.end_to_end.support.real_time import SHORTEST_BATCH

DELAY = 500
SIZE = 1_000
# The topics that the query writes.
RESULTS, LATE = "results", "late"
# Such a JVM starts fast, and its peak speed does not matter.
_QUICK_JVM = "-XX:TieredStopAtLevel=1"


def windowed(rows: DataFrame) -> DataFrame:
    """Count and sum the values of each key in windows of a second. Late rows leave too."""
    clock = transom.EventTime("time", delay=f"{DELAY} milliseconds")
    by_key = transom.stream(rows, time=clock).key_by("key")
    windows = by_key.window(transom.Tumbling(f"{SIZE} milliseconds"))
    return windows.with_late_rows().agg(n=F.count("*"), s=F.sum("value"))


def main(folder: Path, broker: str, batch: str, master: str) -> None:
    """Run the query until the process is killed or the query fails."""
    jars = [str(jar) for jar in connector_jars()]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": _QUICK_JVM,
        "spark.executor.extraJavaOptions": _QUICK_JVM,
        # On a cluster, a query fails unless all of its slots are there when it starts.
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.cores.max": "4",
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
        **SHORTEST_BATCH,
    }
    spark = small_session(folder, master, **settings)
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker)
    records = source.option("subscribe", "in").option("startingOffsets", "earliest").load()
    value = F.from_csv(F.col("value").cast("string"), "key string, time long, value int")
    rows = records.select(value.alias("row")).select(
        "row.key", F.timestamp_millis("row.time").alias("time"), "row.value"
    )
    written = transom.to_topics(windowed(rows), results=RESULTS, late=LATE, key=["key", "window"])
    # The types of PySpark 4.2 lack the argument realTime.
    writer: Any = written.writeStream.format("kafka")
    query = (
        writer.option("kafka.bootstrap.servers", broker)
        .outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(realTime=batch)
        .start()
    )
    print("started", flush=True)
    while not query.awaitTermination(1):
        progress = query.lastProgress
        print("batch", -1 if progress is None else progress.batchId, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
