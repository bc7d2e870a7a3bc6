"""The queries in PySpark: with transom, and with Spark's own windows."""

from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import transom
from benchmarks.queries.catalogue import Query, micros


def with_transom(rows: DataFrame, query: Query) -> DataFrame:
    """Return a query with a window of transom."""
    time, order = ("ts", ()) if query.policy is None else (query.policy, "o")
    lifetime = None if query.lifetime is None else transom.Lifetime(duration=query.lifetime)
    stream = transom.stream(rows, time=time, lifetime=lifetime, order=order)
    windowed = stream.key_by("k").window(query.window)
    windowed = windowed.options(layout=query.layout)
    if query.trigger is not None:
        windowed = windowed.trigger(query.trigger)
    if query.late_rows:
        windowed = windowed.with_late_rows()
    return (
        windowed.apply(_totals, "n long, s double")
        if query.function
        else windowed.agg(*_aggregates(query))
    )


def event_time(rows: DataFrame, query: Query) -> DataFrame:
    """Return the same query with Spark's watermark instead of its time policy."""
    return with_transom(rows, replace(query, policy=None))


def one_watermark(rows: DataFrame, query: Query) -> DataFrame:
    """Return the same query with a policy that has no substreams."""
    assert query.policy is not None
    return with_transom(rows, replace(query, policy=replace(query.policy, over=())))


def one_minute(rows: DataFrame, query: Query) -> DataFrame:
    """Return the same query with its windows of a minute alone."""
    return with_transom(rows, replace(query, window=query.windows["minute"]))


def native(rows: DataFrame, query: Query) -> DataFrame:
    """Return a query with a window of Spark, or the union of several."""
    if query.windows:
        results = [
            native(rows, replace(query, window=window)).withColumn("window_id", F.lit(name))
            for name, window in query.windows.items()
        ]
        return reduce(DataFrame.unionByName, results)
    return rows.groupBy("k", _window(query).alias("window")).agg(*_aggregates(query))


def batch(rows: DataFrame, query: Query) -> DataFrame:
    """Return a query over static rows. A row that lasts is copied into each of its windows."""
    if query.lifetime is None:
        return native(rows, query)
    copies = rows.withColumn("window", F.explode(_overlapped(query, query.lifetime)))
    return copies.groupBy("k", "window").agg(*_aggregates(query))


def pass_through(rows: DataFrame, _: Query) -> DataFrame:
    """Return the rows after an exchange by key, without windows."""
    return rows.repartition("k")


def _aggregates(query: Query) -> list[Column]:
    return [F.expr(sql).alias(name) for name, sql in query.aggregates.items()]


def _window(query: Query) -> Column:
    window: Any = query.window  # of several kinds, with lengths of their own
    if isinstance(query.window, transom.Session):
        return F.session_window("ts", _text(window.gap))
    return F.window("ts", _text(window.size), _text(getattr(window, "slide", window.size)))


def _overlapped(query: Query, lifetime: str) -> Column:
    """Return the hopping windows that overlap the lifetime of a row, in which its end is not."""
    assert isinstance(query.window, transom.Hopping)
    size, slide = micros(query.window.size), F.lit(micros(query.window.slide))
    ended = F.unix_micros(F.col("ts") + F.expr(f"INTERVAL '{lifetime}'"))
    # Windows start at multiples of the slide. The first one ends after the row has started.
    before_first, before_end = F.unix_micros("ts") - size, ended - 1
    first = before_first - F.pmod(before_first, slide) + slide
    last = before_end - F.pmod(before_end, slide)
    return F.transform(
        F.sequence(first, last, slide),
        lambda start: F.struct(
            F.timestamp_micros(start).alias("start"), F.timestamp_micros(start + size).alias("end")
        ),
    )


def _text(length: Any) -> str:
    return f"{micros(length)} microseconds"


def _totals(window: pa.Table) -> pa.Table:
    return pa.table({"n": [window.num_rows], "s": [pc.sum(window["v"]).as_py()]})
