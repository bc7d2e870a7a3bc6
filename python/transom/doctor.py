"""The commands that check the machine and the installation, or a Spark Connect server.

Each check prints a line: ok, or what to do. The last line says that windows run and which optional
packages are missing, or what to do first.
"""

import json
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from transom import _bridge
from transom._installation import (
    Finding,
    find_jar,
    find_jdk,
    find_pandas,
    find_protobuf,
    find_pyarrow,
    find_pyspark,
    find_worker_python,
    first_line,
)
from transom._supported import SUPPORTED_SPARK, is_supported
from transom.config import PROVIDER, ROCKSDB, configure
from transom.spec.firing.end_triggers import EndOfStream
from transom.spec.times.time_policies import EventTime
from transom.spec.windows.assigners import Global
from transom.spec.windows.grids import Tumbling
from transom.stream import stream

_LONGEST_QUERY = 300


class _Report:
    """Prints the outcome of each check, and at the end what to do first."""

    def __init__(self) -> None:
        self._problems: list[tuple[str, Finding]] = []

    def add(self, name: str, found: Finding) -> None:
        print(f"{name}: {'ok, ' if found.ok else ''}{found.text}", flush=True)
        if not found.ok:
            self._problems.append((name, found))

    def failed(self) -> bool:
        return any(not found.optional for _, found in self._problems)

    def end(self) -> int:
        """Print the last line, and return the exit code."""
        needed = [f"{name}: {found.text}" for name, found in self._problems if not found.optional]
        if needed:
            print(f"not ready, first {needed[0]}")
            return 1
        optional = " and ".join(name for name, _ in self._problems)
        print(f"ready; optional, see above: {optional}" if optional else "ready")
        return 0


def doctor() -> int:
    """Run all checks of this machine, and print a line for each and one line at the end.

    Returns
    -------
    int
        The exit code: 1 if a check has failed that all windows depend on, else 0.
    """
    report = _Report()
    report.add("JDK", find_jdk())
    report.add("PySpark", find_pyspark())
    report.add("pyarrow", find_pyarrow())
    report.add("pandas", find_pandas())
    report.add("protobuf", find_protobuf())
    report.add("worker Python", find_worker_python())
    report.add("jar", find_jar())
    if report.failed():
        print("state store, window query, SQL: not checked, because they need all of the above")
        return report.end()
    try:
        spark = _session()
    except _failures() as error:
        problem = f"Spark does not start: {first_line(error)}; read its messages above"
        report.add("session", Finding.todo(problem))
        return report.end()
    try:
        report.add("state store", find_state_store(spark))
        report.add("window query", find_window(spark))
        report.add("SQL", find_sql(spark))
    finally:
        spark.stop()
    return report.end()


def doctor_connect(url: str) -> int:
    """Check a Spark Connect server, and print a line for each check and one line at the end.

    Parameters
    ----------
    url : str
        The address of the server, such as ``sc://host:15002``.

    Returns
    -------
    int
        The exit code: 1 if a check has failed, else 0.
    """
    report = _Report()
    try:
        # PySpark's client would try for minutes to reach a server that is not there.
        _bridge.reach(url)
        spark = configure(SparkSession.Builder().remote(url)).getOrCreate()
        found = spark.version
    except _failures() as error:
        report.add("server", Finding.todo(f"no answer from {url}: {first_line(error)}"))
        return report.end()
    lines = " and ".join(f"{line}.x" for line in SUPPORTED_SPARK)
    other = Finding.todo(f"it is Spark {found}, but transom runs on {lines}: start one of these")
    report.add("server", Finding.fine(found) if is_supported(found) else other)
    report.add("state store", find_state_store(spark))
    report.add("window", find_static_window(spark))
    report.add("SQL", find_sql(spark))
    return report.end()


def _failures() -> tuple[type[Exception], ...]:
    return (*_bridge.spark_errors(), OSError)


def find_static_window(spark: SparkSession) -> Finding:
    """Check that a window over a static DataFrame has a result."""
    rows = spark.createDataFrame([(1,), (2,)], "n int")
    windows = stream(rows).window(Global()).trigger(EndOfStream())
    try:
        found = [row["n"] for row in windows.agg(F.sum("n").alias("n")).collect()]
    except _bridge.spark_errors() as error:
        return Finding.todo(first_line(error))
    if found != [3]:
        return Finding.todo(
            f"the window has the results {found} instead of [3]: report this as a bug"
        )
    return Finding.fine("a window over a static DataFrame has its result")


def find_sql(spark: SparkSession) -> Finding:
    """Check that the session has the functions of SQL."""
    try:
        spark.sql("DESCRIBE FUNCTION transom_tumbling").collect()
    except _bridge.spark_errors():
        return Finding.todo(
            "the session has no function transom_tumbling: start it with "
            "spark.sql.extensions=transom.spark.Extensions, and with the jar in spark.jars",
            optional=True,
        )
    return Finding.fine("GROUP BY transom_tumbling(...) and the other functions")


def find_state_store(spark: SparkSession) -> Finding:
    """Check that the session keeps state in RocksDB."""
    provider = spark.conf.get(PROVIDER)
    if provider == ROCKSDB:
        return Finding.fine("RocksDB")
    return Finding.todo(
        f"it is {provider}: remove the setting {PROVIDER}, so that configure() sets RocksDB"
    )


def find_window(spark: SparkSession) -> Finding:
    """Run a tiny stream, and check that a window of it fires."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"time": f"2024-01-01T00:0{minute}:01Z"} for minute in (0, 0, 1)]
        source = Path(folder, "rows")
        source.mkdir()
        Path(source, "0.json").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        read = spark.readStream.schema("time timestamp").json(str(source))
        windows = stream(read, time=EventTime("time", delay="0 seconds")).window(
            Tumbling(size="1 minute")
        )
        try:
            query = (
                windows.agg(F.count("*").alias("n"))
                .writeStream.format("memory")
                .queryName("transom_doctor")
                .option("checkpointLocation", f"{folder}/checkpoint")
                .trigger(availableNow=True)
                .start()
            )
            if not query.awaitTermination(_LONGEST_QUERY):
                query.stop()
                return Finding.todo(
                    f"the query took longer than {_LONGEST_QUERY} s: try again on an idle machine"
                )
            found = [row["n"] for row in spark.table("transom_doctor").collect()]
        except _bridge.spark_errors() as error:
            return Finding.todo(f"the query failed: {first_line(error)}; report this as a bug")
    if found != [2]:
        return Finding.todo(f"the query returned {found} instead of [2]: report this as a bug")
    return Finding.fine("a streaming query fired its window")


def _session() -> SparkSession:
    builder = SparkSession.Builder().master("local[1]").appName("transom doctor")
    quiet = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    for key, value in {**quiet, "spark.sql.shuffle.partitions": "1"}.items():
        builder = builder.config(key, value)
    return configure(builder).getOrCreate()
