"""Counts flights by hour and by day in one query. The column window_id tells the results apart.

``python -m examples.windows.several_windows``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("several_windows")
flights = departures(spark)

sizes = transom.Windows(
    {
        "hour": transom.Tumbling(size="1 hour"),
        "day": transom.Calendar(unit="day", time_zone="America/New_York"),
    }
)
counts = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .window(sizes)
    .drain()
    .agg(F.count("*").alias("flights"), F.max("delay").alias("worst"))
)
query = counts.writeStream.format("memory").queryName("counts").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("counts").orderBy("window_id", "window").show(truncate=False)
spark.stop()
