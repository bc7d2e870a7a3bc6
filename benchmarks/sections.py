"""Sections of the page on performance: growth, memory, small batches, latency, inner loops."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from matplotlib.figure import Figure

from benchmarks import engine, plots, targets
from benchmarks.markdown import megabytes, table
from benchmarks.peers.compare import HEAP_GB
from benchmarks.reading import Found, Lines, is_empty, lines, natural, place
from benchmarks.record import Measurement, Record

# Saves a picture under a name, and returns the text that shows the picture with a description.
Drawn = Callable[[str, Figure, str], str]
MEMORY = """The table shows the throughput of each peer with the same heap, and the peak of its
resident memory. Outside of the heap, Flink has 400 MB of managed memory for each GB of heap, which
its RocksDB uses. The RocksDB of Spark's state store has no such limit.
"""
LOOPS = """A score is the mean time of an operation. Its error is half of the 99.9 % confidence
interval. A row whose error exceeds a tenth of its score is noise: do not compare it.
"""
LATENCY = """The input is steady. The rows `kafka` go from Kafka to Kafka. The closing row is the
first row after the end of a window in the last partition. In Real-Time Mode a batch lasts a minute,
and no result leaves between two batches: the longest time is that of a window that has ended there.
Spark's own windows have no final result in this mode. So `kafka-running-counts` is the time from
the last row of a window to the counts that contain it, and transom does the same job there.
"""
LATENCIES = {
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "longest_ms": "longest, ms",
    "p50_closing_ms": "p50 from the closing row, ms",
    "p99_closing_ms": "p99 from the closing row, ms",
}
GAPS = """In Real-Time Mode no result leaves between two batches. A gap is the time between the last
result before a batch's commit and the first one after it. The peers send a new count for each row.
Batches last 5 seconds here, so that a run has many gaps.
"""
GAP_FIGURES = {"gaps": "gaps", "p10_ms": "p10, ms", "p50_ms": "p50, ms", "p90_ms": "p90, ms"}
BACKLOG = """All rows are in a topic before the query starts. The CPU time is that of all processes
of the peer, from the start of the query to its last result. It contains the compiler's. The peer
`transom` reads all rows in one micro-batch.
"""
GROWING = ("keys", "overlap", "gap_ms")


def growth(taken: Sequence[Record], drawn: Drawn) -> str:
    """Return the section on queries that differ in one parameter."""
    parts = [_grown(line, drawn) for name in GROWING for line in lines(taken, name)]
    parts += [_cores(lines(taken, "cores"), drawn)]
    return "\n### Growth\n" + "".join(parts) if any(parts) else ""


def _cores(found: Sequence[Lines], drawn: Drawn) -> str:
    """Return the section on the speedup of each query from one core to the most cores."""
    if not found:
        return ""
    most = max(value for line in found for value in line.points["transom"])
    speedups = {
        line.points["transom"][most].query: {
            peer: points[1].seconds / points[most].seconds
            for peer, points in line.points.items()
            if {1, most} <= points.keys()
        }
        for line in found
        if most in line.points["transom"]
    }
    peers = list(dict.fromkeys(peer for each in speedups.values() for peer in each))
    rows = [
        [query, *(f"{each[peer]:.2f}" if peer in each else "" for peer in peers)]
        for query, each in sorted(speedups.items(), key=lambda of: natural(of[0]))
    ]
    commits = ", ".join(dict.fromkeys(f"`{line.record.commit}`" for line in found))
    what = f"The table shows the time on 1 core, divided by the time on {most}."
    title = f"\n#### By cores\n\n{what} From {commits}.\n"
    picture = drawn("cores", plots.cores(speedups, most), "speedup of each query on more cores")
    return f"{title}{picture}\n" + table(["query", *peers], rows)


def _grown(line: Lines, drawn: Drawn) -> str:
    values = sorted({value for points in line.points.values() for value in points})
    rows = [
        [peer, *(_seconds(points.get(value)) for value in values)]
        for peer, points in line.points.items()
    ]
    ours = [line.points["transom"].get(value) for value in values]
    for per in get_args(targets.Per):
        costs = [targets.micros_above(line, value, per) for value in values]
        if any(cost is not None for cost in costs):
            shown = ["" if cost is None else f"{cost:.2f}" for cost in costs]
            rows += [[f"transom above pass-through, µs a row of {per}", *shown]]
    rows += [["result rows for a row of input", *map(_results, ours)]]
    heads = [f"seconds, by {line.variable}", *(f"{value:,}" for value in values)]
    title = f"\n#### {line.name}\n\nFrom `{line.record.commit}`.\n"
    file = re.sub("[^a-z0-9]+", "-", line.name.lower())
    return title + drawn(file, plots.growth(line), line.name) + "\n" + table(heads, rows)


def _results(measurement: Measurement | None) -> str:
    if measurement is None or measurement.result_rows is None:
        return ""
    return f"{measurement.result_rows / measurement.rows:.3f}"


def _seconds(measurement: Measurement | None) -> str:
    return "" if measurement is None else f"{measurement.seconds:.1f}"


def memory(taken: Sequence[Record]) -> str:
    """Return the section on heaps: the rows a second of each peer with the same heap.

    The figures of a query come from the newest record that has the query.
    """
    newest = {
        _with_usual_heap(one): record
        for record in taken
        for one in record.measurements
        if "heap_gb" in one.parameters
    }
    if not newest:
        return ""
    rows, heaps = [], set()
    for query, record in sorted(newest.items(), key=lambda of: natural(of[0])):
        peers: dict[str, dict[int, Measurement]] = {}
        for one in record.measurements:
            if _with_usual_heap(one) == query and not is_empty(one):
                peers.setdefault(one.peer, {})[one.parameters.get("heap_gb", HEAP_GB)] = one
        heaps |= {heap for measured in peers.values() for heap in measured}
        rows += [(query, peer, peers[peer], record.commit) for peer in sorted(peers, key=place)]
    cells = [
        [query, peer, *(_at_heap(by_heap.get(heap)) for heap in sorted(heaps)), f"`{commit}`"]
        for query, peer, by_heap, commit in rows
    ]
    heads = ["query", "peer", *(f"heap of {heap} GB" for heap in sorted(heaps)), "commit"]
    return f"\n### By memory\n\n{MEMORY}\n" + table(heads, cells)


def _with_usual_heap(measurement: Measurement) -> str:
    """Return the name of the query without the suffix of its heap."""
    return measurement.query.removesuffix(f"-{measurement.parameters.get('heap_gb')}-gb-heap")


def _at_heap(measurement: Measurement | None) -> str:
    if measurement is None:
        return ""
    if not measurement.runs:
        return measurement.failed or "no runs"
    peak = max((run.peak_memory_bytes or 0 for run in measurement.runs), default=0)
    speed = f"{measurement.rows / measurement.seconds:,.0f} rows/s"
    return f"{speed}, peak {megabytes(peak)}" if peak else speed


def batches(found: Found, drawn: Drawn) -> str:
    """Return the sections on small batches, by open keys and by age of the state."""
    return _batches(
        _starting(found, "open-keys/"), "Cost of a batch, by open keys", "open_keys", drawn
    ) + _batches(
        _starting(found, "state-age/"), "Cost of a batch, by age of the state", "batches", drawn
    )


def _starting(found: Found, prefix: str) -> Found:
    return {name: peers for name, peers in found.items() if name.startswith(prefix)}


def _batches(found: Found, title: str, variable: str, drawn: Drawn) -> str:
    if not found:
        return ""
    # Only figures of one record can be compared.
    taken = [one for peers in found.values() for one in peers.values()]
    last = max((one.record for one in taken), key=lambda record: record.taken)
    points: dict[str, dict[int, float]] = {}
    for one in (one.measurement for one in taken if one.record is last and one.measurement.figures):
        points.setdefault(one.peer, {})[one.parameters[variable]] = one.figures["batch_ms"]
    points = {peer: dict(sorted(line.items())) for peer, line in points.items()}
    values = sorted({value for line in points.values() for value in line})
    rows = [
        [peer, *(f"{line[value]:,.0f}" if value in line else "" for value in values)]
        for peer, line in points.items()
    ]
    label = variable.replace("_", " ")
    picture = drawn(variable.replace("_", "-"), plots.batches(points, label), title.lower())
    heads = [f"ms a batch, by {label}", *(f"{value:,}" for value in values)]
    return f"\n### {title}\n\nFrom `{last.commit}`.\n{picture}\n" + table(heads, rows)


def latency(found: Found, drawn: Drawn) -> str:
    """Return the section on the time from a window's end to its result."""
    found = _starting(found, "latency/")
    if not found:
        return ""
    rows = []
    for name, peers in found.items():
        for peer, taken in peers.items():
            one = taken.measurement
            cells = _shown(one, LATENCIES)
            rows += [
                [
                    name.removeprefix("latency/"),
                    peer,
                    *cells,
                    _given(one),
                    f"`{taken.record.commit}`",
                ]
            ]
    heads = ["windows", "peer", *LATENCIES.values(), "conditions", "commit"]
    picture = drawn("latency", plots.latencies(found), "time from a window's end to its result")
    title = "\n### From a window's end to its result"
    return f"{title}\n\n{LATENCY}{picture}\n" + table(heads, rows)


