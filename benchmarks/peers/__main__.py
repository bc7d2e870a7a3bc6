"""Measures queries with transom and its alternatives, in turn.

``python -m benchmarks.peers [--query a,b] [--peer x,y] [--cores 1,2] [--heap 1,4]``. The record is
written after each run, see `benchmarks.record`.

Environment
-----------
BENCH_ROWS
    Rows of input, 10,000,000 unless set.
BENCH_REPEATS
    Timed runs of each peer, 3 unless set.
BENCH_LIMIT
    Seconds after which a run is aborted, 900 unless set.
"""

import argparse
import os
import statistics
from collections.abc import Iterable
from itertools import product

from benchmarks.peers.compare import CORES, HEAP_GB, Settings, clear, compare
from benchmarks.peers.processes import confine, end_on_signal
from benchmarks.peers.table import PEERS, flink_version
from benchmarks.peers.turns import EmptyResultsError
from benchmarks.queries.catalogue import QUERIES
from benchmarks.record import Measurement, Record


def settings(
    cores: int = CORES, files_per_batch: int = 2, heap_gb: int = HEAP_GB, repeats: int = 3
) -> Settings:
    """Return the settings of the environment. `repeats` is the default of ``BENCH_REPEATS``."""
    return Settings(
        rows=int(os.environ.get("BENCH_ROWS", "10_000_000")),
        repeats=int(os.environ.get("BENCH_REPEATS", repeats)),
        limit=float(os.environ.get("BENCH_LIMIT", "900")),
        cores=cores,
        files_per_batch=files_per_batch,
        heap_gb=heap_gb,
    )


def line(measurement: Measurement) -> str:
    """Return a measurement as one line of text."""
    name = f"{measurement.query}: {measurement.peer}"
    if measurement.failed is not None:
        return f"{name} failed, {measurement.failed}"
    seconds = [run.seconds for run in measurement.runs]
    if not seconds:
        return f"{name} not timed, {measurement.result_rows} results"
    median = statistics.median(seconds)
    spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
    memory = max(run.peak_memory_bytes or 0 for run in measurement.runs) / 2**20
    speed = measurement.rows / median
    return f"{name} {median:.1f} s ({spread}), {speed:,.0f} rows/s, {memory:,.0f} MiB"


def chosen(given: str, known: Iterable[str]) -> list[str]:
    """Return the names on the command line, or all known names."""
    names = [name for name in given.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no {', '.join(unknown)}, but {', '.join(known)}")
    return names or list(known)


def main() -> None:
    """Measure the queries and peers on the command line, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--query", default="", help=", ".join(QUERIES))
    parser.add_argument("--peer", default="", help=", ".join(PEERS))
    parser.add_argument("--cores", default=str(CORES), help="cores that each may use; 1,2 for both")
    parser.add_argument(
        "--heap", default=str(HEAP_GB), help="GB of heap that each JVM has; 1,4 for both"
    )
    given = parser.parse_args()
    queries, peers = chosen(given.query, QUERIES), chosen(given.peer, PEERS)
    record = Record.begin(**flink_version(peers))
    end_on_signal()
    clear()
    errors = []
    cores_and_heaps = product(given.cores.split(","), given.heap.split(","))
    for (cores, heap_gb), name in product(cores_and_heaps, queries):
        confine(int(cores))
        conditions = settings(int(cores), heap_gb=int(heap_gb))
        try:
            measured = compare(name, peers, conditions, record.put)
        except EmptyResultsError as error:
            errors.append(str(error))
            continue
        for measurement in measured.values():
            print(line(measurement), flush=True)
    print(record.save())
    if errors:
        raise SystemExit("\n".join(errors))


if __name__ == "__main__":
    main()
