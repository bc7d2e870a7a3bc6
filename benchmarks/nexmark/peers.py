"""The peers that run Nexmark's queries, with their commands."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kafka.jars import flink_jars
from benchmarks.nexmark.data import FILES_PER_BATCH, KINDS
from benchmarks.nexmark.flink_sql import STATEMENTS
from benchmarks.nexmark.sources import MOST_POLLED, topic
from benchmarks.peers.compare import CORES
from benchmarks.peers.table import FLINK_PYTHON


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One query for one peer.

    Attributes
    ----------
    name : str
        Name of the query.
    input, work : Path
        The folder of the events, and the folder for the files of the job.
    brokers : str or None
        Addresses of Kafka brokers whose topics have the same events. If set, the job reads the
        topics instead of the files.
    write : bool
        Whether to write results to ``work/rows`` as Parquet. Otherwise they are discarded.
    """

    name: str
    input: Path
    work: Path
    brokers: str | None
    write: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One way to run queries.

    Attributes
    ----------
    command : callable
        Returns the command that runs a job and prints JSON: ``seconds``, and ``figures`` by name.
    state : str
        Path of the state on disk, within the folder of the job. The checkpoint is in
        ``checkpoint``.
    cannot : dict
        Names of queries that the peer cannot run, with the reason.
    has_results : bool
        Whether the peer runs the query. Otherwise it reads and parses the events, and does nothing
        with them.
    """

    command: Callable[[Job], list[str]]
    state: str
    cannot: dict[str, str]
    has_results: bool = True


def _spark(peer: str, cannot: dict[str, str] | None = None, *, has_results: bool = True) -> Peer:
    def command(job: Job) -> list[str]:
        module = [sys.executable, "-m", "benchmarks.nexmark.once", job.name, peer]
        brokers = [] if job.brokers is None else ["--brokers", job.brokers]
        write = ["--write"] if job.write else []
        return [*module, str(job.input), str(job.work), *brokers, *write]

    return Peer(
        command=command,
        state="checkpoint/state",
        cannot=cannot or {},
        has_results=has_results,
    )


def _flink(backend: str) -> Peer:
    def command(job: Job) -> list[str]:
        statement = STATEMENTS[job.name]
        arguments = {
            "input": str(job.input),
            "work": str(job.work),
            "brokers": job.brokers,
            "topics": {kind: topic(kind) for kind in KINDS},
            "most_polled": MOST_POLLED,
            "jars": [] if job.brokers is None else [str(jar) for jar in flink_jars()],
            "cores": CORES,
            "files_per_batch": FILES_PER_BATCH,
            "write": job.write,
            "backend": backend,
            "reads": statement.reads,
            "columns": statement.columns,
            "select": statement.select,
        }
        module = [str(FLINK_PYTHON), "-m", "benchmarks.nexmark.flink_once"]
        return ["env", "JVM_ARGS=-Xmx4g", *module, json.dumps(arguments)]

    return Peer(command=command, state="state", cannot={"q12": NO_END})


NO_CLOCK = (
    "Spark has no windows in processing time: those over current_timestamp() close only when rows "
    "come after their end"
)
NO_END = "Flink fires no windows in processing time when its input ends: the last ones are lost"
PEERS = {
    "transom": _spark("transom"),
    "native": _spark("native", cannot={"q12": NO_CLOCK}),
    "read-only": _spark("read-only", has_results=False),
    "flink-heap": _flink("hashmap"),
    "flink-rocksdb": _flink("rocksdb"),
}
