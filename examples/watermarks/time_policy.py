"""Follows a watermark that moves from row to row, and shows what the rules do to each flight.

``python -m examples.watermarks.time_policy``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("time_policy")
flights = departures(spark)

# A flight may be an hour out of order. An older flight is dropped.
policy = transom.TimePolicy("departed", out_of_order=transom.Drop("1 hour"))
timely = transom.stream(flights, time=policy)

stamped = timely.stamped()
query = stamped.writeStream.format("memory").queryName("stamped").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("stamped").select(
    "origin", "departed", "stamp.watermark", "stamp.rules", "stamp.disposition"
).show(truncate=False)

hours = (
    timely.key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    .with_dead_letters()
    .drain()
    .agg(F.count("*").alias("flights"))
)
query = hours.writeStream.format("memory").queryName("hours").trigger(availableNow=True).start()
query.awaitTermination()
tagged = spark.table("hours")
transom.untag(tagged, "results").orderBy("window", "origin").show(30, truncate=False)
transom.untag(tagged, "dead_letters").select("row.origin", "row.departed", "reason").show()
spark.stop()
