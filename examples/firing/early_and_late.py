"""Counts flights by hour, with early results and late corrections. A pane says which is which.

``python -m examples.firing.early_and_late``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("early_and_late")
flights = departures(spark)

hours = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    # An early result after every two flights, one at the end, and one for each late flight.
    .trigger(transom.AfterWatermark(early=transom.AfterCount(2), late=transom.AfterCount(1)))
    .allowed_lateness("6 hours")
    .with_pane()
    .agg(F.count("*").alias("flights"), F.max("delay").alias("worst"))
)
query = hours.writeStream.format("memory").queryName("hours").trigger(availableNow=True).start()
query.awaitTermination()
results = spark.table("hours").select(
    "origin", "window", "pane.index", "pane.timing", "flights", "worst"
)
results.orderBy("window", "origin", "index").show(30, truncate=False)
spark.stop()
