"""Checks of the machine and the installation. A failed check prints what to fix."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from transom import _bridge
from transom._supported import SUPPORTED_SPARK, is_supported
from transom._version import __version__
from transom.config import PROVIDER, ROCKSDB, configure, jar_path
from transom.spec.assigners import Global
from transom.spec.end_triggers import EndOfStream
from transom.spec.grids import Tumbling
from transom.spec.time_policies import EventTime
from transom.stream import stream

OLDEST_JDK = 17
OLDEST_PYARROW = 18
_LONGEST_QUERY = 300
# PySpark's generated protobuf messages for state. Their import fails if protobuf is too old.
_STATE_MESSAGES = "pyspark.sql.streaming.proto.StateMessage_pb2"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a check, printed as one line."""

    ok: bool
    text: str


def _ok(text: str) -> Finding:
    return Finding(ok=True, text=text)


def _todo(text: str) -> Finding:
    return Finding(ok=False, text=text)


def doctor() -> int:
    """Run all checks and print a line for each: ok, or what to fix.

    Returns
    -------
    int
        The exit code: 1 if a check has failed that all windows depend on, else 0.
    """
    installed = [
        _line("JDK", find_jdk),
        _line("PySpark", find_pyspark),
        _line("pyarrow", find_pyarrow),
    ]
    # Only functions with state need protobuf, so it does not count in the exit code.
    _line("protobuf", find_protobuf)
    installed.append(_line("jar", find_jar))
    if not all(installed):
        print(
            "state store, window query: not checked; fix the problems above, then run doctor again"
        )
        return 1
    failures: tuple[type[Exception], ...] = (*_bridge.spark_errors(), OSError)
    try:
        spark = _session()
    except failures as error:
        print(f"session: Spark does not start: {_first_line(error)}; read its messages above")
        return 1
    try:
        running = [
            _line("state store", lambda: find_state_store(spark)),
            _line("window query", lambda: find_window(spark)),
        ]
    finally:
        spark.stop()
    return 0 if all(running) else 1


def doctor_connect(url: str) -> int:
    """Check a Spark Connect server, and print a line for each check: ok, or what it lacks.

    Parameters
    ----------
    url : str
        The address of the server, such as ``sc://host:15002``.

    Returns
    -------
    int
        The exit code: 1 if a check has failed, else 0.
    """
    failures: tuple[type[Exception], ...] = (*_bridge.spark_errors(), OSError)
    try:
        # PySpark's client would try for minutes to reach a server that is not there.
        _bridge.reach(url)
        spark = configure(SparkSession.Builder().remote(url)).getOrCreate()
        found = spark.version
    except failures as error:
        print(f"server: no answer from {url}: {_first_line(error)}")
        return 1
    supported = is_supported(found)
    fix = f"transom runs on {' and '.join(f'{line}.x' for line in SUPPORTED_SPARK)}"
    server = _ok(found) if supported else _todo(f"it is Spark {found}, {fix}")
    checks = [
        _line("server", lambda: server),
        _line("state store", lambda: find_state_store(spark)),
        _line("window", lambda: find_static_window(spark)),
    ]
    return 0 if all(checks) else 1


def find_static_window(spark: SparkSession) -> Finding:
    """Check that a window over a static DataFrame has a result."""
    rows = spark.createDataFrame([(1,), (2,)], "n int")
    windows = stream(rows).window(Global()).trigger(EndOfStream())
    try:
        found = [row["n"] for row in windows.agg(F.sum("n").alias("n")).collect()]
    except _bridge.spark_errors() as error:
        return _todo(_first_line(error))
    if found != [3]:
        return _todo(f"the window has the results {found} instead of [3]: report this as a bug")
    return _ok("a window over a static DataFrame has its result")


