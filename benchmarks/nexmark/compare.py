"""Measures one query of Nexmark: first what each peer computes, then, in turn, how fast."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.nexmark.data import rows
from benchmarks.nexmark.digest import digest
from benchmarks.nexmark.peers import PEERS, Job
from benchmarks.nexmark.queries import QUERIES
from benchmarks.peers.compare import CORES
from benchmarks.peers.processes import FailedError, Watched, run
from benchmarks.record import Measurement, Run

# Whose results the others' must equal.
REFERENCE = "transom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure.

    Attributes
    ----------
    input, work : Path
        Where the events are, and where runs may leave what they like.
    brokers : str or None
        Where topics with the same events are, which are then read instead of the files.
    repeats : int
        Timed runs of each peer.
    limit : float
        Seconds after which a run is given up.
    """

    input: Path
    work: Path
    brokers: str | None
    repeats: int
    limit: float


def compare(
    name: str, peers: Sequence[str], settings: Settings, keep: Callable[[Measurement], None]
) -> Iterable[Measurement]:
    """Measure a query with the peers; `keep` gets each state of things.

    One that fails, or whose results are not those of transom, gets no times; the others go on.
    """
    measured = {}
    expected = _checked(name, REFERENCE, settings)
    for peer in peers:
        own = expected if peer == REFERENCE else _checked(name, peer, settings)
        if own.failed is None and own.digest != expected.digest:
            differs = f"its {own.result_rows} results differ from {REFERENCE}'s"
            own = replace(own, failed=f"{differs} {expected.result_rows}")
        measured[peer] = own
        keep(own)
    for _ in range(settings.repeats):
        for peer in peers:
            if measured[peer].failed is None:
                measured[peer] = _timed(name, measured[peer], settings)
                keep(measured[peer])
    return measured.values()


def _checked(name: str, peer: str, settings: Settings) -> Measurement:
    """A measurement without times yet: what the results are."""
    query = QUERIES[name]
    measurement = Measurement(
        query=name if settings.brokers is None else f"{name}-kafka",
        peer=peer,
        rows=sum(rows(settings.input, kind) for kind in query.kinds),
        parameters={
            "source": "parquet" if settings.brokers is None else "kafka",
            "cores": CORES,
        },
    )
    if name in PEERS[peer].cannot:
        return replace(measurement, failed=PEERS[peer].cannot[name])
    try:
        with _folder(name, peer, settings) as work:
            _run(name, peer, settings, work, Watched({}), write=True)
            result_rows, hashed = digest(work / "rows", query)
    except FailedError as error:
        return replace(measurement, failed=str(error))
    return replace(measurement, result_rows=result_rows, digest=hashed)


def _timed(name: str, measurement: Measurement, settings: Settings) -> Measurement:
    peer = measurement.peer
    with _folder(name, peer, settings) as work:
        folders = {"checkpoint": work / "checkpoint", "state": work / PEERS[peer].state}
        watched = Watched(folders)
        try:
            printed = _run(name, peer, settings, work, watched, write=False)
        except FailedError as error:
            return replace(measurement, runs=(), failed=str(error))
    timed = Run(
        seconds=printed["seconds"],
        peak_memory_bytes=watched.memory_bytes,
        state_bytes=watched.disk_bytes.get("state"),
        checkpoint_bytes=watched.disk_bytes.get("checkpoint"),
    )
    return replace(
        measurement,
        runs=(*measurement.runs, timed),
        figures=measurement.figures | printed.get("figures", {}),
    )


def _run(
    name: str, peer: str, settings: Settings, work: Path, watched: Watched, *, write: bool
) -> dict[str, Any]:
    job = Job(name=name, input=settings.input, work=work, brokers=settings.brokers, write=write)
    printed = run(PEERS[peer].command(job), settings.limit, work, watched)
    outcome: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return outcome


@contextlib.contextmanager
def _folder(name: str, peer: str, settings: Settings) -> Iterator[Path]:
    work = Path(tempfile.mkdtemp(prefix=f"{name}-{peer}-", dir=settings.work))
    try:
        yield work
    finally:
        shutil.rmtree(work)
