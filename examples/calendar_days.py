"""Days of New York's calendar; that of 10 March, when clocks go forward, lasts 23 hours.

``python -m examples.calendar_days``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("calendar_days")
flights = departures(spark)

days = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .window(transom.Calendar(unit="day", time_zone="America/New_York"))
    .drain()  # the day that is not over when the run ends comes too
    .agg(F.count("*").alias("flights"), F.avg("delay").alias("delay"))
)
query = days.writeStream.format("memory").queryName("days").trigger(availableNow=True).start()
query.awaitTermination()
seconds = F.unix_seconds("window.end") - F.unix_seconds("window.start")
spark.table("days").withColumn("hours", seconds / 3600).orderBy("window").show(truncate=False)
spark.stop()