def find_jdk() -> Finding:
    """Check that the Java that Spark will start is there and new enough."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    todo = f"install JDK {OLDEST_JDK} or newer and set JAVA_HOME to its folder"
    if java is None or not Path(java).is_file():
        return _todo(f"there is no java at {java or 'any folder of PATH'}: {todo}")
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', output)
    if found is None:
        return _todo(f"{java} does not print its version: {todo}")
    if int(found[1]) < OLDEST_JDK:
        return _todo(f"{java} has version {found[1]}, which is too old: {todo}")
    return _ok(f"{found[1]}{found[2]} at {java}")


def find_pyspark() -> Finding:
    """Check that this PySpark is supported, and starts a Spark of the same minor version."""
    found = pyspark.__version__
    if not is_supported(found):
        lines = " and ".join(f"{line}.x" for line in SUPPORTED_SPARK)
        newest = f"pip install 'pyspark~={SUPPORTED_SPARK[-1]}.0'"
        return _todo(f"PySpark {found} is not supported, transom runs on {lines}: {newest}")
    home = Path(_find_spark_home())
    todo = f"unset SPARK_HOME, or set it to the folder of a Spark {found}"
    started = [
        name[1]
        for jar in home.glob("jars/spark-core_*.jar")
        if (name := re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", jar.name))
    ]
    if not started:
        return _todo(f"there is no Spark at {home}: {todo}")
    if any(_line_of(version) != _line_of(found) for version in started):
        return _todo(f"PySpark {found} starts Spark {started[0]} at {home}: {todo}")
    return _ok(found)


def _line_of(version: str) -> list[str]:
    return version.split(".")[:2]


def find_pyarrow() -> Finding:
    """Check that pyarrow is installed and new enough."""
    todo = f"pip install 'pyarrow>={OLDEST_PYARROW}'"
    try:
        found = version("pyarrow")
    except PackageNotFoundError:
        return _todo(f"pyarrow is not installed: {todo}")
    if int(found.split(".")[0]) < OLDEST_PYARROW:
        return _todo(f"{found} is too old: {todo}")
    return _ok(found)


def find_protobuf() -> Finding:
    """Check that protobuf is installed, which PySpark's client of the state store needs."""
    for_state = "only window_state and key_state of apply() need it"
    try:
        import_module(_STATE_MESSAGES)
        return _ok(version("protobuf"))
    except (ImportError, PackageNotFoundError):
        return _todo(f"protobuf is not installed; {for_state}: pip install protobuf")
    except Exception as error:  # noqa: BLE001, protobuf raises a class of its own
        problem = f"PySpark cannot use this protobuf ({_first_line(error)})"
        return _todo(f"{problem}; {for_state}: pip install --upgrade protobuf")


def find_jar() -> Finding:
    """Check that the package contains the jar, in the version of the package."""
    try:
        path = jar_path()
        with zipfile.ZipFile(path) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode()
    except PySparkException as error:
        return _todo(_first_line(error))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return _todo(f"the jar cannot be read ({error}): reinstall the wheel")
    found = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    if found is None or found[1] != __version__:
        jar_version = found[1] if found else "unknown"
        return _todo(
            f"the jar has version {jar_version}, the package {__version__}: reinstall the wheel"
        )
    return _ok(f"{__version__} at {path}")


def find_state_store(spark: SparkSession) -> Finding:
    """Check that the session keeps state in RocksDB."""
    provider = spark.conf.get(PROVIDER)
    if provider == ROCKSDB:
        return _ok("RocksDB")
    return _todo(
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
                return _todo(
                    f"the query took longer than {_LONGEST_QUERY} s: try again on an idle machine"
                )
            found = [row["n"] for row in spark.table("transom_doctor").collect()]
        except _bridge.spark_errors() as error:
            return _todo(f"the query failed: {_first_line(error)}; report this as a bug")
    if found != [2]:
        return _todo(f"the query returned {found} instead of [2]: report this as a bug")
    return _ok("a streaming query fired its window")


def _session() -> SparkSession:
    builder = SparkSession.Builder().master("local[1]").appName("transom doctor")
    quiet = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    for key, value in {**quiet, "spark.sql.shuffle.partitions": "1"}.items():
        builder = builder.config(key, value)
    return configure(builder).getOrCreate()


def _line(name: str, check: Callable[[], Finding]) -> bool:
    found = check()
    print(f"{name}: {'ok, ' if found.ok else ''}{found.text}", flush=True)
    return found.ok


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
