"""The queries that crash over lifetimes and a `TimePolicy`."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.restarts.crashes.functions import Total
from tests.end_to_end.restarts.crashes.policies import by_key, in_order
from tests.end_to_end.restarts.crashes.queries import HOPPING, counted, lasting

SNAPSHOT = transom.Snapshot()


def lived(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    """Windows of rows that last some minutes. Some rows have no end."""
    stream = transom.stream(rows, time=in_order(), order="number", lifetime=lasting())
    return stream.key_by("key").window(window)


def over(window: transom.Window) -> Callable[[DataFrame], DataFrame]:
    """Aggregates of windows over lifetimes."""
    return lambda rows: counted(lived(rows, window))


def rolling(rows: DataFrame) -> DataFrame:
    """Windows that end at each row."""
    return counted(by_key(rows, transom.Rolling("10 minutes")))


def top(rows: DataFrame) -> DataFrame:
    """The rows with the largest values of each snapshot."""
    best = lived(rows, SNAPSHOT).top(2, F.desc("value"))
    at = F.col("window.start").alias("at")
    return best.select("key", at, F.col("rank").alias("rows"), F.col("value").alias("total"))


def changes(rows: DataFrame) -> DataFrame:
    """Windows that hold other rows than the windows before."""
    return counted(lived(rows, HOPPING).changes_only())


def output_policy(rows: DataFrame) -> DataFrame:
    """Results that last as long as their windows."""
    return counted(lived(rows, HOPPING).output_policy("clip_to_window_end"), "lifetime")


class Remaining(Total):
    """A sum, in Python, of the rows that have not left."""

    def remove(self, acc: tuple[int], rows: pa.Table) -> tuple[int]:
        return (acc[0] - (pc.sum(rows.column(0)).as_py() or 0),)


def udaf(rows: DataFrame) -> DataFrame:
    """An aggregate in Python that removes rows."""
    total = transom.udaf(Remaining(), "value", returns="long").alias("total")
    results = lived(rows, SNAPSHOT).agg(F.count("*").alias("rows"), total)
    return results.select("key", F.col("window.start").alias("at"), "rows", "total")


def called(rows: DataFrame) -> DataFrame:
    """A function that keeps state for each key."""

    def numbered(window: pa.Table, context: transom.Context) -> pa.Table:
        whole = context.key_state
        whole["rows"] = (whole["rows"] or 0) + window.num_rows
        return pa.table({"rows": [whole["rows"]], "total": [pc.sum(window["value"]).as_py()]})

    result = lived(rows, SNAPSHOT).apply(numbered, "rows long, total long", key_state="rows long")
    return result.select("key", F.col("window.start").alias("at"), "rows", "total")
