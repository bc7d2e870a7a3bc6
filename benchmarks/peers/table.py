"""The peers by name, with the queries that they support and their commands."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transom
from benchmarks.peers import flink_sql
from benchmarks.queries.catalogue import QUERIES, TOTALS, Query

# PyFlink needs libraries in versions that PySpark does not support.
FLINK_PYTHON = Path(".venv-flink/bin/python")
# Flink's Python workers run in their own processes, not in the process that waits.
WORKERS = "_python_worker_execution_mode=process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One query for one peer.

    Attributes
    ----------
    name : str
        Name of the query.
    input, work : Path
        The folder of the rows, and the folder for the files of the job.
    files_per_batch : int
        Number of files with the rows of a batch.
    cores : int
        Number of cores that the job may use.
    heap_gb : int
        Heap of the JVM.
    write : bool
        Whether to write results to ``work/rows`` as Parquet. Otherwise they are discarded.
    """

    name: str
    input: Path
    work: Path
    files_per_batch: int
    cores: int
    heap_gb: int
    write: bool

    @property
    def query(self) -> Query:
        """The query of this name."""
        return QUERIES[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One way to run a query.

    Attributes
    ----------
    takes : callable
        Returns whether the peer supports a query.
    command : callable
        Returns the command that runs a job and prints JSON: ``seconds``, and ``figures`` by name.
    share : int
        The peer gets one row in this many, and rows a second are compared.
    state : str or None
        Path of the state on disk, within the folder of the job. The checkpoint is in
        ``checkpoint``.
    least_cores : int
        Least number of cores with which the peer can run.
    has_results : bool
        Whether the peer computes the results of the query.
    window_id : str or None
        Id of the window that the peer computes, of several. Its results are compared with the rows
        of this window. None computes all windows.
    at_rows : bool
        Whether the peer computes the results at the times of rows alone. They are compared with the
        rows at these times.
    """

    takes: Callable[[Query], bool]
    command: Callable[[Job], list[str]]
    share: int = 1
    state: str | None = "checkpoint/state"
    least_cores: int = 1
    has_results: bool = True
    window_id: str | None = None
    at_rows: bool = False


def flink_version(peers: Iterable[str]) -> dict[str, str]:
    """Return the version of Flink for a record, if one of the peers is Flink."""
    if not any("flink" in peer for peer in peers):
        return {}
    program = "from importlib.metadata import version; print(version('apache-flink'))"
    command = [str(FLINK_PYTHON), "-c", program]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {"flink": printed.strip()}


def _spark(peer: str, takes: Callable[[Query], bool], *, share: int = 1, **special: Any) -> Peer:
    def command(job: Job) -> list[str]:
        module = [sys.executable, "-m", "benchmarks.peers.spark_once", job.name, peer]
        options = ["--files", str(job.files_per_batch), "--cores", str(job.cores)]
        options += ["--heap", str(job.heap_gb)]
        options += ["--write"] if job.write else []
        return [*module, str(job.input), str(job.work), *options]

    return Peer(takes=takes, command=command, share=share, **special)


def _flink(
    backend: str,
    takes: Callable[[Query], bool],
    *,
    module: str = "flink_once",
    **special: Any,
) -> Peer:
    def command(job: Job) -> list[str]:
        arguments = {
            "input": str(job.input),
            "work": str(job.work),
            "cores": job.cores,
            "heap_gb": job.heap_gb,
            "files_per_batch": job.files_per_batch,
            "write": job.write,
            "backend": backend,
            "reads": {"k": flink_sql.key_type(job.query), "ts": "BIGINT", "v": "DOUBLE"},
            "columns": flink_sql.columns(job.query),
            "select": flink_sql.select(job.query),
            "window": job.query.parameters,
        }
        python = [str(FLINK_PYTHON), "-m", f"benchmarks.peers.{module}"]
        return ["env", f"JVM_ARGS=-Xmx{job.heap_gb}g", WORKERS, *python, json.dumps(arguments)]

    # Flink needs a core for each file of a batch to keep the order of rows, see flink_source.
    return Peer(takes=takes, command=command, state="state", least_cores=2, **special)


def _plain(query: Query) -> bool:
    return query.plain


def _by_hand(query: Query) -> bool:
    return (
        not query.function
        and not query.late_rows
        and query.policy is None
        and query.lifetime is None
        and not query.windows
        and query.aggregates == TOTALS
    )


def _on_static_rows(query: Query) -> bool:
    windows_of_spark = query.plain or bool(query.windows) or query.lifetime is not None
    return windows_of_spark and not query.late_rows and not query.small_batches


def _in_flink(query: Query) -> bool:
    return query.plain and not query.small_batches and query.policy is None


def _is_rolling(query: Query) -> bool:
    return isinstance(query.window, transom.Rolling)


def _in_pyflink(query: Query) -> bool:
    return _in_flink(query) and _by_hand(query)


def _in_connect(query: Query) -> bool:
    return query.plain and not query.late_rows and query.policy is None


def _has_policy(query: Query) -> bool:
    return query.policy is not None


def _has_substreams(query: Query) -> bool:
    return query.policy is not None and bool(query.policy.over)


def _has_windows(query: Query) -> bool:
    return bool(query.windows)


def _is_function(query: Query) -> bool:
    return query.function and isinstance(query.window, transom.Session)


PEERS = {
    "transom": _spark("transom", lambda _: True),
    "connect": _spark("connect", _in_connect),
    "event-time": _spark("event-time", _has_policy),
    "one-watermark": _spark("one-watermark", _has_substreams),
    "one-minute": _spark("one-minute", _has_windows, window_id="minute"),
    "three-queries": _spark("three-queries", _has_windows, state=None),
    "native": _spark("native", _plain),
    "python": _spark("python", _by_hand, share=10),
    "applyInPandas": _spark("applyInPandas", _is_function, share=10),
    "flink-heap": _flink("hashmap", _in_flink),
    "flink-rocksdb": _flink("rocksdb", _in_flink),
    "flink-over-heap": _flink("hashmap", _is_rolling, at_rows=True),
    "flink-over-rocksdb": _flink("rocksdb", _is_rolling, at_rows=True),
    "pyflink": _flink("rocksdb", _in_pyflink, module="pyflink_once", share=10),
    "pass-through": _spark("pass-through", _plain, has_results=False),
    "batch": _spark("batch", _on_static_rows),
}
