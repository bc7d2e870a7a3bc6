"""Measures one query of the catalogue with several peers."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.peers.digest import digest, digest_at_rows
from benchmarks.peers.table import PEERS, Job
from benchmarks.peers.turns import REFERENCE, Entrant, Turns
from benchmarks.queries.catalogue import QUERIES
from benchmarks.record import Measurement

# The defaults. The name of a query contains other numbers.
CORES = 2
HEAP_GB = 4
BUILD = Path("build/bench")
WORK = BUILD / "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a measurement.

    Attributes
    ----------
    rows : int
        Rows of input.
    repeats : int
        Timed runs of each peer.
    limit : float
        Seconds after which a run is aborted.
    cores : int
        Cores that each peer may use.
    files_per_batch : int
        Number of files with the rows of a batch.
    heap_gb : int
        Heap of each peer's JVM.
    """

    rows: int
    repeats: int
    limit: float
    cores: int
    files_per_batch: int
    heap_gb: int = HEAP_GB


def clear() -> None:
    """Remove the files of killed runs."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)


def compare(
    name: str, peers: Sequence[str], settings: Settings, keep: Callable[[Measurement], None]
) -> dict[str, Measurement]:
    """Measure a query with all peers that support it, and pass each state to `keep`."""
    entrants = [
        entrant_of(name, peer, settings)
        for peer in peers
        if PEERS[peer].takes(QUERIES[name]) and settings.cores >= PEERS[peer].least_cores
    ]
    references = {
        entrant.blank.rows: _entrant(
            name, REFERENCE, rows_of(name, entrant.blank.peer, settings.rows), settings
        )
        for entrant in entrants
    }
    turns = Turns(repeats=settings.repeats, limit=settings.limit, work=WORK, keep=keep)
    return turns.take(entrants, references)


def rows_of(name: str, peer: str, rows: int) -> int:
    """Return the number of input rows of a peer: its share, or the limit of the query for all."""
    limit = QUERIES[name].row_limit
    return rows // PEERS[peer].share if limit is None else min(rows, limit)


def entrant_of(name: str, peer: str, settings: Settings) -> Entrant:
    """Return a peer with a query and its number of rows."""
    return _entrant(name, peer, rows_of(name, peer, settings.rows), settings)


def _entrant(name: str, peer: str, rows: int, settings: Settings) -> Entrant:
    query = QUERIES[name]
    given = query.input(rows, settings.files_per_batch)

    def command(work: Path, *, write: bool) -> list[str]:
        job = Job(
            name=name,
            input=given.make(BUILD).absolute(),
            work=work,
            files_per_batch=settings.files_per_batch,
            cores=settings.cores,
            heap_gb=settings.heap_gb,
            write=write,
        )
        return PEERS[peer].command(job)

    window_id = PEERS[peer].window_id
    compared: Callable[[Path], tuple[int, str]] = digest
    reference = None
    if window_id is not None:
        part = partial(digest, window_id=window_id)
        reference = replace(_entrant(name, REFERENCE, rows, settings), digest=part)
    if PEERS[peer].at_rows:
        compared = partial(digest_at_rows, given.make(BUILD))
        reference = replace(_entrant(name, REFERENCE, rows, settings), digest=compared)

    # Names and parameters contain the settings that differ from the defaults.
    cores = "" if settings.cores == CORES else f"-{settings.cores}-core"
    heap = "" if settings.heap_gb == HEAP_GB else f"-{settings.heap_gb}-gb-heap"
    return Entrant(
        blank=Measurement(
            query=f"{name}{cores}{heap}",
            peer=peer,
            rows=given.size,
            parameters=query.parameters
            | {"cores": settings.cores}
            | ({"heap_gb": settings.heap_gb} if heap else {}),
        ),
        command=command,
        digest=compared if PEERS[peer].has_results else None,
        state=PEERS[peer].state,
        reference=reference,
    )
