"""The queries that are compared, by name."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import transom
from benchmarks.queries import by_hand

Query = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One question to one input, asked in both ways.

    Attributes
    ----------
    keys : int
        Keys of the input.
    peer : str
        What transom is compared with.
    theirs, ours : Query
        From the stream of the input to the results: ``k``, ``window``, ``n``, ``s``.
    share : int
        The peer gets one row in so many, and rows a second are compared.
    """

    keys: int
    peer: str
    theirs: Query = field(repr=False)
    ours: Query = field(repr=False)
    share: int = 1


def _native(keys: int, window: Callable[[], Column], mine: transom.Window) -> Shape:
    return Shape(
        keys=keys,
        peer="native",
        theirs=lambda rows: rows.groupBy("k", window().alias("window")).agg(*_totals()),
        ours=lambda rows: _windowed(rows, mine).agg(*_totals()),
    )


def _windowed(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    return transom.stream(rows, time="ts").key_by("k").window(window)


def _totals() -> tuple[Column, Column]:
    return F.count("*").alias("n"), F.sum("v").alias("s")


def _tumbling(keys: int) -> Shape:
    return _native(keys, lambda: F.window("ts", "10 seconds"), transom.Tumbling(size="10 seconds"))


def _hopping(slide: str) -> Shape:
    return _native(
        10_000,
        lambda: F.window("ts", "60 seconds", slide),
        transom.Hopping(size="60 seconds", slide=slide),
    )


def _session(keys: int) -> Shape:
    return _native(
        keys, lambda: F.session_window("ts", "2 seconds"), transom.Session(gap="2 seconds")
    )


def _keyed_tumbling(rows: DataFrame) -> DataFrame:
    windowed = _windowed(rows, transom.Tumbling(size="10 seconds"))
    return windowed.options(layout="keyed").agg(*_totals())


def _early_sessions(rows: DataFrame) -> DataFrame:
    windowed = _windowed(rows, transom.Session(gap="2 seconds"))
    return windowed.trigger(transom.Every("1 second")).agg(*_totals())


def _counted(rows: DataFrame) -> DataFrame:
    windowed = _windowed(rows, transom.Global())
    return windowed.trigger(transom.AfterCount(by_hand.COUNT)).agg(*_totals())


def _applied(rows: DataFrame) -> DataFrame:
    def totals(session: pa.Table) -> pa.Table:
        return pa.table({"n": [session.num_rows], "s": [pc.sum(session["v"]).as_py()]})

    return _windowed(rows, transom.Session(gap="2 seconds")).apply(totals, "n long, s double")


SHAPES = {
    "tumbling-10k": _tumbling(10_000),
    "tumbling-1m": _tumbling(1_000_000),
    "hopping-60-6": _hopping("6 seconds"),
    "hopping-60-1": _hopping("1 second"),
    "session-10k": _session(10_000),
    "session-1m": _session(1_000_000),
    "tumbling-keyed": Shape(
        keys=10_000,
        peer="native",
        theirs=_tumbling(10_000).theirs,
        ours=_keyed_tumbling,
    ),
    "session-early": Shape(
        keys=10_000,
        peer="python",
        theirs=by_hand.early_sessions,
        ours=_early_sessions,
        share=10,
    ),
    "count-100": Shape(keys=10_000, peer="python", theirs=by_hand.counted, ours=_counted, share=10),
    "session-function": Shape(
        keys=10_000,
        peer="applyInPandas",
        theirs=by_hand.totals_in_pandas,
        ours=_applied,
        share=10,
    ),
}
