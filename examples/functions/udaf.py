"""Computes an aggregate in Python: the geometric mean of the delays of late flights, by day.

``python -m examples.functions.udaf``
"""

import math

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

import transom
from examples.flights import departures, session

spark = session("udaf")
flights = departures(spark).where("delay > 0")


class GeometricMean(transom.Accumulator[tuple[float, int]]):
    """The mean of logarithms. Its accumulator is their sum and their number."""

    state = "logarithms double, n long"

    def init(self) -> tuple[float, int]:
        """Return the accumulator of no rows."""
        return 0.0, 0

    def add(self, acc: tuple[float, int], rows: pa.Table) -> tuple[float, int]:
        """Add a table of rows."""
        logarithms = pc.ln(rows["delay"])
        return acc[0] + pc.sum(logarithms).as_py(), acc[1] + len(logarithms)

    def merge(self, left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        """Merge the accumulators of two parts of a window."""
        return left[0] + right[0], left[1] + right[1]

    def result(self, acc: tuple[float, int]) -> float:
        """Return the mean of a window."""
        return math.exp(acc[0] / acc[1])


days = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .window(transom.Calendar(unit="day", time_zone="America/New_York"))
    .drain()
    .agg(
        F.count("*").alias("flights"),
        transom.udaf(GeometricMean(), "delay", returns="double").alias("mean"),
    )
)
query = days.writeStream.format("memory").queryName("days").trigger(availableNow=True).start()
query.awaitTermination()
means = spark.table("days").select("window", "flights", F.round("mean", 1).alias("mean"))
means.orderBy("window").show(truncate=False)
spark.stop()
