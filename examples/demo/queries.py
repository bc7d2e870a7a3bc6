"""The windows of the demo, as you would write them for your own stream."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import transom
from examples.demo.flights import NEW_YORK
from examples.demo.replay import SCHEMA
from transom.tagged import Writer

# Most flights have landed three hours after their departure. Flights to the west coast have not.
DELAY = "3 hours"


def hours(flights: DataFrame) -> DataFrame:
    """Count flights by airport, in hours that start every 15 minutes."""
    return (
        transom.stream(flights, time=transom.EventTime("departed", delay=DELAY))
        .key_by("origin")
        .window(transom.Hopping(size="1 hour", slide="15 minutes"))
        .with_late_rows(partly=True)
        .drain()
        .agg(F.count("*").alias("flights"), F.avg("delay").alias("delay"))
    )


def sessions(flights: DataFrame) -> DataFrame:
    """Summarize the flights of each aircraft until eight hours without a departure."""
    return (
        transom.stream(flights, time=transom.EventTime("departed", delay=DELAY))
        .key_by("tailnum")
        .window(transom.Session(gap="8 hours"))
        .with_late_rows()
        .drain()
        .agg(
            F.count("*").alias("flights"),
            F.sum("distance").alias("miles"),
            F.count_distinct("origin").alias("airports"),
        )
    )


def days(flights: DataFrame) -> DataFrame:
    """Summarize each day of New York's calendar. Two days a year have 23 or 25 hours."""
    return (
        transom.stream(flights, time=transom.EventTime("departed", delay=DELAY))
        .window(transom.Calendar(unit="day", time_zone=NEW_YORK))
        .with_late_rows()
        .drain()
        .agg(
            F.count("*").alias("flights"),
            F.count_if(F.col("delay") >= 60).alias("an_hour_late"),
            F.avg("delay").alias("delay"),
            F.max("delay").alias("worst"),
        )
    )


QUERIES = {"hours": hours, "sessions": sessions, "days": days}

# Spark moves its watermark once a batch, so hours need short batches to have late flights. Flights
# are on time for sessions and days, whose batches may be longer.
FILES_PER_BATCH = {"hours": 1, "sessions": 4, "days": 4}


def start(spark: SparkSession, name: str, build: Path) -> StreamingQuery:
    """Start one of the queries over the files in ``input``.

    Its results go to the folder with its name, and its late rows to a folder in ``late``.
    """
    flights = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", FILES_PER_BATCH[name])
        .parquet(str(build / "input"))
    )

    tagged = QUERIES[name](flights)
    writers = {"results": _save(build / name), "late": _save(build / "late" / name)}
    for tag, write in writers.items():
        # route calls no writer without rows, but the tables are read even if no row is late.
        write(spark.createDataFrame([], transom.untag(tagged, tag).schema), -1)

    return (
        tagged.writeStream.queryName(name)
        .foreachBatch(transom.route(**writers))
        .option("checkpointLocation", str(build / "checkpoints" / name))
        .trigger(availableNow=True)
        .start()
    )


def _save(folder: Path) -> Writer:
    def write(rows: DataFrame, batch_id: int) -> None:
        # A repeated batch overwrites its own folder, so it changes nothing.
        path = folder / f"batch={batch_id}"
        rows.coalesce(1).write.mode("overwrite").parquet(str(path))

    return write
