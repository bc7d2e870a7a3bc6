"""Records of benchmarks: the measurements, and the conditions under which they were taken.

Each run of the benchmarks writes a file, ``benchmarks/results/<machine>/<taken>.json``. Reports and
comparisons read these files, so nothing is measured twice.
"""

import json
import os
import platform
import re
import statistics
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pyspark

import transom

# Trial runs write their record to another folder.
RESULTS = Path(os.environ.get("BENCH_RESULTS", Path(__file__).parent / "results"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One timed run, in fresh processes.

    Attributes
    ----------
    seconds : float
        From the start of the query to its end. Flink starts its cluster in this time.
    job_seconds : float or None
        The time of Flink's job alone, without the start of its cluster. None for peers on Spark,
        because their session starts before the query.
    peak_memory_bytes : int or None
        The highest sum of the resident memory of all processes of the run.
    state_bytes, checkpoint_bytes : int or None
        The largest size of the state and of the whole checkpoint on disk. None if there is none.
    """

    seconds: float
    job_seconds: float | None = None
    peak_memory_bytes: int | None = None
    state_bytes: int | None = None
    checkpoint_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One query, as one peer ran it.

    Attributes
    ----------
    query, peer : str
        Their names, as on the command line. A record has each pair once. Peers are ``transom``,
        ``native``, ``python``, ``flink-heap``, ``flink-rocksdb``, ``pyflink``, and the limits
        ``pass-through``, ``read-only`` and ``batch``.
    rows : int
        Rows of input.
    parameters : dict
        Parameters of the query, such as ``keys``, ``overlap`` and ``cores``. Queries that are
        points of one line share their ``shape``, such as ``tumbling``, and differ in one other
        parameter.
    result_rows : int or None
        Rows of result.
    digest : str or None
        Hash of the sorted result. All measurements of one query and input must have the same hash.
        None if the peer computes no results, or a part of them.
    runs : tuple of Run
        All timed runs, in their order.
    figures : dict
        Figures other than the times of runs: percentiles of a latency in milliseconds, JMH scores.
    failed : str or None
        The reason why there is no time, such as the limit that was exceeded.
    given_up_after : float or None
        The exceeded limit, in seconds. The limit includes the start of the processes.
    """

    query: str
    peer: str
    rows: int
    parameters: dict[str, Any] = field(default_factory=dict)
    result_rows: int | None = None
    digest: str | None = None
    runs: tuple[Run, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    failed: str | None = None
    given_up_after: float | None = None

    @property
    def seconds(self) -> float:
        """The median time of the runs. There must be at least one run."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def job_seconds(self) -> float | None:
        """The median time of Flink's job alone, if every run has that time.

        Early records kept the job's time of the last run only, among the figures.
        """
        taken = [run.job_seconds for run in self.runs if run.job_seconds is not None]
        if taken and len(taken) == len(self.runs):
            return statistics.median(taken)
        return self.figures.get("job_seconds") if self.runs else None

    @property
    def noise(self) -> float:
        """Half of the difference of the slowest and the fastest run, as a share of the median."""
        taken = [run.seconds for run in self.runs]
        return (max(taken) - min(taken)) / 2 / self.seconds

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Return the measurement of the values that JSON holds."""
        return cls(**given | {"runs": tuple(Run(**run) for run in given["runs"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All measurements of one run of the benchmarks.

    Attributes
    ----------
    taken : str
        The time of the start, in ISO 8601, UTC.
    commit : str
        The measured commit, with the suffix ``-dirty`` if files had been changed.
    machine, versions : dict
        The machine, and the versions of the software.
    measurements : list of Measurement
        Grows during the run.
    """

    taken: str
    commit: str
    machine: dict[str, Any]
    versions: dict[str, str]
    measurements: list[Measurement] = field(default_factory=list)

    @classmethod
    def begin(cls, **versions: str) -> Self:
        """Start a record of this machine and commit, with additional versions."""
        return cls(
            taken=datetime.now(UTC).isoformat(timespec="seconds"),
            commit=_printed("git", "describe", "--always", "--dirty", "--abbrev=12"),
            machine=machine(),
            versions={
                "python": platform.python_version(),
                "java": _java(),
                "spark": pyspark.__version__,
                "transom": transom.__version__,
                **versions,
            },
        )

    def find(self, query: str, peer: str) -> Measurement | None:
        """Return the last measurement of a query and peer, or None."""
        found = [one for one in self.measurements if (one.query, one.peer) == (query, peer)]
        return found[-1] if found else None

    @property
    def path(self) -> Path:
        """The path of the file of the record."""
        machine: str = self.machine["name"]
        return RESULTS / machine / f"{re.sub('[^0-9T]', '', self.taken[:19])}.json"

    def put(self, measurement: Measurement) -> None:
        """Add a measurement, or replace the measurement of the same query and peer, and save."""
        about = (measurement.query, measurement.peer)
        others = [one for one in self.measurements if (one.query, one.peer) != about]
        self.measurements[:] = [*others, measurement]
        self.save()

    def save(self) -> Path:
        """Write all measurements so far, so that an aborted run keeps them."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(self.text)
        return self.path

    @property
    def text(self) -> str:
        """The text of the file of the record."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a record from its file."""
        given = json.loads(path.read_text())
        return cls(
            **given | {"measurements": [Measurement.of(one) for one in given["measurements"]]}
        )


def records(machine: str, results: Path = RESULTS) -> list[Record]:
    """Return all records of a machine, the oldest first."""
    found = [Record.load(path) for path in (results / machine).glob("*.json")]
    return sorted(found, key=lambda record: record.taken)


def machine() -> dict[str, Any]:
    """Describe this machine, with the name of the folder of its records."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    model = _cpu()
    words = re.findall("[a-z0-9]+", re.sub(r"\(r\)|\(tm\)|cpu|processor|@.*", "", model.lower()))
    return {
        "name": "-".join([*words, f"{cores}-cores", f"{round(memory / 2**30)}-gib"]),
        "cpu": model,
        "cores": cores,
        "memory_bytes": memory,
        "system": f"{platform.system()} {platform.release()}",
    }


def _cpu() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists() and (named := re.search("model name\\s*: (.*)", described.read_text())):
        return named[1]
    return platform.processor() or platform.machine()


def _java() -> str:
    printed = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    return printed.stderr.splitlines()[0]


def _printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
