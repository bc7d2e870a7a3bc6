"""The queries that crash: one for each kind of state, and Spark's own windows for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

import transom
from transom.spec import Layout

SCHEMA = "number int, key string, time timestamp, value int"

HALF_HOUR = transom.Tumbling(size="30 minutes")
HOPPING = transom.Hopping(size="30 minutes", slide="10 minutes")
SESSION = transom.Session(gap="4 minutes")


def exact(rows: Sequence[Row]) -> Counter[str]:
    """All rows."""
    return Counter(str(row) for row in rows)


def last(rows: Sequence[Row]) -> Counter[str]:
    """The largest result of each key and window. The number of firings depends on batches."""
    newest: dict[Any, Row] = {}
    for row in rows:
        known = newest.get((row["key"], row["at"]))
        if known is None or known["rows"] < row["rows"]:
            newest[row["key"], row["at"]] = row
    return exact(list(newest.values()))


def net(rows: Sequence[Row]) -> Counter[str]:
    """The results that no later row retracts."""
    left: Counter[str] = Counter()
    for row in rows:
        sign = -1 if row["change"] == "-U" else 1
        left[str((row["key"], row["at"], row["rows"], row["total"]))] += sign
    assert min(left.values()) >= 0
    return +left


def totals(rows: Sequence[Row]) -> Counter[str]:
    """The number of rows of each key. The windows depend on the wall clock."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["key"]] += row["rows"]
    return counts


Comparison = Callable[[Sequence[Row]], Counter[str]]


@dataclass(frozen=True)
class Kind:
    """A query, and the part of its output that does not depend on batch boundaries.

    Attributes
    ----------
    query : callable
        Builds the results from the streaming DataFrame of the input.
    compared : callable
        Returns the part of the written rows in which two runs must agree.
    layout : str
        The state layout, or "Spark" for Spark's own windows.
    drains : bool
        Whether the windows that are open at the end of the input fire.
    is_tagged : bool
        Whether the rows are tagged, so that only `transom.route` can write them.
    """

    query: Callable[[DataFrame], DataFrame]
    compared: Comparison = exact
    layout: str = "keyed"
    drains: bool = True
    is_tagged: bool = False


