"""A user's first query, streaming and static. It prints the windows as JSON."""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom

SCHEMA = "name string, at timestamp"
EVENTS = [("a", 1), ("a", 9), ("b", 5), ("a", 11), ("b", 100)]


def windows(rows: DataFrame) -> DataFrame:
    """Count in windows of ten seconds."""
    timed = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    counted = timed.key_by("name").window(transom.Tumbling(size="10 seconds"))
    return counted.agg(F.count("*").alias("n"))


def plain(rows: DataFrame) -> list[list[object]]:
    """The windows as lists, in order."""
    flat = rows.select("name", F.unix_timestamp("window.start").alias("start"), "n")
    return sorted(list(row) for row in flat.collect())


folder = Path(sys.argv[1])
lines = [
    json.dumps({"name": name, "at": f"1970-01-01T00:{at // 60:02}:{at % 60:02}Z"})
    for name, at in EVENTS
]
(folder / "events").mkdir()
(folder / "events/all.json").write_text("\n".join(lines))

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = transom.configure(builder.config("spark.sql.shuffle.partitions", "1")).getOrCreate()
streamed = windows(spark.readStream.schema(SCHEMA).json(str(folder / "events")))
query = (
    streamed.writeStream.format("memory")
    .queryName("streamed")
    .option("checkpointLocation", str(folder / "checkpoint"))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
static = windows(spark.read.schema(SCHEMA).json(str(folder / "events")))
print(json.dumps({"streamed": plain(spark.table("streamed")), "static": plain(static)}))
spark.stop()
