"""The tables of the tests and of the examples."""

from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

_DAY = datetime(2013, 1, 1)
SCHEMA = (
    "origin string, tail string, departed timestamp, landed timestamp, delay int, known timestamp"
)


def at(minutes: int) -> datetime:
    """Return an instant of the first day of 2013."""
    return _DAY + timedelta(minutes=minutes)


# Origin, tail, minutes of departure and landing, delay, and minutes at which the row became known.
_FLIGHTS = [
    ("JFK", "N1", 340, 370, -1, 341),
    ("LGA", "N2", 354, 420, -6, 355),
    ("JFK", "N3", 345, 400, 20, 356),
    ("JFK", "N4", 371, 380, 11, 372),
    ("LGA", "N5", 410, 470, 45, 411),
    ("JFK", "N6", 355, 372, 60, 412),
    ("LGA", "N7", 415, 425, 2, 416),
]
ROWS = [
    (origin, tail, at(departed), at(landed), delay, at(known))
    for origin, tail, departed, landed, delay, known in _FLIGHTS
]


def flights(spark: SparkSession) -> DataFrame:
    """Return the rows as a static DataFrame."""
    return spark.createDataFrame(ROWS, SCHEMA)


def live_flights(spark: SparkSession, folder: Path, batches: int = len(ROWS)) -> DataFrame:
    """Return the rows as a stream of one file for each batch."""
    size = -(-len(ROWS) // batches)
    for first in range(0, len(ROWS), size):
        rows = spark.createDataFrame(ROWS[first : first + size], SCHEMA).coalesce(1)
        rows.write.mode("append").parquet(str(folder))
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))
