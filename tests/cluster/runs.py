"""One run of a query, in a local session or on a cluster, whose tasks may be disturbed."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import tests
import transom
from tests.end_to_end.restarts.crashes.comparisons import totals
from tests.end_to_end.restarts.crashes.kinds import KINDS, SCHEMA, Kind
from tests.end_to_end.restarts.crashes.queries import HOPPING, by_key, sums
from tests.end_to_end.support.file_system import JAR as CRASHING
from tests.end_to_end.support.queries import parse_schema
from transom.inspection.metrics import named

BATCHES = 4
EXECUTORS = 2
FILES_OF_A_BATCH = 4
_ROWS_OF_A_FILE = 10
_FIRST_HOUR = datetime(2013, 1, 1, 5)
_FIRST_MODIFIED = 1_700_000_000
_LONGEST_RUN = 300
_LONGEST_WAIT = 120
# They start fast, and their peak speed does not matter. Spark chooses the driver's collector.
_QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
_QUICK_JVM = f"{_QUICK_COMPILER} -XX:+UseSerialGC"
# The metrics of an operator that are sums.
_COUNTS = ("transom_rows_", "transom_windows_fired", "transom_idle_closes")


def _changing(rows: DataFrame) -> DataFrame:
    changes = F.expr("java_method('java.lang.System', 'nanoTime')")
    windowed = by_key(rows.withColumn("changes", changes), HOPPING).drain()
    latest = F.max("changes").alias("latest")
    return windowed.agg(*sums(), latest).where("latest IS NOT NULL").drop("latest")


# With a query whose tasks send something else whenever they are repeated.
QUERIES = KINDS | {"changing": Kind(_changing, layout="slices")}

# The executors cannot import the modules of the tests.
cloudpickle.register_pickle_by_value(tests)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Case:
    """A query over the input.

    Attributes
    ----------
    kind : str
        One of `QUERIES`.
    is_shuffled : bool
        Whether a shuffle lies between the source and the query.
    """

    kind: str
    is_shuffled: bool

    def __str__(self) -> str:
        return f"{self.kind}{'-shuffled' if self.is_shuffled else ''}"

    @staticmethod
    def parse(text: str) -> Case:
        """The case of a text that `str` has made."""
        return Case(text.removesuffix("-shuffled"), text.endswith("-shuffled"))


@dataclass(frozen=True)
class Place:
    """A stage of a batch: its job, its position in the job, and the number of its tasks."""

    batch: int
    job: int
    stage: int
    tasks: int


@dataclass(frozen=True)
class Point:
    """An action at a place: "halt", "lose" or "stall", as `Disturbances` in the JVM says."""

    action: str
    place: Place
    moment: str

    def __str__(self) -> str:
        at = self.place
        return f"{self.action} {at.batch} {at.job} {at.stage} {self.moment}"


@dataclass
class Outcome:
    """What a run has written and counted.

    Attributes
    ----------
    rows : list of str
        All rows of all outputs, sorted.
    counts : dict
        The sums of the counts of each operator.
    places : list of Place
        Where tasks have run.
    """

    rows: list[str]
    counts: dict[str, int]
    places: list[Place]

    def text(self) -> str:
        """The outcome as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def parse(text: str) -> Outcome:
        """The outcome of a line that `text` has made."""
        found = json.loads(text)
        return Outcome(found["rows"], found["counts"], [Place(**at) for at in found["places"]])