def gaps(found: Found) -> str:
    """Return the section on the time without a result between two batches of Real-Time Mode."""
    rows = []
    for peers in _starting(found, "gaps/").values():
        for peer, taken in peers.items():
            one = taken.measurement
            cells = _shown(one, GAP_FIGURES)
            rows += [[peer, *cells, _given(one), f"`{taken.record.commit}`"]]
    if not rows:
        return ""
    heads = ["peer", *GAP_FIGURES.values(), "conditions", "commit"]
    return f"\n### Between two batches\n\n{GAPS}\n" + table(heads, rows)


def backlog(found: Found) -> str:
    """Return the section on the CPU time that a backlog takes."""
    rows = [
        [
            peer,
            f"{one.measurement.rows:,}",
            *_shown(one.measurement, ("cpu_s", "rows_a_cpu_second")),
            _given(one.measurement),
            f"`{one.record.commit}`",
        ]
        for peers in _starting(found, "backlog/").values()
        for peer, one in peers.items()
    ]
    if not rows:
        return ""
    heads = ["peer", "rows", "CPU, s", "rows for each CPU second", "conditions", "commit"]
    return f"\n### Rows that wait in Kafka\n\n{BACKLOG}\n" + table(heads, rows)


def _shown(one: Measurement, names: Iterable[str]) -> list[str]:
    """Return the figures of a measurement, or what went wrong and empty cells."""
    known = [one.figures.get(name) for name in names]
    cells = ["" if figure is None else f"{figure:,.0f}" for figure in known]
    if not one.figures:
        cells[0] = one.failed or ""
    return cells


def _given(one: Measurement) -> str:
    """Return the parameters of a measurement."""
    return ", ".join(f"{name} {value}" for name, value in one.parameters.items())


def loops(found: Found) -> str:
    """Return the section on the JMH scores of the engine."""
    taken = [one for peers in _starting(found, "jmh/").values() for one in peers.values()]
    if not taken:
        return ""
    rows = [
        [
            one.measurement.query.removeprefix("jmh/"),
            "{score:,.4g} ± {error:.2g}".format_map(one.measurement.figures),
            _error(one.measurement),
            str(one.measurement.parameters["unit"]),
            "{alloc_bytes_per_op:,.0f}".format_map(one.measurement.figures),
            f"`{one.record.commit}`",
        ]
        for one in taken
    ]
    heads = ["loop", "score", "error / score", "unit", "bytes allocated", "commit"]
    return f"\n### The engine's inner loops\n\n{LOOPS}\n" + table(heads, rows)


def _error(measurement: Measurement) -> str:
    share = engine.error_share(measurement)
    if not engine.is_noise(measurement):
        return f"{share:.1%}"
    return "**noise**, unknown" if math.isnan(share) else f"**noise**, {share:.0%}"
