"""What each aircraft does until it stays on the ground for six hours.

``python -m examples.sessions``
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
    .drain()  # sessions that are open when the run ends close then
    .agg(F.count("*").alias("flights"), F.count_distinct("origin").alias("airports"))
)
query = busy.writeStream.format("memory").queryName("busy").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("busy").orderBy("tail", "window").show(truncate=False)
spark.stop()
