"""A query over local files, with its checkpoint and its results at other addresses.

``python -m tests.object_store.program SOURCE TARGET CHECKPOINT NAME=VALUE...`` runs the query to
the end of its input, with settings of Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import transom

SCHEMA = "number int, key string, time timestamp, value int"


def main(source: str, target: str, checkpoint: str, settings: Sequence[str]) -> None:
    """Run the query to the end of its input."""
    builder = SparkSession.Builder().master("local[2]")
    for setting in settings:
        name, value = setting.split("=", 1)
        builder = builder.config(name, value)
    spark = transom.configure(builder).getOrCreate()
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).csv(source)
    hours = (
        transom.stream(rows, time=transom.EventTime("time", delay="10 minutes"))
        .key_by("key")
        .window(transom.Tumbling("1 hour"))
        .with_late_rows()
        .drain()
        .agg(F.count("*").alias("rows"), F.sum("value").alias("total"))
    )
    query = (
        hours.writeStream.format("parquet")
        .option("path", target)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for row in spark.read.parquet(target).collect():
        if row.tag == "results":
            result = row.results
            print("result", result.key, result.window.start.isoformat(), result.rows, result.total)
        else:
            print("late", row.late.row.number)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
