"""Nexmark's queries about windows, with transom and with Spark's own operators.

The queries follow the specification. Their windows are as short as in Nexmark's own SQL.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import transom

WATERMARK_DELAY = "4 seconds"
SIZE, SLIDE, GAP = "10 seconds", "2 seconds", "10 seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query, for both sides.

    Attributes
    ----------
    kinds : tuple of str
        The kinds of events that the query reads.
    transom, native : callable
        Build the results from the streams of these kinds. ``native`` is None for windows in
        processing time, which Spark lacks.
    key : str
        The result column that identifies the results of the closing event.
    by_clock : bool
        Whether the windows are in processing time. Then only totals by key can be compared.
    """

    kinds: tuple[str, ...]
    transom: Callable[..., DataFrame]
    native: Callable[..., DataFrame] | None
    key: str
    by_clock: bool = False


def _timed(events: DataFrame) -> DataFrame:
    return events.withWatermark("date_time", WATERMARK_DELAY)


def _stream(events: DataFrame) -> transom.Stream:
    return transom.stream(_timed(events), time="date_time")


def _window() -> Column:
    return F.window("date_time", SIZE).alias("window")


def _count() -> Column:
    return F.count("*").alias("n")


def hot_items(bids: DataFrame) -> DataFrame:
    """q5: the auctions with the most bids of the last ten seconds, every two seconds."""
    hopping = transom.Hopping(size=SIZE, slide=SLIDE)
    counts = _stream(bids).key_by("auction").window(hopping).agg(_count())
    # Windows end two seconds apart, so each tumbling window holds the counts of one window.
    together = transom.stream(counts, time="window").window_all(transom.Tumbling(size=SLIDE))
    return _most(together.agg(*_counts_of_a_window()))


def hot_items_native(bids: DataFrame) -> DataFrame:
    """q5, with two aggregations of Spark's."""
    window = F.window("date_time", SIZE, SLIDE).alias("window")
    counts = _timed(bids).groupBy("auction", window).agg(_count())
    return _most(counts.groupBy("window").agg(*_counts_of_a_window()))


def _counts_of_a_window() -> tuple[Column, Column]:
    return F.max("n").alias("most"), F.collect_list(F.struct("auction", "n")).alias("counts")


def _most(windows: DataFrame) -> DataFrame:
    """All auctions that have the most."""
    end = F.col("window.end")
    hottest = F.filter("counts", lambda one: one["n"] == F.col("most"))
    each = windows.select(end.alias("end"), F.inline(hottest))
    return each.select(
        "auction", (F.col("end") - F.expr(f"INTERVAL {SIZE}")).alias("start"), "end", "n"
    )


def highest_bid(bids: DataFrame) -> DataFrame:
    """q7: the highest bid of each ten seconds; of equal ones that with the highest ids."""
    return _bid(_stream(bids).window_all(transom.Tumbling(size=SIZE)).agg(_highest()))


def highest_bid_native(bids: DataFrame) -> DataFrame:
    """q7, with an aggregation of Spark's."""
    return _bid(_timed(bids).groupBy(_window()).agg(_highest()))


def _highest() -> Column:
    return F.max(F.struct("price", "auction", "bidder", "date_time", "extra")).alias("bid")


def _bid(windows: DataFrame) -> DataFrame:
    return windows.select("window.start", "window.end", "bid.*")


def new_users(persons: DataFrame, auctions: DataFrame) -> DataFrame:
    """q8: people who joined and opened an auction in the same ten seconds."""
    name = F.lit(None).cast("string").alias("name")
    joined = persons.select("id", "name", "date_time")
    opened = auctions.select(F.col("seller").alias("id"), name, "date_time")
    both = _stream(joined.unionByName(opened)).key_by("id").window(transom.Tumbling(size=SIZE))
    counted = both.agg(F.max("name").alias("name"), F.count_if(F.isnull("name")).alias("opened"))
    users = counted.where("name IS NOT NULL AND opened > 0")
    return users.select("id", "name", "window.start", "window.end")


def new_users_native(persons: DataFrame, auctions: DataFrame) -> DataFrame:
    """q8, with a join of Spark's."""
    joined = _timed(persons).select("id", "name", _window())
    opened = _timed(auctions).select(F.col("seller").alias("id"), "date_time")
    sellers = opened.groupBy("id", _window()).agg(_count())
    users = joined.join(sellers, ["id", "window"])
    return users.select("id", "name", "window.start", "window.end")


def user_sessions(bids: DataFrame) -> DataFrame:
    """q11: bids of each user, while no ten seconds pass without one."""
    sessions = _stream(bids).key_by("bidder").window(transom.Session(gap=GAP)).agg(_count())
    return _bounded(sessions)


def user_sessions_native(bids: DataFrame) -> DataFrame:
    """q11, with Spark's session window."""
    session = F.session_window("date_time", GAP).alias("window")
    return _bounded(_timed(bids).groupBy("bidder", session).agg(_count()))


def by_the_clock(bids: DataFrame) -> DataFrame:
    """q12: bids of each user in each ten seconds of the wall clock."""
    keyed = transom.stream(bids, time=transom.ProcessingTime()).key_by("bidder")
    return _bounded(keyed.window(transom.Tumbling(size=SIZE)).drain().agg(_count()))


def _bounded(windows: DataFrame) -> DataFrame:
    return windows.select("bidder", "window.start", "window.end", "n")


BIDS = ("bids",)
QUERIES = {
    "q5": Query(kinds=BIDS, transom=hot_items, native=hot_items_native, key="auction"),
    "q7": Query(kinds=BIDS, transom=highest_bid, native=highest_bid_native, key="auction"),
    "q8": Query(
        kinds=("persons", "auctions"), transom=new_users, native=new_users_native, key="id"
    ),
    "q11": Query(kinds=BIDS, transom=user_sessions, native=user_sessions_native, key="bidder"),
    "q12": Query(kinds=BIDS, transom=by_the_clock, native=None, key="bidder", by_clock=True),
}
