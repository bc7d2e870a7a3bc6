"""The opening of the page on performance: one table and one picture of plain queries."""

from collections.abc import Iterable, Sequence

from benchmarks import plots
from benchmarks.markdown import table
from benchmarks.reading import Taken, newest
from benchmarks.record import Record
from benchmarks.sections import Drawn

QUERIES = {
    "tumbling-10k": "tumbling windows, 10,000 keys",
    "tumbling-1m": "tumbling windows, 1,000,000 keys",
    "hopping-60-6": "hopping windows, each row in 10",
    "hopping-60-1": "hopping windows, each row in 60",
    "session-10k": "sessions, 10,000 keys",
    "session-1m": "sessions, 1,000,000 keys",
}
PEERS = {
    "native": "Spark's own windows",
    "flink-heap": "Flink, state on the heap",
    "flink-rocksdb": "Flink, state in RocksDB",
}

INTRODUCTION = """
## In short

The table shows the time of each system divided by transom's time, for the same rows and the same
results, on a machine with two cores. A value below 1 means that transom is slower. Flink's times
contain the start of its cluster.

"""
WHAT_ELSE = """
The blue line is transom's time. These are plain windows, for which transom is built. The sections
of each machine have all queries, and list where transom loses.
"""


def section(taken: Sequence[Record], drawn: Drawn) -> str:
    """Return the table and the picture, or nothing if none of the queries has been measured."""
    found = newest(taken)
    compared = {
        label: {peer: one for peer, one in found.get(name, {}).items() if peer in PEERS}
        for name, label in QUERIES.items()
    }
    shown = {label: peers for label, peers in compared.items() if any(_times(peers.values()))}
    if not shown:
        return ""
    rows = [[label, *_times(map(peers.get, PEERS))] for label, peers in shown.items()]
    picture = drawn(
        "opening", plots.ratios(shown), "times of Spark and Flink, divided by transom's"
    )
    return INTRODUCTION + table(["query", *PEERS.values()], rows) + picture + WHAT_ELSE


def _times(peers: Iterable[Taken | None]) -> list[str]:
    ratios = [None if taken is None else taken.ratio for taken in peers]
    return ["" if ratio is None else f"{ratio:.1f}" for ratio in ratios]
