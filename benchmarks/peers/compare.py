"""Measures one query with several peers: first what they compute, then, in turn, how fast."""

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.digest import digest
from benchmarks.peers.processes import FailedError, Watched, run
from benchmarks.peers.table import PEERS, Job
from benchmarks.queries.catalogue import QUERIES
from benchmarks.record import Measurement, Run

# Where no number is asked for; others are named with the query.
CORES = 2
BUILD = Path("build/bench")
WORK = BUILD / "work"
# Whose results the others' must equal.
REFERENCE = "transom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure.

    Attributes
    ----------
    rows : int
        Rows of input.
    repeats : int
        Timed runs of each peer.
    limit : float
        Seconds after which a run is given up.
    cores : int
        Cores that each peer may use.
    files_per_batch : int
        In how many files a batch of rows is.
    """

    rows: int
    repeats: int
    limit: float
    cores: int
    files_per_batch: int


def clear() -> None:
    """Remove what a run that was killed left behind."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)


def compare(
    name: str, peers: Sequence[str], settings: Settings, keep: Callable[[Measurement], None]
) -> dict[str, Measurement]:
    """Measure a query with all of the peers that take it; `keep` gets each state of things.

    One that fails, or whose results are not those of transom, gets no times; the others go on.
    """
    taking = [
        peer
        for peer in peers
        if PEERS[peer].takes(QUERIES[name]) and settings.cores >= PEERS[peer].least_cores
    ]
    expected: dict[int, tuple[int, str]] = {}
    measured = {}
    for peer in taking:
        measured[peer] = _checked(name, peer, settings, expected)
        keep(measured[peer])
    for _ in range(settings.repeats):
        for peer in taking:
            if measured[peer].failed is None:
                measured[peer] = _timed(name, measured[peer], settings)
                keep(measured[peer])
    return measured


def _checked(
    name: str, peer: str, settings: Settings, expected: dict[int, tuple[int, str]]
) -> Measurement:
    """A measurement without times yet: whether the results are right."""
    query = QUERIES[name]
    rows = settings.rows // PEERS[peer].share
    measurement = Measurement(
        query=name if settings.cores == CORES else f"{name}-{settings.cores}-core",
        peer=peer,
        rows=query.input(rows, settings.files_per_batch).size,
        parameters=query.parameters | {"cores": settings.cores},
    )
    if not PEERS[peer].has_results:
        return measurement
    try:
        if rows not in expected:
            expected[rows] = _results(name, REFERENCE, rows, settings)
        result_rows, hashed = (
            expected[rows] if peer == REFERENCE else _results(name, peer, rows, settings)
        )
    except FailedError as error:
        return replace(measurement, failed=str(error))
    differs = f"its {result_rows} results differ from {REFERENCE}'s {expected[rows][0]}"
    return replace(
        measurement,
        result_rows=result_rows,
        digest=hashed,
        failed=differs if (result_rows, hashed) != expected[rows] else None,
    )


def _results(name: str, peer: str, rows: int, settings: Settings) -> tuple[int, str]:
    work = Path(tempfile.mkdtemp(prefix=f"{name}-{peer}-", dir=WORK)).absolute()
    try:
        _run(name, peer, rows, settings, work, Watched({}), write=True)
        return digest(work / "rows")
    finally:
        shutil.rmtree(work)


def _timed(name: str, measurement: Measurement, settings: Settings) -> Measurement:
    peer = measurement.peer
    work = Path(tempfile.mkdtemp(prefix=f"{name}-{peer}-", dir=WORK)).absolute()
    state = PEERS[peer].state
    folders = {"checkpoint": work / "checkpoint"} | ({"state": work / state} if state else {})
    watched = Watched(folders)
    try:
        rows = settings.rows // PEERS[peer].share
        printed = _run(name, peer, rows, settings, work, watched, write=False)
    except FailedError as error:
        return replace(measurement, runs=(), failed=str(error))
    finally:
        shutil.rmtree(work)
    timed = Run(
        seconds=printed["seconds"],
        peak_memory_bytes=watched.memory_bytes,
        state_bytes=watched.disk_bytes.get("state"),
        checkpoint_bytes=watched.disk_bytes.get("checkpoint"),
    )
    return replace(
        measurement,
        runs=(*measurement.runs, timed),
        # Of its last run.
        figures=printed["figures"],
    )


def _run(
    name: str,
    peer: str,
    rows: int,
    settings: Settings,
    work: Path,
    watched: Watched,
    *,
    write: bool,
) -> dict[str, Any]:
    files = settings.files_per_batch
    folder = QUERIES[name].input(rows, files).make(BUILD).absolute()
    job = Job(
        name=name,
        input=folder,
        work=work,
        files_per_batch=files,
        cores=settings.cores,
        write=write,
    )
    printed = run(PEERS[peer].command(job), settings.limit, work, watched)
    outcome: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return outcome
