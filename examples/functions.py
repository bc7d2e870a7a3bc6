"""Where each aircraft goes until it stays on the ground for six hours: a function of your own.

``python -m examples.functions``
"""

import pyarrow as pa
import pyarrow.compute as pc

import transom
from examples.flights import departures, session

spark = session("functions")
flights = departures(spark)


def route(rows: pa.Table) -> pa.Table:
    """The airports of a session in order; nothing for a single flight."""
    if rows.num_rows == 1:
        return pa.table({"route": pa.array([], pa.string()), "hours": pa.array([], pa.int64())})
    airports = rows.sort_by("departed")["origin"].to_pylist()
    span = pc.max(rows["departed"]).as_py() - pc.min(rows["departed"]).as_py()
    return pa.table({"route": [" ".join(airports)], "hours": [int(span.total_seconds() // 3600)]})


routes = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("tail")
    .window(transom.Session(gap="6 hours"))
    .drain()  # sessions that are open when the run ends close then
    .apply(route, "route string, hours long")
)
query = routes.writeStream.format("memory").queryName("routes").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("routes").orderBy("tail").show(truncate=False)
spark.stop()
