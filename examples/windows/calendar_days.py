"""Counts flights by day of New York's calendar. On 10 March clocks go forward: 23 hours.

``python -m examples.windows.calendar_days``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("calendar_days")
flights = departures(spark)

days = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .window(transom.Calendar(unit="day", time_zone="America/New_York"))
    .drain()  # the last day is not over when the run ends, and fires too
    .agg(F.count("*").alias("flights"), F.avg("delay").alias("delay"))
)
query = days.writeStream.format("memory").queryName("days").trigger(availableNow=True).start()
query.awaitTermination()
seconds = F.unix_seconds("window.end") - F.unix_seconds("window.start")
spark.table("days").withColumn("hours", seconds / 3600).orderBy("window").show(truncate=False)
spark.stop()
