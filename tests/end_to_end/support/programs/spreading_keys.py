"""Windows over many keys, or over a key with most rows. `test_memory` runs it in a separate JVM.

``python -m tests.end_to_end.support.programs.spreading_keys FOLDER HEAP KIND ROWS KEYS HOT`` prints
as JSON the largest heap, and for each query the number of results, the number of results of Spark's
own windows, and whether they are the same results. HOT of 100 rows have one key, and the others
have KEYS keys. KIND is ``static``, or ``stream`` for a stream whose windows are all open at its
end.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.filling_memory import session
from tests.end_to_end.support.programs.sweeping_memory import summary
from transom.spec import Layout

MINUTES = 10
BATCHES = 4
# A prime number, so that the rows that are not of the one key hit each of the other keys.
STEP = 7_919


def made(spark: SparkSession, rows: int, keys: int, hot: int) -> DataFrame:
    """The rows, in the order of their times."""
    number = F.col("id")
    other = F.floor(number * (100 - hot) / 100) * STEP % keys
    return spark.range(0, rows, numPartitions=BATCHES).select(
        F.when(number % 100 < hot, 0).otherwise(1 + other).alias("key"),
        F.timestamp_millis(F.floor(number * (MINUTES * 60_000) / rows)).alias("time"),
        (number % 1_000).alias("value"),
    )


def queries() -> dict[str, tuple[transom.Window, Layout, Column]]:
    """Windows and their state layout, and Spark's own windows."""
    minutes, sessions = transom.Tumbling("1 minute"), transom.Session("30 seconds")
    return {
        "slices": (minutes, "slices", F.window("time", "1 minute")),
        "keyed": (minutes, "keyed", F.window("time", "1 minute")),
        "sessions": (sessions, "auto", F.session_window("time", "30 seconds")),
    }


def aggregates() -> list[Column]:
    return [F.count("*").alias("n"), F.sum("value").alias("total"), F.max("value").alias("most")]


def flat(results: DataFrame) -> DataFrame:
    """Results as numbers."""
    bounds = [F.unix_micros(f"window.{bound}").alias(bound) for bound in ("start", "end")]
    return results.select("key", *bounds, "n", "total", "most")


def ours(rows: DataFrame, window: transom.Window, layout: Layout) -> DataFrame:
    """The results of transom. No window ends before the input does."""
    time = transom.EventTime("time", delay=f"{2 * MINUTES} minutes")
    windowed = transom.stream(rows, time=time).key_by("key").window(window).options(layout=layout)
    return flat(windowed.drain().agg(*aggregates()))


def streamed(
    rows: DataFrame, window: transom.Window, layout: Layout, checkpoint: Path
) -> list[tuple[int, int]]:
    """The summaries of the batches of a stream."""
    found: list[tuple[int, int]] = []
    query = (
        ours(rows, window, layout)
        .writeStream.foreachBatch(lambda results, _batch: found.append(summary(results)))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(2_400)
    return found


def main(folder: Path, heap: str, kind: str, rows: int, keys: int, hot: int) -> None:
    """Run the queries, and print what came out."""
    spark = session(folder, heap)
    assert spark.sparkContext._jvm is not None
    largest = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    source = folder / "input"
    made(spark, rows, keys, hot).write.parquet(str(source))
    static = spark.read.parquet(str(source))
    read = spark.readStream.schema(static.schema).option("maxFilesPerTrigger", 1)
    totals: dict[str, object] = {"heap": largest}
    for name, (window, layout, native) in queries().items():
        if kind == "static":
            found = [summary(ours(static, window, layout))]
        else:
            found = streamed(read.parquet(str(source)), window, layout, folder / name)
        grouped = static.groupBy("key", native.alias("window")).agg(*aggregates())
        count, digest = summary(flat(grouped))
        results = sum(part for part, _ in found)
        totals[name] = [results, count, sum(part for _, part in found) == digest]
    print(json.dumps(totals), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
