"""The queries that crash over windows and their aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import transom

HALF_HOUR = transom.Tumbling(size="30 minutes")
HOPPING = transom.Hopping(size="30 minutes", slide="10 minutes")
SESSION = transom.Session(gap="4 minutes")


def by_key(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    """Windows in event time with a delay of Spark's watermark."""
    clock = transom.EventTime("time", delay="5 minutes")
    return transom.stream(rows, time=clock, order="number").key_by("key").window(window)


def sums() -> tuple[Column, ...]:
    """The aggregates of all queries."""
    return F.count("*").alias("rows"), F.sum("value").alias("total")


def counted(windowed: transom.Windowed, *more: str) -> DataFrame:
    """The results in the columns of all queries."""
    return windowed.agg(*sums()).select(
        "key", F.col("window.start").alias("at"), "rows", "total", *more
    )


def early(rows: DataFrame) -> DataFrame:
    """A trigger that also fires before the end of a window."""
    trigger = transom.AfterWatermark(early=transom.AfterCount(3))
    return counted(by_key(rows, HALF_HOUR).trigger(trigger).drain())


def lateness(rows: DataFrame) -> DataFrame:
    """Windows that late rows fire again."""
    return counted(by_key(rows, HOPPING).allowed_lateness("4 hours").drain())


def retraction(rows: DataFrame) -> DataFrame:
    """Sessions whose results are retracted when they change."""
    windowed = by_key(rows, SESSION).trigger(transom.AfterWatermark(early=transom.AfterCount(2)))
    return counted(windowed.allowed_lateness("4 hours").retract().drain(), "change")


def evictor(rows: DataFrame) -> DataFrame:
    """Windows of which the last rows count."""
    return counted(by_key(rows, HALF_HOUR).evictor(transom.KeepLast(5)).drain())


def lasting() -> Column:
    """The ends of rows that last some minutes. Some rows have no end."""
    return F.expr("IF(value % 23 = 0, null, time + make_dt_interval(0, 0, 1 + value % 50))")


def lifetimes(window: transom.Window) -> Callable[[DataFrame], DataFrame]:
    """Windows over lifetimes."""

    def query(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="5 minutes")
        stream = transom.stream(rows, time=clock, order="number", lifetime=lasting())
        return counted(stream.key_by("key").window(window))

    return query


def edges(rows: DataFrame) -> DataFrame:
    """Lifetimes whose ends are rows of their own. Some rows never end."""
    clock = transom.EventTime("time", delay="5 minutes")
    start, number = F.col("time"), F.col("number")
    ended = start + F.expr("make_dt_interval(0, 0, 1 + value % 50)")
    edge = F.struct(number, F.lit(None).cast("timestamp").alias("until"))
    edges = F.array(edge, F.struct(number, F.when(F.col("value") % 23 != 0, ended).alias("until")))
    both = rows.withColumn("edge", F.explode(edges)).withColumn("until", F.col("edge.until"))
    # Rows that are late by hours have ended before any watermark that they may meet.
    flight = transom.Lifetime("until", id=["number"], timeout="50 minutes")
    stream = transom.stream(both, time=clock, lifetime=flight)
    return counted(stream.key_by("key").window(transom.Snapshot()))


def rolling(rows: DataFrame) -> DataFrame:
    """Windows that end at each row."""
    return counted(by_key(rows, transom.Rolling("10 minutes")).drain())


def several(
    windows: Mapping[str, transom.Window],
) -> Callable[[DataFrame], DataFrame]:
    """Several windows in one pass."""

    def query(rows: DataFrame) -> DataFrame:
        return counted(by_key(rows, transom.Windows(windows)).drain(), "window_id")

    return query


def count(rows: DataFrame) -> DataFrame:
    """Windows of a number of rows."""
    windowed = transom.stream(rows, order="number").key_by("key").window(transom.Count(size=7))
    return windowed.drain().agg(*sums()).select("key", F.lit(0).alias("at"), "rows", "total")


def wall_clock(rows: DataFrame) -> DataFrame:
    """Windows in processing time."""
    keyed = transom.stream(rows, time=transom.ProcessingTime()).key_by("key")
    return counted(keyed.window(transom.Tumbling(size="1 day")).drain())


def half_hours(windowed: transom.Windowed) -> transom.Windowed:
    """Windows over the results of windows."""
    return transom.stream(windowed.agg(*sums()), time="window").key_by("key").window(HALF_HOUR)


def summed(windowed: transom.Windowed) -> DataFrame:
    """The results of windows over results in the columns of all queries."""
    results = windowed.agg(F.sum("rows").alias("rows"), F.sum("total").alias("total"))
    return results.select("key", F.col("window.start").alias("at"), "rows", "total")


def chain(rows: DataFrame) -> DataFrame:
    """Windows over the results of windows."""
    return summed(half_hours(by_key(rows, transom.Tumbling(size="10 minutes"))).drain())


def late_rows(rows: DataFrame) -> DataFrame:
    """Windows with late rows in a side output."""
    return by_key(rows, HOPPING).with_late_rows().drain().agg(*sums())


def native(rows: DataFrame) -> DataFrame:
    """Spark's own windows."""
    window = F.window("time", "30 minutes", "10 minutes")
    grouped = rows.withWatermark("time", "5 minutes").groupBy("key", window)
    return grouped.agg(*sums()).select("key", F.col("window.start").alias("at"), "rows", "total")
