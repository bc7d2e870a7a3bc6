"""Saves late rows: results and late rows go to a writer each.

``python -m examples.watermarks.late_rows``
"""

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("late_rows")
flights = departures(spark)
folder = Path(tempfile.mkdtemp(prefix="late-rows-"))


def save_hours(rows: DataFrame, batch_id: int) -> None:
    """Save results. A batch that repeats after a failure overwrites its folder."""
    rows.write.mode("overwrite").parquet(f"{folder}/hours/batch={batch_id}")


def save_late(rows: DataFrame, batch_id: int) -> None:
    """Save late rows in the same way."""
    rows.write.mode("overwrite").parquet(f"{folder}/late/batch={batch_id}")


hours = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    .with_late_rows()
    .drain()
    .agg(F.count("*").alias("flights"))
)
query = (
    hours.writeStream.foreachBatch(transom.route(results=save_hours, late=save_late))
    .option("checkpointLocation", f"{folder}/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()

hours_saved = spark.read.parquet(f"{folder}/hours").drop("batch")
hours_saved.orderBy("window", "origin").show(truncate=False)
late_saved = spark.read.parquet(f"{folder}/late")
late_saved.select("row.*", "reason", "missed_windows", "watermark").show(truncate=False)

progress = [batch.observedMetrics for batch in query.recentProgress]
counts = [observed["window"] for observed in progress if "window" in observed]
print("rows read:", sum(c["transom_rows_in"] for c in counts))
print("rows late:", sum(c["transom_rows_late"] for c in counts))
spark.stop()
