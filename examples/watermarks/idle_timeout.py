"""Closes the windows of a source that has fallen silent. The wall clock closes them, not a row.

``python -m examples.watermarks.idle_timeout``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("idle_timeout")
flights = departures(spark)

hours = (
    transom.stream(flights, time=transom.TimePolicy("departed", out_of_order="1 day"))
    .key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    .idle_timeout("3 seconds")
    .agg(F.count("*").alias("flights"))
)
# The source has five files and is silent after them. Without the timeout, the flight at 06:05 would
# stay in an open window, and the watermark would be a day behind it.
query = hours.writeStream.format("memory").queryName("hours").start()
while spark.table("hours").where("window.start >= '2013-03-11'").isEmpty():
    query.awaitTermination(1)
query.stop()
spark.table("hours").orderBy("window", "origin").show(30, truncate=False)
spark.stop()
