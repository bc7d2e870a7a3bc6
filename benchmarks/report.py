"""Writes ``docs/performance.md`` and its pictures from all records: ``make bench-report``.

The report measures nothing. It shows the newest measurement of each query and peer, and never
divides times of two records.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks import losses, opening, plots, sections, targets
from benchmarks.losses import SIZES, largest, speed
from benchmarks.markdown import megabytes, table
from benchmarks.reading import LIMITS, Found, Taken, is_timed, newest
from benchmarks.record import RESULTS, Record, records
from benchmarks.sections import Drawn
from benchmarks.targets import Cell

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = Path("pictures/benchmarks")
HEAD = """# Performance

After reading this page you know how fast transom is compared with Spark's own windows, with Flink
and with other peers, and where it loses. `make bench-report` writes the page from the records in
`benchmarks/results`. `benchmarks/README.md` describes how the records are taken.
[What made the difference](what-made-the-difference.md) names the parts of the design that matter.
"""
READING = """
## How to read the tables

Each row shows the newest measurement of a query and peer, with its commit. *Ratio* is the peer's
time for a row divided by transom's, both medians of whole runs. Above 1 transom is faster, and
below 1 the peer is faster. The two times come from the same record. The next column shows transom's
time in this record. A peer's time counts only if the peer returned the same rows as transom, and at
least one. `pass-through` (read, exchange, discard), `read-only` (read and parse) and `batch` (a
Spark batch query over the same files) are points of reference, not alternatives.

A *peer* is another way to compute the same query. `native` is Spark's own windows, and `python` is
the same logic by hand in Python. `applyInPandas` passes Spark's sessions to a function in Python.
`transom-keyed` is transom with the keyed layout forced. `flink-heap` and `flink-rocksdb` are Flink
with its state on the heap and in RocksDB. `q5` to `q12` are queries of the benchmark Nexmark. For
each machine, a table of inputs says what the other names of queries mean. A cell of *Targets* has
the bound that we set, the measured ratio, and whether the ratio is within the bound.

The time of a run goes from the start of the query to its end. For Flink this time contains the
start of its cluster. For the peers on Spark it does not contain the start of the session. So the
page shows two figures of Flink: the whole run, and the job only. transom's time is the same in both
ratios. A cell is empty where the record does not have the job's time. Early records have the job's
time of their last run only.

