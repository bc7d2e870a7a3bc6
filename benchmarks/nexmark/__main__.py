"""Measures Nexmark's queries with transom and its peers, in turn.

``python -m benchmarks.nexmark [--query q5,q7] [--source parquet|kafka] [--peer x,y]``. Each peer
first writes its results, which must equal transom's. Then the peers run in turn, in fresh
processes. The record is written after each run, see `benchmarks.record`.

Environment
-----------
BENCH_ROWS
    Events, 10,000,000 unless set.
BENCH_REPEATS
    Timed runs of each peer, 3 unless set.
BENCH_LIMIT
    Seconds after which a run is aborted, 900 unless set.
"""

import argparse
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.kafka.broker import broker
from benchmarks.nexmark.compare import Settings, compare
from benchmarks.nexmark.data import Input
from benchmarks.nexmark.feed import feed
from benchmarks.nexmark.peers import PEERS
from benchmarks.nexmark.queries import QUERIES
from benchmarks.peers.__main__ import chosen, line
from benchmarks.peers.processes import end_on_signal
from benchmarks.peers.table import flink_version
from benchmarks.peers.turns import EmptyResultsError
from benchmarks.record import Record

BUILD = Path("build/bench/nexmark")
WORK = BUILD / "work"


def main() -> None:
    """Measure the queries and peers on the command line, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks.nexmark", description=__doc__)
    parser.add_argument("--query", default="", help=", ".join(QUERIES))
    parser.add_argument("--source", default="parquet", choices=["parquet", "kafka"])
    parser.add_argument("--peer", default="", help=", ".join(PEERS))
    given = parser.parse_args()
    queries, peers = chosen(given.query, QUERIES), chosen(given.peer, PEERS)
    end_on_signal()
    # A killed run leaves its files behind.
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    folder = Input(events=int(os.environ.get("BENCH_ROWS", "10_000_000"))).make(BUILD).absolute()
    record = Record.begin(**flink_version(peers))
    errors = []
    with contextlib.ExitStack() as stack:
        brokers = None
        if given.source == "kafka":
            work = Path(tempfile.mkdtemp(prefix="kafka-", dir=WORK)).absolute()
            brokers = stack.enter_context(broker(work))
            feed(brokers, folder)
        settings = Settings(
            input=folder,
            work=WORK.absolute(),
            brokers=brokers,
            repeats=int(os.environ.get("BENCH_REPEATS", "3")),
            limit=float(os.environ.get("BENCH_LIMIT", "900")),
        )
        for name in queries:
            try:
                measured = compare(name, peers, settings, record.put)
            except EmptyResultsError as error:
                errors.append(str(error))
                continue
            for measurement in measured.values():
                print(line(measurement), flush=True)
    shutil.rmtree(WORK)
    print(record.save())
    if errors:
        raise SystemExit("\n".join(errors))


if __name__ == "__main__":
    main()
