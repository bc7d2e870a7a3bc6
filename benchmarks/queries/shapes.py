"""The queries that are compared, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import transom


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One window over one input, said in both ways.

    Both are functions because Spark makes columns only while a session is running.
    """

    keys: int
    native: Callable[[], Column]
    ours: Callable[[], transom.Window]


def _tumbling(keys: int) -> Shape:
    return Shape(
        keys=keys,
        native=lambda: F.window("ts", "10 seconds"),
        ours=lambda: transom.Tumbling(size="10 seconds"),
    )


def _hopping(slide: str) -> Shape:
    return Shape(
        keys=10_000,
        native=lambda: F.window("ts", "60 seconds", slide),
        ours=lambda: transom.Hopping(size="60 seconds", slide=slide),
    )


def _session(keys: int) -> Shape:
    return Shape(
        keys=keys,
        native=lambda: F.session_window("ts", "2 seconds"),
        ours=lambda: transom.Session(gap="2 seconds"),
    )


SHAPES = {
    "tumbling-10k": _tumbling(10_000),
    "tumbling-1m": _tumbling(1_000_000),
    "hopping-60-6": _hopping("6 seconds"),
    "hopping-60-1": _hopping("1 second"),
    "session-10k": _session(10_000),
    "session-1m": _session(1_000_000),
}


def native(shape: Shape, rows: DataFrame) -> DataFrame:
    """Count and sum through Spark's own windows."""
    return rows.groupBy("k", shape.native().alias("window")).agg(*_totals())


def ours(shape: Shape, rows: DataFrame) -> DataFrame:
    """Count and sum through transom's windows."""
    windowed = transom.stream(rows, time="ts").key_by("k").window(shape.ours())
    return windowed.agg(*_totals())


def _totals() -> tuple[Column, Column]:
    return F.count("*").alias("n"), F.sum("v").alias("s")