def _by_key(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    clock = transom.EventTime("time", delay="5 minutes")
    return transom.stream(rows, time=clock, order="number").key_by("key").window(window)


def _sums() -> tuple[Column, ...]:
    return F.count("*").alias("rows"), F.sum("value").alias("total")


def _counted(windowed: transom.Windowed, *more: str) -> DataFrame:
    return windowed.agg(*_sums()).select(
        "key", F.col("window.start").alias("at"), "rows", "total", *more
    )


def _plain(window: transom.Window, layout: Layout, *, drain: bool = True) -> Kind:
    def query(rows: DataFrame) -> DataFrame:
        windowed = _by_key(rows, window).options(layout=layout)
        return _counted(windowed.drain() if drain else windowed)

    name = "sessions" if window is SESSION and layout == "slices" else layout
    return Kind(query, layout=name, drains=drain)


def _early(rows: DataFrame) -> DataFrame:
    trigger = transom.AfterWatermark(early=transom.AfterCount(3))
    return _counted(_by_key(rows, HALF_HOUR).trigger(trigger).drain())


def _lateness(rows: DataFrame) -> DataFrame:
    return _counted(_by_key(rows, HOPPING).allowed_lateness("4 hours").drain())


def _retraction(rows: DataFrame) -> DataFrame:
    windowed = _by_key(rows, SESSION).trigger(transom.AfterWatermark(early=transom.AfterCount(2)))
    return _counted(windowed.allowed_lateness("4 hours").retract().drain(), "change")


def _evictor(rows: DataFrame) -> DataFrame:
    return _counted(_by_key(rows, HALF_HOUR).evictor(transom.KeepLast(5)).drain())


def _lifetimes(window: transom.Window) -> Callable[[DataFrame], DataFrame]:
    """Windows of rows that last some minutes. Some rows have no end."""

    def query(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="5 minutes")
        until = F.expr("IF(value % 23 = 0, null, time + make_dt_interval(0, 0, 1 + value % 50))")
        stream = transom.stream(rows, time=clock, order="number", lifetime=until)
        return _counted(stream.key_by("key").window(window))

    return query


def _edges(rows: DataFrame) -> DataFrame:
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
    return _counted(stream.key_by("key").window(transom.Snapshot()))


def _rolling(rows: DataFrame) -> DataFrame:
    return _counted(_by_key(rows, transom.Rolling("10 minutes")).drain())


def _count(rows: DataFrame) -> DataFrame:
    windowed = transom.stream(rows, order="number").key_by("key").window(transom.Count(size=7))
    return windowed.drain().agg(*_sums()).select("key", F.lit(0).alias("at"), "rows", "total")


def _wall_clock(rows: DataFrame) -> DataFrame:
    by_key = transom.stream(rows, time=transom.ProcessingTime()).key_by("key")
    return _counted(by_key.window(transom.Tumbling(size="1 day")).drain())


def _chain(rows: DataFrame) -> DataFrame:
    first = _by_key(rows, transom.Tumbling(size="10 minutes")).agg(*_sums())
    second = transom.stream(first, time="window").key_by("key").window(HALF_HOUR).drain()
    summed = second.agg(F.sum("rows").alias("rows"), F.sum("total").alias("total"))
    return summed.select("key", F.col("window.start").alias("at"), "rows", "total")


def _functions(rows: DataFrame) -> DataFrame:
    def numbered(window: pa.Table, context: transom.Context) -> pa.Table:
        own, whole = context.window_state, context.key_state
        own["calls"] = (own["calls"] or 0) + 1
        whole["rows"] = (whole["rows"] or 0) + window.num_rows
        total = pc.sum(window["value"]).as_py() + 1000 * own["calls"]
        return pa.table({"rows": [whole["rows"]], "total": [total]})

    # Windows of a key fire in order of time, so the key's state does not depend on batches.
    called = _by_key(rows, transom.Tumbling(size="10 minutes")).drain()
    result = called.apply(
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


def _udaf(rows: DataFrame) -> DataFrame:
    total = transom.udaf(Total(), "value", returns="long").alias("total")
    counted = _by_key(rows, HOPPING).drain().agg(F.count("*").alias("rows"), total)
    return counted.select("key", F.col("window.start").alias("at"), "rows", "total")


def _late_rows(rows: DataFrame) -> DataFrame:
    return _by_key(rows, HOPPING).with_late_rows().drain().agg(*_sums())


def _policy(
    window: transom.Window, *, partitions: int = 0, over: Sequence[str] = ()
) -> Callable[[DataFrame], DataFrame]:
    """Windows over a policy, without drain: the watermark of the rows fires them."""

    def query(rows: DataFrame) -> DataFrame:
        settings: dict[str, Any] = {"over": over}
        if partitions:
            settings["partition"] = F.expr(f"number % {partitions}")
            settings["partitions"] = [str(partition) for partition in range(partitions)]
        clock = transom.TimePolicy(
            "time",
            arrival=F.timestamp_seconds("number"),
            out_of_order=transom.Accept("5 minutes"),
            **settings,
        )
        by_key = transom.stream(rows, time=clock, order="number").key_by("key")
        return _counted(by_key.window(window))

    return query


def _stamped(rows: DataFrame) -> DataFrame:
    clock = transom.TimePolicy("time", out_of_order=transom.Adjust("5 minutes"), over=["key"])
    stamped = transom.stream(rows, time=clock, order="number").stamped()
    at = F.col("stamp.time").alias("at")
    return stamped.select("key", at, F.lit(1).alias("rows"), F.col("value").alias("total"))


def _native(rows: DataFrame) -> DataFrame:
    window = F.window("time", "30 minutes", "10 minutes")
    grouped = rows.withWatermark("time", "5 minutes").groupBy("key", window)
    return grouped.agg(*_sums()).select("key", F.col("window.start").alias("at"), "rows", "total")


KINDS: dict[str, Kind] = {
    "hopping": _plain(HOPPING, "slices"),
    "hopping-open": _plain(HOPPING, "slices", drain=False),
    "hopping-keyed": _plain(HOPPING, "keyed"),
    "sessions": _plain(SESSION, "slices"),
    "sessions-open": _plain(SESSION, "slices", drain=False),
    "sessions-keyed": _plain(SESSION, "keyed"),
    "early": Kind(_early, last),
    "lateness": Kind(_lateness, last),
    "retraction": Kind(_retraction, net),
    "evictor": Kind(_evictor),
    "lifetimes": Kind(_lifetimes(transom.Snapshot()), drains=False),
    "lifetimes-hopping": Kind(_lifetimes(HOPPING), drains=False),
    "edges": Kind(_edges, drains=False),
    "rolling": Kind(_rolling),
    "count": Kind(_count),
    "processing-time": Kind(_wall_clock, totals),
    "chain": Kind(_chain, layout="slices"),
    "late-rows": Kind(_late_rows, layout="slices", is_tagged=True),
    "functions": Kind(_functions),
    "udaf": Kind(_udaf, layout="slices"),
    "policy": Kind(_policy(HOPPING), layout="slices", drains=False),
    "policy-sessions": Kind(_policy(SESSION), drains=False),
    "policy-partitions": Kind(
        _policy(HOPPING, partitions=3),
        layout="slices",
        drains=False,
    ),
    "policy-substreams": Kind(_policy(HOPPING, over=["key"]), drains=False),
    "stamped": Kind(_stamped, layout="time stage", drains=False),
    "native": Kind(_native, layout="Spark", drains=False),
}
