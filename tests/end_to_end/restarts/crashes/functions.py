"""The queries that crash with functions in Python."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.restarts.crashes.queries import HOPPING, by_key


def called(rows: DataFrame) -> DataFrame:
    """A function that keeps state for each window and for each key."""

    def numbered(window: pa.Table, context: transom.Context) -> pa.Table:
        own, whole = context.window_state, context.key_state
        own["calls"] = (own["calls"] or 0) + 1
        whole["rows"] = (whole["rows"] or 0) + window.num_rows
        total = pc.sum(window["value"]).as_py() + 1000 * own["calls"]
        return pa.table({"rows": [whole["rows"]], "total": [total]})

    # Windows of a key fire in order of time, so the key's state does not depend on batches.
    windowed = by_key(rows, transom.Tumbling(size="10 minutes")).drain()
    result = windowed.apply(
        numbered, "rows long, total long", window_state="calls long", key_state="rows long"
    )
    return result.select("key", F.col("window.start").alias("at"), "rows", "total")


class Total(transom.Accumulator[tuple[int]]):
    """A sum, in Python."""

    state = "total long"

    def init(self) -> tuple[int]:
        return (0,)

    def add(self, acc: tuple[int], rows: pa.Table) -> tuple[int]:
        return (acc[0] + (pc.sum(rows.column(0)).as_py() or 0),)

    def merge(self, left: tuple[int], right: tuple[int]) -> tuple[int]:
        return (left[0] + right[0],)

    def result(self, acc: tuple[int]) -> int:
        return acc[0]


def udaf(rows: DataFrame) -> DataFrame:
    """An aggregate in Python."""
    total = transom.udaf(Total(), "value", returns="long").alias("total")
    results = by_key(rows, HOPPING).drain().agg(F.count("*").alias("rows"), total)
    return results.select("key", F.col("window.start").alias("at"), "rows", "total")


def scanned(rows: DataFrame) -> DataFrame:
    """A function over the rows of each key in the order of time: running counts and sums."""

    def running(same_time: pa.Table, context: transom.Context) -> pa.Table:
        state, window = context.key_state, context.window
        assert window is not None
        state["rows"] = (state["rows"] or 0) + same_time.num_rows
        state["total"] = (state["total"] or 0) + pc.sum(same_time["value"]).as_py()
        at = pa.array([window.start], pa.timestamp("us", "UTC"))
        return pa.table({"at": at, "rows": [state["rows"]], "total": [state["total"]]})

    keyed = transom.stream(rows, time=transom.EventTime("time", delay="5 minutes")).key_by("key")
    return keyed.scan(running, "at timestamp, rows long, total long", state="rows long, total long")
