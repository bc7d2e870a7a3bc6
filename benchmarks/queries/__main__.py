"""Measures transom against the present choice of PySpark users, in turn.

``python -m benchmarks.queries [NAME ...]``. For each query both sides first write their rows once,
and the rows must be the same. Then both run in turn, in fresh processes, and the command prints the
medians. The environment variables of `benchmarks.peers` apply.
"""

import argparse
import json
import statistics
from dataclasses import asdict

from benchmarks.peers.__main__ import settings
from benchmarks.peers.compare import BUILD, clear, compare
from benchmarks.peers.processes import end_on_signal
from benchmarks.peers.turns import EmptyResultsError
from benchmarks.queries.catalogue import QUERIES
from benchmarks.record import Measurement


def line(theirs: Measurement, ours: Measurement) -> str:
    """Return both times and the median ratio. With different rows it has rows a second."""
    pairs = zip(theirs.runs, ours.runs, strict=True)
    ratio = statistics.median(their.seconds / our.seconds for their, our in pairs)
    ratio *= ours.rows / theirs.rows
    shown = []
    for side in (theirs, ours):
        median = statistics.median(run.seconds for run in side.runs)
        same = theirs.rows == ours.rows
        shown.append(f"{median:.1f} s" if same else f"{side.rows / median:,.0f} rows/s")
    return f"{ours.query}: {theirs.peer} {shown[0]}, transom {shown[1]}, ratio {ratio:.2f}"


def main() -> None:
    """Compare the queries on the command line, or all."""
    compared = {name: query.bench for name, query in QUERIES.items() if query.bench}
    parser = argparse.ArgumentParser(prog="benchmarks.queries", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(compared))
    names = parser.parse_args().names or list(compared)
    if unknown := [name for name in names if name not in compared]:
        parser.error(f"no query is called {', '.join(unknown)}; there are {', '.join(compared)}")
    end_on_signal()
    clear()
    results = BUILD / "results"
    results.mkdir(exist_ok=True)
    for name in names:
        peers = [compared[name], "transom"]
        try:
            sides = compare(name, peers, settings(files_per_batch=1), lambda _: None)
        except EmptyResultsError as error:
            raise SystemExit(str(error)) from None
        for measurement in sides.values():
            if measurement.failed is not None:
                raise SystemExit(f"{name}: {measurement.peer} failed, {measurement.failed}")
        print(line(*sides.values()), flush=True)
        kept = {peer: asdict(measurement) for peer, measurement in sides.items()}
        (results / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
