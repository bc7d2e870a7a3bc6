"""Measures transom against the present choice of PySpark users, in turn.

``python -m benchmarks.queries [--further] [NAME ...]``. For each query both sides first write their
rows once, and the rows must be the same. Then both run in turn, in fresh processes, and the command
prints the medians. The environment variables of `benchmarks.peers` apply.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, replace

from benchmarks.peers.__main__ import settings
from benchmarks.peers.compare import BUILD, Settings, clear, compare
from benchmarks.peers.processes import end_on_signal
from benchmarks.peers.turns import EmptyResultsError
from benchmarks.queries.catalogue import QUERIES
from benchmarks.record import Measurement

# What the two times of a query are called that measures the cost of a part of transom. The peer is
# transom without this part.
COSTS = {
    "event-time": ("windows", "with policy"),
    "one-watermark": ("without", "with"),
    "one-minute": ("one-minute", "transom"),
    "three-queries": ("three queries", "transom"),
}
# Pairs of queries whose costs are compared, for each row of input and of result.
PAIRS = {"lifetimes": ("lifetimes-1s", "lifetimes-1h")}
# An input with further rows is longer by this factor.
FURTHER = 4


def cost(without: Measurement, ours: Measurement) -> str:
    """Return both times of a part of transom's cost, and the median of their ratios."""
    pairs = zip(without.runs, ours.runs, strict=True)
    ratio = statistics.median(our.seconds / one.seconds for one, our in pairs)
    name, more = COSTS[without.peer]
    times = f"{name} {without.seconds:.1f} s, {more} {ours.seconds:.1f} s"
    return f"{ours.query}: {times}, ratio {ratio:.2f}"


def cost_of_a_row(fewer: dict[str, Measurement], more: dict[str, Measurement]) -> str:
    """Return what a row costs that a longer input has in addition. Start-up is no part of it."""
    costs = {
        peer: (long.seconds - fewer[peer].seconds) * 1e6 / (long.rows - fewer[peer].rows)
        for peer, long in more.items()
    }
    shown = ", ".join(f"{peer} {micros:.2f} µs" for peer, micros in costs.items())
    peer = next(iter(costs))
    return f"a further row: {shown}, ratio {costs['transom'] / costs[peer]:.2f}"


def cost_of_rows(name: str, shorter: Measurement, longer: Measurement) -> str:
    """Return both times, and the ratio of the costs of a row of input or result."""
    costs = [
        statistics.median(run.seconds for run in side.runs) / (side.rows + (side.result_rows or 0))
        for side in (shorter, longer)
    ]
    times = [
        f"{side.query} {statistics.median(run.seconds for run in side.runs):.1f} s for "
        f"{side.rows + (side.result_rows or 0):,} rows"
        for side in (shorter, longer)
    ]
    return f"{name}: {', '.join(times)}, ratio {costs[1] / costs[0]:.2f}"


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
    compared = {name: query.compared for name, query in QUERIES.items() if query.compared}
    known = [*compared, *PAIRS]
    parser = argparse.ArgumentParser(prog="benchmarks.queries", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument(
        "--further",
        action="store_true",
        help=f"measure {FURTHER} times the rows too, for the cost of a further row",
    )
    given = parser.parse_args()
    names = given.names or known
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no query is called {', '.join(unknown)}; there are {', '.join(known)}")
    end_on_signal()
    clear()
    results = BUILD / "results"
    results.mkdir(exist_ok=True)
    usual = settings(files_per_batch=1)
    for name in names:
        if name in PAIRS:
            pair = [measure(query, ["transom"], usual)["transom"] for query in PAIRS[name]]
            print(cost_of_rows(name, *pair), flush=True)
            continue
        peers = [*compared[name], "transom"]
        sides = measure(name, peers, usual)
        for peer in compared[name]:
            summary = cost if peer in COSTS else line
            print(summary(sides[peer], sides["transom"]), flush=True)
        kept = {peer: asdict(measurement) for peer, measurement in sides.items()}
        (results / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")
        if given.further:
            more = measure(name, peers, replace(usual, rows=FURTHER * usual.rows))
            print(f"{name}: {cost_of_a_row(sides, more)}", flush=True)


def measure(name: str, peers: Sequence[str], conditions: Settings) -> dict[str, Measurement]:
    """Measure a query, and end the program if a peer fails."""
    try:
        sides = compare(name, peers, conditions, lambda _: None)
    except EmptyResultsError as error:
        raise SystemExit(str(error)) from None
    for measurement in sides.values():
        if measurement.failed is not None:
            raise SystemExit(f"{name}: {measurement.peer} failed, {measurement.failed}")
    return sides


if __name__ == "__main__":
    main()
