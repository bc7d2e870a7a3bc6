"""Measures one query of Nexmark with several peers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.nexmark.data import rows
from benchmarks.nexmark.digest import digest
from benchmarks.nexmark.peers import PEERS, Job
from benchmarks.nexmark.queries import QUERIES
from benchmarks.peers.compare import CORES
from benchmarks.peers.turns import REFERENCE, Entrant, Turns
from benchmarks.record import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a measurement.

    Attributes
    ----------
    input, work : Path
        The folder of the events, and the folder for the files of runs.
    brokers : str or None
        Addresses of Kafka brokers whose topics have the same events. If set, the peers read the
        topics instead of the files.
    repeats : int
        Timed runs of each peer.
    limit : float
        Seconds after which a run is aborted.
    """

    input: Path
    work: Path
    brokers: str | None
    repeats: int
    limit: float


def compare(
    name: str, peers: Sequence[str], settings: Settings, keep: Callable[[Measurement], None]
) -> dict[str, Measurement]:
    """Measure a query with the peers, and pass each state of a measurement to `keep`."""
    reference = _entrant(name, REFERENCE, settings)
    turns = Turns(repeats=settings.repeats, limit=settings.limit, work=settings.work, keep=keep)
    return turns.take(
        [_entrant(name, peer, settings) for peer in peers], {reference.blank.rows: reference}
    )


def _entrant(name: str, peer: str, settings: Settings) -> Entrant:
    query = QUERIES[name]

    def command(work: Path, *, write: bool) -> list[str]:
        job = Job(name=name, input=settings.input, work=work, brokers=settings.brokers, write=write)
        return PEERS[peer].command(job)

    return Entrant(
        blank=Measurement(
            query=name if settings.brokers is None else f"{name}-kafka",
            peer=peer,
            rows=sum(rows(settings.input, kind) for kind in query.kinds),
            parameters={
                "source": "parquet" if settings.brokers is None else "kafka",
                "cores": CORES,
            },
            failed=PEERS[peer].cannot.get(name),
        ),
        command=command,
        digest=partial(digest, query=query) if PEERS[peer].has_results else None,
        state=PEERS[peer].state,
    )
