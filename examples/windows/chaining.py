"""Windows over the results of windows: the busiest airport of each hour, then a summary of days.

``python -m examples.windows.chaining``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("chaining")
flights = departures(spark)

hours = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    .drain()
    .agg(F.count("*").alias("flights"), F.sum("delay").alias("delay"))
)
# The time of a result is the last instant of its window, so a result falls into its own hour and
# day.
busiest = (
    transom.stream(hours, time="window")
    .window(transom.Tumbling(size="1 hour"))
    .agg(F.max_by("origin", "flights").alias("origin"), F.sum("delay").alias("delay"))
)
days = (
    transom.stream(busiest, time="window")
    .window(transom.Calendar(unit="day", time_zone="America/New_York"))
    .agg(F.count("*").alias("busy_hours"), F.sum("delay").alias("delay"))
)
query = days.writeStream.format("memory").queryName("days").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("days").orderBy("window").show(truncate=False)
spark.stop()
