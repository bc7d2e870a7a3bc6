"""Counts flights by airport and hour. An hour starts every 30 minutes, so each flight is in two.

``python -m examples.windows.hopping``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("hopping")
flights = departures(spark)

hours = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Hopping(size="1 hour", slide="30 minutes"))
    .agg(F.count("*").alias("flights"), F.max("delay").alias("worst"))
)
query = (
    hours.writeStream.format("memory")
    .queryName("hours")
    .outputMode("append")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.table("hours").orderBy("window", "origin").show(30, truncate=False)
spark.stop()
