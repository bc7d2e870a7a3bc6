"""Runs windows over more rows than objects fit the heap. `test_memory` runs it in a separate JVM.

``python -m tests.end_to_end.support.programs.sweeping_memory FOLDER HEAP KIND ROWS KEYS WIDTH``
prints as JSON the largest heap, the number of results, the number of results of a model, and 1 if
both are the same results. Each key has a row a second. The rows carry a text of WIDTH
to WIDTH + 6 characters. KIND is ``static``, or ``stream`` for a batch of all rows of a stream whose
keys are in one key group.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.filling_memory import session

SECONDS = 10
# Lengths of texts repeat after so many seconds.
CYCLE = 7
COLUMNS = ("key", "end", "rows", "first", "last", "characters")


def windows(rows: DataFrame, groups: int) -> DataFrame:
    """Rolling windows that read the text of each row."""
    return (
        transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        .key_by("key")
        .window(transom.Rolling(f"{SECONDS} seconds"))
        .options(key_groups=groups)
        .drain()
        .agg(
            F.count("*").alias("rows"),
            F.min("second").alias("first"),
            F.max("second").alias("last"),
            F.sum(F.length("text")).alias("characters"),
        )
        .select("key", F.col("window.end").cast("long").alias("end"), *COLUMNS[2:])
    )


def length_at(second: Column, width: int) -> Column:
    """Length of the text of the row at a second."""
    return second % CYCLE + width


def model(spark: SparkSession, rows: int, keys: int, width: int) -> DataFrame:
    """The windows by arithmetic: one ends at each second at which a row enters or leaves."""
    seconds = rows // keys
    end = F.floor(F.col("id") / keys)
    # At the end of the last lifetime no row is left.
    numbered = spark.range(0, (seconds + SECONDS - 1) * keys, numPartitions=2).where(
        (end < seconds) | (end >= SECONDS)
    )
    within = [end - n for n in range(SECONDS)]
    inside = [(second >= 0) & (second < seconds) for second in within]
    texts = [
        F.when(held, length_at(second, width)).otherwise(0)
        for second, held in zip(within, inside, strict=True)
    ]
    first = F.greatest(end - (SECONDS - 1), F.lit(0))
    last = F.least(end, F.lit(seconds - 1))
    return numbered.select(
        (F.col("id") % keys).alias("key"),
        end.alias("end"),
        (last - first + 1).alias("rows"),
        first.alias("first"),
        last.alias("last"),
        sum(texts, F.lit(0)).alias("characters"),
    )


def summary(results: DataFrame) -> tuple[int, int]:
    """The number of rows, and a checksum that does not depend on their order."""
    digest = F.xxhash64(*(F.col(name).cast("long") for name in results.columns))
    found = results.agg(F.count("*"), F.sum(digest.cast("decimal(20, 0)"))).first()
    assert found is not None
    return found[0], int(found[1] or 0)


def main(folder: Path, heap: str, kind: str, rows: int, keys: int, width: int) -> None:
    """Run the windows, and print what came out."""
    spark = session(folder, heap)
    assert spark.sparkContext._jvm is not None
    largest = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    second = F.floor(F.col("id") / keys)
    made = spark.range(0, rows, numPartitions=2).select(
        (F.col("id") % keys).alias("key"),
        second.alias("second"),
        F.timestamp_seconds(second).alias("time"),
        F.repeat(F.lit("x"), length_at(second, width).cast("int")).alias("text"),
    )
    found: list[tuple[int, int]] = []
    if kind == "static":
        found.append(summary(windows(made, 128)))
    else:
        source = folder / "input"
        made.write.parquet(str(source))
        stream = spark.readStream.schema(made.schema).parquet(str(source))
        query = (
            windows(stream, 1)
            .writeStream.foreachBatch(lambda results, _batch: found.append(summary(results)))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(2_400)
    expected = summary(model(spark, rows, keys, width))
    totals = {
        "heap": largest,
        "results": sum(count for count, _ in found),
        "expected": expected[0],
        "right": int(sum(digest for _, digest in found) == expected[1]),
    }
    print(json.dumps(totals), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