def local_session(folder: Path) -> SparkSession:
    """A session in this process alone. Its stages have the tasks that they have on the cluster."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return _session("local[2]", folder, {})


def cluster_session(url: str, python: Path, folder: Path, **settings: str) -> SparkSession:
    """A session on a cluster whose workers run a Python of their own."""
    os.environ["PYSPARK_PYTHON"] = str(python)
    session = _session(
        url,
        folder,
        {
            "spark.driver.host": "127.0.0.1",
            "spark.executor.extraClassPath": str(CRASHING),
            "spark.executor.extraJavaOptions": _QUICK_JVM,
            "spark.executor.memory": "1g",
            "spark.executor.cores": "2",
            "spark.executor.heartbeatInterval": "5s",
            # A dead executor answers no second request either.
            "spark.shuffle.io.maxRetries": "1",
            "spark.shuffle.io.retryWait": "100ms",
            # A task does not wait for an executor that has died.
            "spark.locality.wait": "100ms",
        }
        | settings,
    )
    wait_for_executors(session)
    return session


def _session(master: str, folder: Path, settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.Builder().master(master)
    common = {
        "spark.default.parallelism": "4",
        "spark.driver.extraClassPath": str(CRASHING),
        "spark.driver.extraJavaOptions": _QUICK_COMPILER,
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "OFF",
        "spark.plugins": "transom.crashing.DisturbingPlugin",
        # A task for each file.
        "spark.sql.files.openCostInBytes": "128m",
        # In Spark 4.2.0 a Python function directly above a vectorized Parquet scan never returns.
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in (common | settings).items():
        builder = builder.config(name, value)
    return transom.configure(builder).getOrCreate()


def wait_for_executors(spark: SparkSession) -> None:
    """Wait until all executors of the cluster have registered."""
    sc = spark._jsc.sc()
    deadline = time.monotonic() + _LONGEST_WAIT
    # The driver is in the map too.
    while sc.getExecutorMemoryStatus().size() < EXECUTORS + 1:
        assert time.monotonic() < deadline, "an executor is missing"
        time.sleep(0.05)


def write_input(folder: Path) -> None:
    """Write four files for each batch.

    The rows of a batch are from one hour, except for late ones: one in five is up to five hours
    older. The rows of the last batch are from the next day and close what is open.
    """
    folder.mkdir(parents=True)
    chosen = random.Random(7)
    number = 0
    for file in range((BATCHES - 1) * FILES_OF_A_BATCH):
        start = _FIRST_HOUR + timedelta(hours=file // FILES_OF_A_BATCH)
        rows = []
        for _ in range(_ROWS_OF_A_FILE):
            minutes = chosen.randrange(60) - (chosen.randrange(300) if number % 5 == 4 else 0)
            at = start + timedelta(minutes=minutes)
            rows.append((number, chosen.choice("abc"), at, chosen.randrange(100)))
            number += 1
        _write_file(folder, file, rows)
    for file in range(FILES_OF_A_BATCH):
        last = (number, "abca"[file], _FIRST_HOUR + timedelta(days=1, minutes=file), 1)
        _write_file(folder, (BATCHES - 1) * FILES_OF_A_BATCH + file, [last])
        number += 1


def _write_file(folder: Path, number: int, rows: Sequence[tuple[Any, ...]]) -> None:
    numbers, keys, times, values = zip(*rows, strict=True)
    table = pa.table(
        {
            "number": pa.array(numbers, pa.int32()),
            "key": keys,
            "time": pa.array(times, pa.timestamp("us", tz="UTC")),
            "value": pa.array(values, pa.int32()),
        }
    )
    path = folder / f"{number:03}.parquet"
    pq.write_table(table, path)
    os.utime(path, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))


def run(
    spark: SparkSession,
    case: Case,
    folder: Path,
    points: Sequence[Point] = (),
    *,
    after_batch: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Run a query from its checkpoint to its end.

    Parameters
    ----------
    spark : SparkSession
        From `local_session` or `cluster_session`.
    case : Case
        The query.
    folder : Path
        Has the input; gets the checkpoint and the output.
    points : sequence of Point
        The disturbances. The run fails if one does not happen.
    after_batch : callable
        Called with the id of each batch before Spark commits the batch.
    """
    disturbances = _disturbances(spark)
    disturbances.arm("\n".join(map(str, points)))
    out, counted = folder / "out", folder / "counts"
    out.mkdir(exist_ok=True)
    counted.mkdir(exist_ok=True)
    is_cluster = str(spark.sparkContext.master).startswith("spark:")

    def save(batch: DataFrame, batch_id: int) -> None:
        collected = batch.collect()
        rows = _compared(case, collected)
        (out / str(batch_id)).write_text(json.dumps(rows))
        save_counts()
        after_batch(batch_id)
        if is_cluster:
            wait_for_executors(spark)

    def save_counts() -> None:
        for query in spark.streams.active:
            _save_counts(query.recentProgress, counted)

    rows = (
        spark.readStream.schema(parse_schema(SCHEMA))
        .option("maxFilesPerTrigger", FILES_OF_A_BATCH)
        .parquet(str(folder / "input"))
    )
    if case.is_shuffled:
        rows = rows.repartition(4)
    query = (
        QUERIES[case.kind]
        .query(rows)
        .writeStream.foreachBatch(save)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(_LONGEST_RUN), f"{case} has not ended in time"
    finally:
        query.stop()
        # After a failure too: a restart repeats only the last batch.
        _save_counts(query.recentProgress, counted)
    assert fired_points(spark) == len(points), f"a point of {points} was never reached"
    places = [Place(*map(int, line.split())) for line in disturbances.seenPlaces().splitlines()]
    return Outcome(*_read(out, counted), places)


def fired_points(spark: SparkSession) -> int:
    """The number of points that have fired in the last run."""
    return int(_disturbances(spark).firedPoints())


def _disturbances(spark: SparkSession) -> Any:
    assert spark._jvm is not None
    return spark._jvm.transom.crashing.Disturbances


def _compared(case: Case, rows: Sequence[Row]) -> list[str]:
    """The part of a batch in which two runs must agree.

    The batches of both runs have the same rows, so all results must be the same. Only the windows
    of the wall clock may differ.
    """
    kind = QUERIES[case.kind]
    if kind.compared is totals:
        return [str(total) for total in totals(rows).items()]
    if not kind.side:
        return [str(row) for row in rows]
    found = [str(row["results"]) for row in rows if row["tag"] == "results"]
    for tag, columns in kind.side.items():
        side = [row[tag] for row in rows if row["tag"] == tag]
        found += [f"{tag} {[row[column] for column in columns]}" for row in side]
    return found


def _save_counts(progress: Sequence[Any], folder: Path) -> None:
    for batch in progress:
        if batch.observedMetrics:
            counts = {
                f"{operator}.{count}": value
                for operator, row in batch.observedMetrics.items()
                for count, value in named(row.asDict()).items()
                if count.startswith(_COUNTS)
            }
            (folder / str(batch.batchId)).write_text(json.dumps(counts))


def _read(out: Path, counted: Path) -> tuple[list[str], dict[str, int]]:
    rows = [row for file in out.iterdir() for row in json.loads(file.read_text())]
    sums: dict[str, int] = {}
    for file in counted.iterdir():
        for count, value in json.loads(file.read_text()).items():
            sums[count] = sums.get(count, 0) + value
    return sorted(rows), sums


def clear(folder: Path) -> None:
    """Remove all that a run has written. Its input stays."""
    for name in ("checkpoint", "out", "counts"):
        shutil.rmtree(folder / name, ignore_errors=True)
