"""Counts the planes in the air, if each flight takes two hours: a result for each change.

``python -m examples.windows.lifetimes``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("lifetimes")
flights = departures(spark)

# Lifetime("landed") takes the end from a column instead.
two_hours = transom.Lifetime(duration="2 hours")
in_the_air = (
    transom.stream(
        flights,
        time=transom.EventTime("departed", delay="10 minutes"),
        lifetime=two_hours,
    )
    .window(transom.Snapshot())
    .drain()
    .agg(F.count("*").alias("planes"), F.array_sort(F.collect_list("tail")).alias("tails"))
)
query = in_the_air.writeStream.format("memory").queryName("air").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("air").orderBy("window").show(30, truncate=False)
spark.stop()
