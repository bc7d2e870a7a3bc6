"""The peers, by name: what they are asked, and how each is started."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import transom
from benchmarks.peers import flink_sql
from benchmarks.queries.catalogue import QUERIES, TOTALS, Query

# PyFlink needs libraries in versions that PySpark does not take.
FLINK_PYTHON = Path(".venv-flink/bin/python")
# Flink's Python workers are processes of their own, not all in the one that waits.
WORKERS = "_python_worker_execution_mode=process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One query for one peer.

    Attributes
    ----------
    name : str
        Of the query.
    input, work : Path
        Where its rows are, and where it may leave what it likes.
    files_per_batch : int
        In how many of the files each batch of rows is.
    cores : int
        Cores it may use.
    heap_gb : int
        Heap of its JVM.
    write : bool
        Results go to ``work/rows``, as Parquet, instead of nowhere.
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
        """What is asked."""
        return QUERIES[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One way to run a query.

    Attributes
    ----------
    takes : callable
        Whether a query can be asked of it.
    command : callable
        What runs a job and prints JSON: ``seconds``, and ``figures`` by name.
    share : int
        It gets one row in so many, and rows a second are compared.
    state : str or None
        Where below its folder its state lies on disk; its checkpoint is in ``checkpoint``.
    least_cores : int
        With fewer it cannot run.
    has_results : bool
        Whether it computes what was asked.
    """

    takes: Callable[[Query], bool]
    command: Callable[[Job], list[str]]
    share: int = 1
    state: str | None = "checkpoint/state"
    least_cores: int = 1
    has_results: bool = True


def flink_version(peers: Iterable[str]) -> dict[str, str]:
    """The version of Flink, for a record, if any of the peers needs it."""
    if not any("flink" in peer for peer in peers):
        return {}
    asked = "from importlib.metadata import version; print(version('apache-flink'))"
    command = [str(FLINK_PYTHON), "-c", asked]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {"flink": printed.strip()}


def _spark(
    peer: str, takes: Callable[[Query], bool], *, share: int = 1, has_results: bool = True
) -> Peer:
    def command(job: Job) -> list[str]:
        module = [sys.executable, "-m", "benchmarks.peers.spark_once", job.name, peer]
        options = ["--files", str(job.files_per_batch), "--cores", str(job.cores)]
        options += ["--heap", str(job.heap_gb)]
        options += ["--write"] if job.write else []
        return [*module, str(job.input), str(job.work), *options]

    return Peer(takes=takes, command=command, share=share, has_results=has_results)


def _flink(backend: str, module: str = "flink_once", share: int = 1) -> Peer:
    def command(job: Job) -> list[str]:
        told = {
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
        return ["env", f"JVM_ARGS=-Xmx{job.heap_gb}g", WORKERS, *python, json.dumps(told)]

    takes = _in_flink if module == "flink_once" else _in_pyflink
    # One for each file of a batch: its readers keep the order of rows, see flink_source.
    return Peer(takes=takes, command=command, share=share, state="state", least_cores=2)


def _plain(query: Query) -> bool:
    return query.plain


def _by_hand(query: Query) -> bool:
    return not query.function and not query.late_rows and query.aggregates == TOTALS


def _on_static_rows(query: Query) -> bool:
    return query.plain and not query.late_rows and not query.small_batches


def _in_flink(query: Query) -> bool:
    return query.plain and not query.small_batches


def _in_pyflink(query: Query) -> bool:
    return _in_flink(query) and _by_hand(query)


def _is_function(query: Query) -> bool:
    return query.function and isinstance(query.window, transom.Session)


PEERS = {
    "transom": _spark("transom", lambda _: True),
    "native": _spark("native", _plain),
    "python": _spark("python", _by_hand, share=10),
    "applyInPandas": _spark("applyInPandas", _is_function, share=10),
    "flink-heap": _flink("hashmap"),
    "flink-rocksdb": _flink("rocksdb"),
    "pyflink": _flink("rocksdb", "pyflink_once", share=10),
    "pass-through": _spark("pass-through", _plain, has_results=False),
    "batch": _spark("batch", _on_static_rows),
}
