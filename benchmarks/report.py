"""Writes ``docs/performance.md`` and its pictures from all records: ``make bench-report``.

Nothing is measured. What is shown of a query and a peer is the newest that there is; times of two
records are never divided by each other.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks import plots, sections, targets
from benchmarks.markdown import megabytes, table
from benchmarks.reading import LIMITS, Taken, is_timed, newest
from benchmarks.record import RESULTS, Measurement, Record, records
from benchmarks.sections import Drawn, Found
from benchmarks.targets import Cell

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = Path("pictures/benchmarks")
HEAD = """# Performance

Written by `make bench-report` from the records in `benchmarks/results`. How they are taken is said
in `benchmarks/README.md`; what each part of the design brought, in
[What made the difference](what-made-the-difference.md).

Shown of each query and peer is the newest measurement there is, with the commit that it is from.
*Ratio* is the peer's time for a row divided by transom's, medians of whole runs in one record:
above 1 transom is faster, below 1 the peer is. Times of different records are not divided by each
other; beside the ratio is what transom took there. A peer's result has to be the same, row for row,
before its time counts. `pass-through` (read, exchange, discard) and `batch` (the same asked of
files, as a Spark batch query) are limits, nothing that could be picked instead.
"""
NONE = "\nNo results are kept yet: `make bench-peers`, then `make bench-report`.\n"


def page(folder: Path, results: Path = RESULTS) -> str:
    """The page, whose pictures it draws into the folder of the documentation."""
    machines = sorted(found.name for found in results.glob("*") if any(found.glob("*.json")))
    if not machines:
        return HEAD + NONE
    with mpl.rc_context(plots.STYLE):
        return HEAD + "".join(_machine(records(name, results), folder) for name in machines)


def _machine(taken: Sequence[Record], folder: Path) -> str:
    found = newest(taken)
    timed = {
        name: peers
        for name, peers in found.items()
        if any(is_timed(taken.measurement) for taken in peers.values())
    }

    def drawn(name: str, figure: Figure, said: str) -> str:
        """A picture, and the text that shows it."""
        file = PICTURES / taken[-1].machine["name"] / f"{name}.svg"
        plots.save(figure, folder / file)
        return f"\n![{said}]({file})\n"

    parts = [_conditions(taken, found)]
    if timed:
        parts += [_inputs(timed), _targets(taken), _losses(found, timed), _queries(timed, drawn)]
    parts += [sections.growth(taken, drawn), sections.batches(found, drawn)]
    parts += [sections.latency(found, drawn), sections.loops(found)]
    return "".join(parts)


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
        f"{memory:.1f} GiB of memory, {machine['system']}. The records that figures are from:\n\n"
        + table(["taken (UTC)", "commit", "versions", "measurements"], rows)
    )


def _inputs(timed: Found) -> str:
    rows = []
    for name, peers in timed.items():
        one = (peers.get("transom") or next(iter(peers.values()))).measurement
        given = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
        rows += [[name, f"{one.rows:,}", given]]
    return "\nWhat was asked of what:\n\n" + table(["query", "rows of input", "parameters"], rows)


def _targets(taken: Sequence[Record]) -> str:
    cells = targets.table(taken)
    rows = [
        [query, *(_cell(asked.get(peer)) for peer in targets.COLUMNS)]
        for query, asked in cells.items()
    ]
    heads = [
        f"transom's time / {c}'s" if c in LIMITS else f"{c} / transom" for c in targets.COLUMNS
    ]
    grown = [[name, _cell(cell)] for name, cell in targets.growth(taken).items()]
    grows = "\nWhat a row costs, those of the input and of the result counted alike:\n\n"
    return (
        "\n### What is to be reached\n\n"
        + table(["query", *heads], rows)
        + (grows + table(["", "last / first"], grown) if grown else "")
    )


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.figure is None:
        return f"{cell.asked}: {cell.why}"
    return f"{cell.asked}: {cell.figure:.2f}, " + ("reached" if cell.reached else "**not reached**")


def _losses(found: Found, timed: Found) -> str:
    slower, larger = [], []
    for name, peers in timed.items():
        for peer, taken in peers.items():
            if peer == "transom" and taken.measurement.failed:
                slower += [[name, "", f"does not run: {taken.measurement.failed}", "", ""]]
            elif peer not in ("transom", *LIMITS):
                slower += [[name, peer, *lost] for lost in _slower(taken)]
                larger += [[name, peer, *lost] for lost in _larger(taken)]
    return (
        "\n### Where transom loses\n\nSlower than a peer, however little:\n\n"
        + _lost("rows a second, transom", "rows a second, peer", "ratio", slower)
        + "\nLater after the end of a window than a peer, however little:\n\n"
        + _lost("of", "transom", "peer", _later(found))
        + "\nMore memory or disk than a peer, however little:\n\n"
        + _lost("of", "transom", "peer", larger)
    )


def _lost(one: str, two: str, three: str, rows: list[list[str]]) -> str:
    return table(["query", "against", one, two, three], rows) if rows else "None.\n"


def _slower(taken: Taken) -> list[list[str]]:
    ours, ratio = taken.ours, taken.ratio
    if ours is None or ratio is None or ratio >= 1:
        return []
    return [[f"{_speed(ours):,.0f}", f"{_speed(taken.measurement):,.0f}", f"{ratio:.2f}"]]


def _later(found: Found) -> list[list[str]]:
    rows = []
    for name, peers in found.items():
        ours = peers.get("transom")
        if ours is None or not name.startswith("latency/"):
            continue
        for peer, taken in peers.items():
            theirs = taken.measurement.figures if taken.record is ours.record else {}
            for centile in ("p50_ms", "p99_ms"):
                mine, other = ours.measurement.figures.get(centile), theirs.get(centile)
                if mine is not None and other is not None and mine > other:
                    said = centile.removesuffix("_ms")
                    rows += [[name, peer, said, f"{mine:,.0f} ms", f"{other:,.0f} ms"]]
    return rows


def _larger(taken: Taken) -> list[list[str]]:
    theirs, ours = taken.measurement, taken.ours
    # On fewer rows less is kept, which says nothing.
    if ours is None or taken.ratio is None or theirs.rows != ours.rows:
        return []
    sizes = [(said, largest(ours, name), largest(theirs, name)) for name, said in SIZES.items()]
    return [
        [said, megabytes(mine), megabytes(other)]
        for said, mine, other in sizes
        if mine is not None and other is not None and mine > other
    ]


SIZES = {
    "peak_memory_bytes": "peak memory",
    "state_bytes": "state",
    "checkpoint_bytes": "checkpoint",
}


def largest(measurement: Measurement, name: str) -> int | None:
    """The most that any of its runs took of something."""
    return max((size for run in measurement.runs if (size := getattr(run, name))), default=None)


def _speed(measurement: Measurement) -> float:
    return measurement.rows / measurement.seconds


def _queries(timed: Found, drawn: Drawn) -> str:
    heads = ["query", "peer", "rows", "median, s", "fastest to slowest", "ratio", "transom's, s"]
    heads += ["rows a second", *SIZES.values(), "result rows", "commit"]
    rows = [_measured(name, taken) for name, peers in timed.items() for taken in peers.values()]
    picture = drawn("queries", plots.ratios(timed), "how many times as long each peer took")
    return f"\n### Queries\n{picture}\n" + table(heads, rows)


def _measured(name: str, taken: Taken) -> list[str]:
    one, commit = taken.measurement, f"`{taken.record.commit}`"
    if not one.runs:
        said = one.failed or "no runs"
        return [name, one.peer, f"{one.rows:,}", said, *[""] * (5 + len(SIZES)), commit]
    seconds = [run.seconds for run in one.runs]
    return [
        name,
        one.peer,
        f"{one.rows:,}",
        f"{one.seconds:.1f}",
        f"{min(seconds):.1f} to {max(seconds):.1f} of {len(seconds)}",
        *_divided(taken),
        f"{_speed(one):,.0f}",
        *(megabytes(largest(one, size)) for size in SIZES),
        "" if one.result_rows is None else f"{one.result_rows:,}",
        commit,
    ]


def _divided(taken: Taken) -> list[str]:
    """A peer's ratio, and what transom took in the same record, with its rows where they differ."""
    theirs, ours, ratio = taken.measurement, taken.ours, taken.ratio
    if ours is None or ratio is None or theirs.peer == "transom":
        return ["", ""]
    of = "" if ours.rows == theirs.rows else f" of {ours.rows:,}"
    return [f"{ratio:.2f}", f"{ours.seconds:.1f}{of}"]


def main() -> None:
    """Write the page and draw its pictures."""
    # Of queries that are no more.
    shutil.rmtree(DOCS / PICTURES, ignore_errors=True)
    file = DOCS / "performance.md"
    file.write_text(page(DOCS))
    print(file)


if __name__ == "__main__":
    main()
