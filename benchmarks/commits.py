"""Compares the speed of two commits of transom: ``make bench-commits``.

``python -m benchmarks.commits BEFORE AFTER [--query a,b]``. Each commit is built in a git worktree
of its own under ``build``. For each query both commits first write their rows once, and the rows
must be the same. Then the commits run in fresh processes: before, after, after, before, and so on.
A machine that becomes slower or faster meanwhile favours neither commit. A run uses the jar and the
Python package of a commit. The harness and the input come from the current tree.

``latency`` is the time from a window's end to its result, see `benchmarks.latency`: the median of
the windows of a run. ``latency-policy`` is the same with a time policy.

The environment variables of `benchmarks.peers` apply, but ``BENCH_REPEATS`` is 7 by default. The
exit code is 1 if a query became slower.
"""

import argparse
import json
import math
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, Self

from benchmarks import latency
from benchmarks.markdown import table
from benchmarks.peers.__main__ import chosen, settings
from benchmarks.peers.compare import BUILD, WORK, Settings, clear, entrant_of
from benchmarks.peers.processes import end_on_signal
from benchmarks.peers.turns import EmptyResultsError, Entrant, Turns
from benchmarks.queries.catalogue import QUERIES
from benchmarks.record import Measurement

TURNS = 7
LEAST = 0.05
WORKTREES = Path("build/commits")
# The plain queries of ``make bench``, with the layout that transom chooses.
PLAIN = [name for name, q in QUERIES.items() if "native" in q.compared and q.layout == "auto"]
# The peer of `benchmarks.latency` for each name.
LATENCIES = {"latency": "transom", "latency-policy": "transom-policy"}
# One query at least for each way that a row goes.
NAMES = [*PLAIN, "time-stage", "substreams", "rolling", "several-windows", *LATENCIES]
# Windows of a second in a run that measures the latency.
LATENCY_WINDOWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The times of one query before and after.

    Attributes
    ----------
    query : str
        Name of the query.
    before, after : float
        Median seconds.
    noise : float
        Possible error of the ratio of the medians, as a share.
    """

    query: str
    before: float
    after: float
    noise: float

    @classmethod
    def of(cls, query: str, before: Sequence[float], after: Sequence[float]) -> Self:
        """Compare the seconds of all turns."""
        return cls(
            query=query,
            before=statistics.median(before),
            after=statistics.median(after),
            noise=math.hypot(noise(before), noise(after)),
        )

    @property
    def ratio(self) -> float:
        """The time after, divided by the time before."""
        return self.after / self.before

    @property
    def verdict(self) -> Literal["slower", "faster", "same"]:
        """Whether the change exceeds 5 % and twice the noise."""
        if abs(self.ratio - 1) <= max(LEAST, 2 * self.noise):
            return "same"
        return "slower" if self.ratio > 1 else "faster"

    @property
    def cells(self) -> list[str]:
        """The row of the table for this query."""
        seconds = [f"{self.before:.2f} s", f"{self.after:.2f} s"]
        return [self.query, *seconds, f"{self.ratio:.3f}", f"{self.noise:.1%}", self.verdict]


def noise(seconds: Sequence[float]) -> float:
    """Half of the interquartile range, as a share of the median.

    A single slow turn does not widen this range, but would widen the full range.
    """
    if len(seconds) < 2:
        return 0.0
    first, median, third = statistics.quantiles(seconds, n=4, method="inclusive")
    return (third - first) / 2 / median


def built(commit: str) -> Path:
    """Return the worktree of a commit, with the jar in its Python package."""
    full = _printed("git", "rev-parse", "--verify", f"{commit}^{{commit}}")
    worktree = (WORKTREES / full[:12]).absolute()
    if not worktree.exists():
        # Git still lists a worktree whose folder was removed, and needs --force to add it again.
        _printed("git", "worktree", "add", "--quiet", "--force", "--detach", str(worktree), full)
    subprocess.run(["make", "--no-print-directory", "-C", str(worktree), "jar"], check=True)
    return worktree


def compare(name: str, worktrees: Mapping[str, Path], how: Settings) -> dict[str, Measurement]:
    """Measure a query with both commits, by the names ``before`` and ``after``."""
    entrants = [_entrant(name, side, worktree, how) for side, worktree in worktrees.items()]
    before = entrants[0]
    turns = Turns(
        repeats=how.repeats,
        limit=how.limit,
        work=WORK,
        keep=lambda _: None,
        reference=before.blank.peer,
        mirrored=True,
    )
    return turns.take(entrants, {before.blank.rows: before})


def compare_latency(name: str, worktrees: Mapping[str, Path], repeats: int) -> Comparison:
    """Measure the latency with both commits, in turn. The times are in seconds."""
    peer = LATENCIES[name]
    seconds: dict[str, list[float]] = {side: [] for side in worktrees}
    for turn in range(repeats):
        for side in list(worktrees)[:: -1 if turn % 2 else 1]:
            command = [*_package(worktrees[side]), *latency.PEERS[peer]]
            taken = latency.measure(peer, LATENCY_WINDOWS, command)
            if taken.failed is not None:
                raise SystemExit(f"{name}: the commit {side} failed, {taken.failed}")
            seconds[side].append(taken.figures["p50_ms"] / 1_000)
    return Comparison.of(name, **seconds)


def _package(worktree: Path) -> list[str]:
    return ["env", f"PYTHONPATH={worktree / 'python'}"]


def _entrant(name: str, side: str, worktree: Path, how: Settings) -> Entrant:
    ours = entrant_of(name, "transom", how)

    def command(work: Path, *, write: bool) -> list[str]:
        return [*_package(worktree), *ours.command(work, write=write)]

    return replace(ours, blank=replace(ours.blank, peer=side), command=command)


def _printed(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> None:
    """Compare two commits by the queries on the command line, or by those of `NAMES`."""
    parser = argparse.ArgumentParser(prog="benchmarks.commits", description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    known = [*QUERIES, *LATENCIES]
    parser.add_argument("--query", default="", help=", ".join(known))
    given = parser.parse_args()
    names = chosen(given.query or ",".join(NAMES), known)
    worktrees = {"before": built(given.before), "after": built(given.after)}
    how = settings(files_per_batch=1, repeats=TURNS)
    end_on_signal()
    clear()
    results = BUILD / "results"
    results.mkdir(exist_ok=True)
    compared: list[Comparison] = []
    for name in names:
        if name in LATENCIES:
            compared.append(compare_latency(name, worktrees, how.repeats))
            print(" ".join(compared[-1].cells), flush=True)
            continue
        try:
            sides = compare(name, worktrees, how)
        except EmptyResultsError as error:
            raise SystemExit(str(error)) from None
        for side, measurement in sides.items():
            if measurement.failed is not None:
                raise SystemExit(f"{name}: the commit {side} failed, {measurement.failed}")
        kept = {side: asdict(measurement) for side, measurement in sides.items()}
        (results / f"{name}-commits.json").write_text(json.dumps(kept, indent=2) + "\n")
        seconds = {side: [run.seconds for run in one.runs] for side, one in sides.items()}
        compared.append(Comparison.of(name, **seconds))
        print(" ".join(compared[-1].cells), flush=True)
    commits = [f"{side} ({worktree.name})" for side, worktree in worktrees.items()]
    print(
        "\n" + table(["query", *commits, "ratio", "noise", "verdict"], [c.cells for c in compared])
    )
    raise SystemExit(any(one.verdict == "slower" for one in compared))


if __name__ == "__main__":
    main()
