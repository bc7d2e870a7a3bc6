"""Windows of a Connect client that has no transom. Its argument is the server."""

import sys
from importlib import import_module

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

FLIGHTS = """
CREATE TABLE flights USING parquet AS
SELECT origin, to_timestamp(at) AS departed, delay
FROM VALUES ('JFK', '2013-01-01 05:44', -1), ('LGA', '2013-01-01 05:54', -6),
            ('JFK', '2013-01-01 06:11', 11), ('JFK', '2013-01-01 06:50', 30),
            ('JFK', '2013-01-01 07:30', 4)
     AS t(origin, at, delay)
"""
HOURS = """
SELECT origin, date_format(window.start, 'HH:mm') AS start, count(*) AS n, sum(delay) AS delay
FROM {rows} GROUP BY origin, transom_tumbling(departed, {size}, delay => '10 minutes')
"""


def show(rows: DataFrame) -> None:
    """Print the rows in order, on one line."""
    print(*sorted(map(tuple, rows.collect())))


def show_stream(rows: DataFrame, name: str) -> None:
    """Run a stream to the end of its input, and print its results."""
    query = rows.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    show(rows.sparkSession.table(name))


def bound(name: str) -> Column:
    """Return a bound of the window as text."""
    return F.date_format(f"window.{name}", "HH:mm")


def main(server: str) -> None:
    """Print the results of windows, and the condition of an error."""
    try:
        import_module("transom")
    except ModuleNotFoundError:
        print("no transom")
    spark = SparkSession.builder.remote(server).getOrCreate()
    spark.sql(FLIGHTS)
    show(spark.sql(HOURS.format(rows="flights", size="'1 hour'")))
    show_stream(spark.sql(HOURS.format(rows="STREAM flights", size="'1 hour'")), "hours")

    session = F.call_function("transom_session", F.col("departed"), F.lit("30 minutes"))
    sessions = spark.table("flights").groupBy("origin", session.alias("window")).count()
    show(sessions.select("origin", bound("end"), "count"))
    live = spark.readStream.table("flights").withWatermark("departed", "10 minutes")
    hour = F.call_function("transom_tumbling", F.col("departed"), F.lit("1 hour"))
    counts = live.groupBy(hour.alias("window")).count()
    show_stream(counts.select(bound("start").alias("start"), "count"), "counts")

    try:
        show(spark.sql(HOURS.format(rows="flights", size="'soon'")))
    except PySparkException as error:
        print(error.getCondition())


if __name__ == "__main__":
    main(*sys.argv[1:])
