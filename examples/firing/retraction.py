"""Keeps a table of flights by hour correct while late flights change its rows.

A correction comes as two rows: "-U" with the old values, then "+U" with the new ones. A store that
can update rows by key and window takes the last "+I" or "+U". Sums take all rows, with a sign.

``python -m examples.firing.retraction``
"""

from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("retraction")
flights = departures(spark)

hours = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    .allowed_lateness("6 hours")
    .retract()
    .agg(F.count("*").alias("flights"))
)
query = hours.writeStream.format("memory").queryName("changes").trigger(availableNow=True).start()
query.awaitTermination()
changes = spark.table("changes")
changes.orderBy("window", "origin", "flights", "change").show(30, truncate=False)

sign = F.when(F.col("change") == "-U", -1).otherwise(1)
by_hour = changes.groupBy("window").agg(F.sum(sign * F.col("flights")).alias("flights"))
by_hour.orderBy("window").show(truncate=False)
spark.stop()
