"""Averages the delay of the last two flights of an airport on each day.

``python -m examples.firing.evictors``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("evictors")
flights = departures(spark)

days = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Calendar(unit="day", time_zone="America/New_York"))
    .evictor(transom.KeepLast(2))  # by arrival; KeepRecent, KeepNear and KeepWhere choose others
    .drain()
    .agg(F.count("*").alias("flights"), F.avg("delay").alias("delay"))
)
query = days.writeStream.format("memory").queryName("days").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("days").orderBy("window", "origin").show(truncate=False)
spark.stop()
