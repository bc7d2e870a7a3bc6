"""The section of the page on performance that lists every measurement that transom loses."""

from benchmarks.markdown import megabytes, table
from benchmarks.reading import LIMITS, OWN, Found, Taken
from benchmarks.record import Measurement


def section(found: Found, timed: Found) -> str:
    """Return tables of all measurements in which a peer is better than transom."""
    slower, larger = [], []
    for name, peers in timed.items():
        for peer, taken in peers.items():
            if peer == "transom" and taken.measurement.failed:
                slower += [[name, "", f"does not run: {taken.measurement.failed}", "", ""]]
            elif peer not in ("transom", *OWN, *LIMITS):
                slower += [[name, peer, *lost] for lost in _slower(taken)]
                larger += [[name, peer, *lost] for lost in _larger(taken)]
    return (
        "\n### Where transom loses\n\nAll queries for which transom is slower than a peer:\n\n"
        + _lost("rows a second, transom", "rows a second, peer", "ratio", slower)
        + "\nAll windows whose result comes later than that of a peer:\n\n"
        + _lost("of", "transom", "peer", _later(found))
        + "\nAll queries for which transom needs more memory or disk than a peer:\n\n"
        + _lost("of", "transom", "peer", larger)
    )


def _lost(one: str, two: str, three: str, rows: list[list[str]]) -> str:
    return table(["query", "against", one, two, three], rows) if rows else "None.\n"


def _slower(taken: Taken) -> list[list[str]]:
    """Return a row of the table for each ratio, of whole runs or of jobs alone, below 1."""
    ours = taken.ours
    if ours is None:
        return []
    return [
        [f"{speed(ours):,.0f}", f"{speed(ours) / ratio:,.0f}", f"{ratio:.2f}{what}"]
        for ratio, what in ((taken.ratio, ""), (taken.job_ratio, ", job only"))
        if ratio is not None and ratio < 1
    ]


def _later(found: Found) -> list[list[str]]:
    rows = []
    for name, peers in found.items():
        ours = peers.get("transom")
        if ours is None or not name.startswith("latency/"):
            continue
        for peer, taken in peers.items():
            known = taken.record is ours.record and peer not in OWN
            theirs = taken.measurement.figures if known else {}
            for centile in ("p50_ms", "p99_ms"):
                mine, other = ours.measurement.figures.get(centile), theirs.get(centile)
                if mine is not None and other is not None and mine > other:
                    label = centile.removesuffix("_ms")
                    rows += [[name, peer, label, f"{mine:,.0f} ms", f"{other:,.0f} ms"]]
    return rows


def _larger(taken: Taken) -> list[list[str]]:
    theirs, ours = taken.measurement, taken.ours
    # With fewer rows a peer has less state, so the sizes cannot be compared.
    if ours is None or taken.ratio is None or theirs.rows != ours.rows:
        return []
    sizes = [(label, largest(ours, name), largest(theirs, name)) for name, label in SIZES.items()]
    return [
        [label, megabytes(mine), megabytes(other)]
        for label, mine, other in sizes
        if mine is not None and other is not None and mine > other
    ]


SIZES = {
    "peak_memory_bytes": "peak memory",
    "state_bytes": "state",
    "checkpoint_bytes": "checkpoint",
}


def largest(measurement: Measurement, name: str) -> int | None:
    """Return the largest value of a field over all runs, or None if no run has a value."""
    return max((size for run in measurement.runs if (size := getattr(run, name))), default=None)


def speed(measurement: Measurement) -> float:
    """Return the rows of input a second, over whole runs."""
    return measurement.rows / measurement.seconds
