"""Averages the delay of every two departures of an airport, however long they take to come.

``python -m examples.windows.count_windows``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("count_windows")
flights = departures(spark)

pairs = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Count(size=2))  # a window fires when it is full; rows are never late
    .agg(F.count("*").alias("flights"), F.avg("delay").alias("delay"))
)
query = pairs.writeStream.format("memory").queryName("pairs").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("pairs").orderBy("origin", "window").show(truncate=False)
spark.stop()