*Peak memory* is the highest resident memory of a JVM with a heap of 4 GB, or of the heap in the
name of the query. Such a JVM uses its heap before it collects garbage. So a peer may need less
memory than this figure.
"""
FEWER_ROWS = """
Some peers in Python have fewer rows than transom, because all rows would take longer than the time
limit of a run. Fixed costs, such as planning, then weigh more in the time for a row. So the ratio
may be higher than for the same rows.
"""
NONE = "\nThere are no records yet: run `make bench-peers`, then `make bench-report`.\n"


def page(folder: Path, results: Path = RESULTS) -> str:
    """Return the text of the page, and draw its pictures into the folder of the documentation."""
    machines = sorted(found.name for found in results.glob("*") if any(found.glob("*.json")))
    if not machines:
        return HEAD + NONE
    with mpl.rc_context(plots.STYLE):
        shown = [_machine(records(name, results), folder) for name in machines]
        taken = records(machines[0], results)
        return HEAD + opening.section(taken, _drawing(taken, folder)) + READING + "".join(shown)


def _machine(taken: Sequence[Record], folder: Path) -> str:
    found = newest(taken)
    timed = {
        name: peers
        for name, peers in found.items()
        if any(is_timed(taken.measurement) for taken in peers.values())
    }

    drawn = _drawing(taken, folder)
    parts = [_conditions(taken, found)]
    if timed:
        parts += [
            _inputs(timed),
            _targets(taken),
            losses.section(found, timed),
            _queries(timed, drawn),
        ]
    parts += [sections.memory(taken), sections.growth(taken, drawn), sections.batches(found, drawn)]
    parts += [sections.latency(found, drawn), sections.gaps(found)]
    parts += [sections.backlog(found), sections.loops(found)]
    return "".join(parts)


def _drawing(taken: Sequence[Record], folder: Path) -> Drawn:
    def drawn(name: str, figure: Figure, label: str) -> str:
        """Save a picture, and return the text that shows it."""
        file = PICTURES / taken[-1].machine["name"] / f"{name}.svg"
        plots.save(figure, folder / file)
        return f"\n![{label}]({file})\n"

    return drawn


def _conditions(taken: Sequence[Record], found: Found) -> str:
    machine = taken[-1].machine
    memory = machine["memory_bytes"] / 2**30
    shown = {id(one.record) for peers in found.values() for one in peers.values()}
    rows = [
        [
            record.taken[:16].replace("T", " "),
            f"`{record.commit}`",
            ", ".join(f"{name} {version}" for name, version in record.versions.items()),
            str(len(record.measurements)),
        ]
        for record in reversed(taken)
        if id(record) in shown
    ]
    return (
        f"\n## {machine['cpu']}, {machine['cores']} cores\n\n"
        f"{memory:.1f} GiB of memory, {machine['system']}. The figures come from these records:\n\n"
        + table(["taken (UTC)", "commit", "versions", "measurements"], rows)
    )


def _inputs(timed: Found) -> str:
    rows = []
    for name, peers in timed.items():
        one = (peers.get("transom") or next(iter(peers.values()))).measurement
        given = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
        rows += [[name, f"{one.rows:,}", given]]
    return "\nThe input of each query:\n\n" + table(["query", "rows of input", "parameters"], rows)


def _targets(taken: Sequence[Record]) -> str:
    cells = targets.table(taken)
    rows = [
        [query, *(_cell(by_peer.get(peer)) for peer in targets.COLUMNS)]
        for query, by_peer in cells.items()
    ]
    heads = [
        f"transom's time / {c}'s" if c in LIMITS else f"{c} / transom" for c in targets.COLUMNS
    ]
    grown = [[name, _cell(cell)] for name, cell in targets.growth(taken).items()]
    grows = (
        "\nThe next table shows how the cost of a row grows. The cost is the time for a row, minus "
        "that of\nthe pass-through, which contains start-up, reading and the exchange:\n\n"
    )
    return (
        "\n### Targets\n\n"
        + table(["query", *heads], rows)
        + (grows + table(["", "last / first"], grown) if grown else "")
    )


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.figure is None:
        return f"{cell.target}: {cell.why}"
    whole = f"{cell.figure:.2f}{cell.fewer_rows}, {_reached(cell.reached)}"
    if cell.job_figure is None:
        return f"{cell.target}: {whole}"
    job = f"{cell.job_figure:.2f}, {_reached(cell.job_reached)}"
    return f"{cell.target}: whole run {whole}; job only {job}"


def _reached(reached: bool | None) -> str:  # noqa: FBT001
    return "reached" if reached else "**not reached**"


def _queries(timed: Found, drawn: Drawn) -> str:
    heads = ["query", "peer", "rows", "median, s", "fastest to slowest", "ratio", "transom's, s"]
    heads += [
        "job only, s",
        "ratio, job only",
        "rows a second",
        *SIZES.values(),
        "result rows",
        "commit",
    ]
    rows = [_measured(name, taken) for name, peers in timed.items() for taken in peers.values()]
    picture = drawn("queries", plots.ratios(timed), "times of all peers, divided by transom's")
    return f"\n### Queries\n{picture}{FEWER_ROWS}\n" + table(heads, rows)


def _measured(name: str, taken: Taken) -> list[str]:
    one, commit = taken.measurement, f"`{taken.record.commit}`"
    if not one.runs:
        label = one.failed or "no runs"
        return [name, one.peer, f"{one.rows:,}", label, *[""] * (7 + len(SIZES)), commit]
    seconds = [run.seconds for run in one.runs]
    return [
        name,
        one.peer,
        f"{one.rows:,}",
        f"{one.seconds:.1f}",
        f"{min(seconds):.1f} to {max(seconds):.1f} of {len(seconds)}",
        *_divided(taken),
        *_job(taken),
        f"{speed(one):,.0f}",
        *(megabytes(largest(one, size)) for size in SIZES),
        "" if one.result_rows is None else f"{one.result_rows:,}",
        commit,
    ]


def _divided(taken: Taken) -> list[str]:
    """Return a peer's ratio and transom's time in the same record, with transom's other rows."""
    theirs, ours, ratio = taken.measurement, taken.ours, taken.ratio
    if ours is None or ratio is None or theirs.peer == "transom":
        return ["", ""]
    of = "" if ours.rows == theirs.rows else f" of {ours.rows:,}"
    return [f"{ratio:.2f}", f"{ours.seconds:.1f}{of}"]


def _job(taken: Taken) -> list[str]:
    """Return the time of Flink's job alone and its ratio, or empty cells without this time."""
    one = taken.measurement
    if one.job_seconds is None:
        return ["", ""]
    last = " (last run)" if "job_seconds" in one.figures else ""
    ratio = "" if taken.job_ratio is None else f"{taken.job_ratio:.2f}"
    return [f"{one.job_seconds:.1f}{last}", ratio]


def main() -> None:
    """Write the page and draw its pictures."""
    # Pictures of removed queries must not stay.
    shutil.rmtree(DOCS / PICTURES, ignore_errors=True)
    file = DOCS / "performance.md"
    file.write_text(page(DOCS))
    print(file)


if __name__ == "__main__":
    main()
