"""Counts the flights of each aircraft in sessions, which end with six hours on the ground.

``python -m examples.windows.sessions``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("sessions")
flights = departures(spark)

busy = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("tail")
    .window(transom.Session(gap="6 hours"))
    .drain()  # open sessions close when the run ends
    .agg(F.count("*").alias("flights"), F.count_distinct("origin").alias("airports"))
)
query = busy.writeStream.format("memory").queryName("busy").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("busy").orderBy("tail", "window").show(truncate=False)
spark.stop()
