"""Fills one window with more data than the heap holds. `test_memory` runs it in a separate JVM.

``python -m tests.end_to_end.support.programs.filling_memory FOLDER HEAP KEYS WIDTH GROUPS BATCHES``
prints as JSON the largest heap, the number of results, and the number of their characters. Each of
KEYS keys has a text of WIDTH characters.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.sessions import small_session

MD5_WIDTH = 32


def session(folder: Path, heap: str) -> SparkSession:
    """A session that ends when its heap is full."""
    settings = {
        "spark.driver.memory": heap,
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
    }
    return small_session(folder, "local[2]", **settings)


def rows(spark: SparkSession, keys: int, width: int, second: int, files: int = 1) -> DataFrame:
    """A row for each key, all with the same time."""
    digest = F.md5(F.col("id").cast("string"))
    return spark.range(0, keys, numPartitions=files).select(
        F.concat(F.lit("key "), "id").alias("key"),
        F.timestamp_seconds(F.lit(second)).alias("time"),
        F.repeat(digest, width // MD5_WIDTH).alias("text"),
    )


def main(folder: Path, heap: str, keys: int, width: int, groups: int, batches: int) -> None:
    """Fill a window, then fire it."""
    spark = session(folder, heap)
    assert spark.sparkContext._jvm is not None
    largest = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    source = folder / "input"
    rows(spark, keys, width, 1_000_000_000, batches).write.parquet(str(source))
    filled = (
        transom.stream(
            spark.readStream.schema("key string, time timestamp, text string")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(source)),
            time=transom.EventTime("time", delay="0 seconds"),
        )
        .key_by("key")
        .window(transom.Tumbling(size="10 seconds"))
        .options(key_groups=groups)
        .agg(F.first("text").alias("text"))
        .observe(
            "fired",
            F.count("*").alias("results"),
            F.count_if(F.col("text").startswith(F.md5(F.substr("key", F.lit(5))))).alias("right"),
            F.sum(F.length("text")).alias("characters"),
        )
    )
    totals = {"heap": largest, "results": 0, "right": 0, "characters": 0}

    def run() -> None:
        query = (
            filled.writeStream.format("noop")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(1_200)
        for progress in query.recentProgress:
            fired = progress.observedMetrics["fired"]
            for name in ("results", "right", "characters"):
                totals[name] += fired[name] or 0

    run()
    # A row a minute later ends the window.
    rows(spark, 1, width, 1_000_000_060).write.mode("append").parquet(str(source))
    run()
    print(json.dumps(totals), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
