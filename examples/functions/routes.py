"""Calls a Python function for each session: the route of an aircraft until a pause of six hours.

``python -m examples.functions.routes``
"""

import pyarrow as pa
import pyarrow.compute as pc

import transom
from examples.flights import departures, session

spark = session("routes")
flights = departures(spark)


def route(rows: pa.Table) -> pa.Table:
    """Return the airports of a session in order, or no rows for a single flight."""
    if rows.num_rows == 1:
        return pa.table({"route": pa.array([], pa.string()), "hours": pa.array([], pa.int64())})
    airports = rows.sort_by("departed")["origin"].to_pylist()
    span = pc.max(rows["departed"]).as_py() - pc.min(rows["departed"]).as_py()
    return pa.table({"route": [" ".join(airports)], "hours": [int(span.total_seconds() // 3600)]})


routes = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("tail")
    .window(transom.Session(gap="6 hours"))
    .drain()  # open sessions close when the run ends
    .apply(route, "route string, hours long")
)
query = routes.writeStream.format("memory").queryName("routes").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("routes").orderBy("tail").show(truncate=False)
spark.stop()
