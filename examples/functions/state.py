"""Numbers the days of each airport with a Python function that remembers its last call.

``python -m examples.functions.state``, with the package protobuf installed.
"""

import pyarrow as pa
import pyarrow.compute as pc

import transom
from examples.flights import departures, session

spark = session("state")
flights = departures(spark)


def summarize(rows: pa.Table, context: transom.Context) -> pa.Table:
    """Return the flights of a day, and of all days of this airport so far."""
    days = (context.key_state["days"] or 0) + 1
    so_far = (context.key_state["flights"] or 0) + rows.num_rows
    # The next call for the same airport finds these values, also after a restart.
    context.key_state.update(days=days, flights=so_far)
    worst = pc.max(rows["delay"]).as_py()
    return pa.table({"day": [days], "worst": [worst], "flights_so_far": [so_far]})


days = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Calendar(unit="day", time_zone="America/New_York"))
    .drain()
    .apply(
        summarize,
        "day int, worst int, flights_so_far long",
        key_state="days int, flights long",
    )
)
query = days.writeStream.format("memory").queryName("days").trigger(availableNow=True).start()
query.awaitTermination()
spark.table("days").orderBy("origin", "day").show(truncate=False)
spark.stop()
