"""Compares the windows with batch queries of Spark over the same files."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The counts of the flights of one query.

    Attributes
    ----------
    query : str
        Name of the query.
    read, never_left, late, in_windows : int
        Number of all flights, of flights without a departure, of late flights, and of flights in
        results.
    windows : int
        Number of result rows.
    wrong : list of str
        Differences from the batch queries. Empty if all counts agree.
    """

    query: str
    read: int
    never_left: int
    late: int
    in_windows: int
    windows: int
    wrong: list[str]


def balance(spark: SparkSession, build: Path, query: str, counts: Counter[str]) -> Balance:
    """Compare the results of one query with batch queries.

    Parameters
    ----------
    spark : SparkSession
        A session in New York's time zone.
    build : Path
        The folder with the input, the results and the late rows.
    query : str
        The name of the query.
    counts : Counter
        The counts of the query's window operator.
    """
    flights = spark.read.parquet(str(build / "input"))
    results = spark.read.parquet(str(build / query))
    late = spark.read.parquet(str(build / "late" / query))
    read, departed = flights.count(), flights.where("departed IS NOT NULL").count()
    missed_all = late.where("reason != 'late_partly'").count()
    # Each flight is in four overlapping hours, except the hours that it missed.
    windows_each = 4 if query == "hours" else 1
    missed_some = late.where("reason = 'late_partly'").select(F.sum(F.size("missed_windows")))
    in_windows = (_number(results.select(F.sum("flights"))) + _number(missed_some)) / windows_each
    found = [
        ("flights read", counts["transom_rows_in"], read),
        ("flights that never left", counts["transom_rows_without_time"], read - departed),
        ("late flights", counts["transom_rows_late"], missed_all),
        ("flights in windows and late", in_windows + missed_all, departed),
        ("rows that differ", _DIFFERENCE[query](flights, results, late).count(), 0),
    ]
    return Balance(
        query=query,
        read=read,
        never_left=read - departed,
        late=missed_all,
        in_windows=round(in_windows),
        windows=results.count(),
        wrong=[f"{what}: {ours}, not {batch}" for what, ours, batch in found if ours != batch],
    )


def _hours_that_differ(flights: DataFrame, results: DataFrame, late: DataFrame) -> DataFrame:
    """Return windows that do not have all flights of Spark's windows except late flights."""
    window = F.window("departed", "1 hour", "15 minutes").alias("window")
    every = flights.where("departed IS NOT NULL").select("origin", window)
    missed = late.select("row.origin", F.explode("missed_windows").alias("window"))
    left = (
        every.withColumn("n", F.lit(1))
        .unionByName(missed.withColumn("n", F.lit(-1)))
        .unionByName(results.select("origin", "window", (-F.col("flights")).alias("n")))
    )
    return left.groupBy("origin", "window").agg(F.sum("n").alias("n")).where("n != 0")


def _days_that_differ(flights: DataFrame, results: DataFrame, late: DataFrame) -> DataFrame:
    """Return days that differ from Spark's own aggregates over the flights on time."""
    days = _in_time(flights, late).groupBy(F.date_trunc("day", "departed").alias("start"))
    expected = days.agg(
        F.count("*").alias("flights"),
        F.count_if(F.col("delay") >= 60).alias("an_hour_late"),
        F.avg("delay").alias("delay"),
        F.max("delay").alias("worst"),
    )
    return _either(expected, results.select("window.start", *expected.columns[1:]))


def _aircraft_that_differ(flights: DataFrame, results: DataFrame, late: DataFrame) -> DataFrame:
    """Aircraft whose sessions do not add up to their flights in time."""
    flown = (F.count("*").alias("flights"), F.sum("distance").alias("miles"))
    expected = _in_time(flights, late).groupBy("tailnum").agg(*flown)
    added_up = results.groupBy("tailnum").agg(
        F.sum("flights").alias("flights"), F.sum("miles").alias("miles")
    )
    return _either(expected, added_up)


_DIFFERENCE = {
    "hours": _hours_that_differ,
    "sessions": _aircraft_that_differ,
    "days": _days_that_differ,
}


def _in_time(flights: DataFrame, late: DataFrame) -> DataFrame:
    departed = flights.where("departed IS NOT NULL")
    return departed.join(late.select("row.id"), "id", "left_anti")


def _either(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.exceptAll(other).unionByName(other.exceptAll(one))


def _number(single: DataFrame) -> int:
    return single.collect()[0][0] or 0
