"""Setup: the path of the jar, and the settings of a Spark session."""

import os
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyspark
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession
from pyspark.util import default_api_mode, is_remote_only

from transom._base import checks
from transom._base.errors import runtime_error, type_error

_STATE_STORE = "spark.sql.streaming.stateStore"
PROVIDER = f"{_STATE_STORE}.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_ROCKSDB_SETTINGS = {
    f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting makes RocksDB read each value before a write.
    f"{_STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",
}
# Checkpoints on a local disk start no processes.
_LOCAL_FS = {"spark.hadoop.fs.AbstractFileSystem.file.impl": "transom.spark.LocalFs"}
# A line of spark-defaults.conf, as Java reads properties.
_SETTING = re.compile(r"([^\s=:]+)(?:\s*[=:]\s*|\s+(?![=:]))(.+)")
# Windows in SQL, and the calls of this package in a Connect server.
_EXTENSIONS = {"spark.sql.extensions": "transom.spark.Extensions"}
# The tasks of a real-time query collect rows for each other in buffers, and send a buffer that is
# not full after this time. With Spark's default, each result would wait for up to 50 ms.
_REAL_TIME = {"spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1"}
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# The masters whose number of slots is known before a session starts.
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,.*)?\])?")
# What a Spark Connect server needs besides.
_SERVER_SETTINGS = {
    "spark.connect.extensions.relation.classes": "transom.spark.ConnectRelations",
}


def jar_path() -> str:
    """Return the path of transom's jar, for ``spark-submit --jars``.

    Returns
    -------
    str
        The path of the jar in the installed package.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_JAR_MISSING``.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> builder = SparkSession.builder.config("spark.jars", transom.jar_path())
    """
    path = Path(__file__).parent / "jars" / "transom.jar"
    if not path.is_file():
        raise runtime_error("JAR_MISSING", path=path)
    return str(path)


def configure(builder: SparkSession.Builder, *, real_time: bool = False) -> SparkSession.Builder:
    """Add to a session builder what windows need: the jar, the state store and the SQL functions.

    The jar is added to ``spark.jars``. Three settings make Spark keep state in RocksDB, write
    changelog checkpoints, and skip counting rows. If the JVM starts with the jar, two more settings
    make checkpoints on a local disk faster (docs/operations/sizing.md), and add transom's extension
    to ``spark.sql.extensions``, which SQL needs (docs/sql.md). It starts without the jar if
    ``PYSPARK_SUBMIT_ARGS`` has other jars after ``--jars``. A setting that the builder,
    ``spark-submit`` or ``spark-defaults.conf`` already has is not changed.

    If the builder starts a Spark Connect server in this process, as ``remote("local")`` does, the
    server also gets transom's plugin. For a server elsewhere, as in
    ``remote("sc://host")``, only the settings of the state store are set: the server must have been
    started with the others.

    Parameters
    ----------
    builder : SparkSession.Builder
        The builder. It is changed in place.
    real_time : bool
        Whether queries of the session have the trigger ``trigger(realTime=...)``, which needs
        PySpark 4.3. Their tasks then send rows to each other after 1 ms instead of 50 ms
        (``spark.shuffle.streaming.networkBufferMaxWaitTimeMs``), so the median result comes about
        30 ms earlier. The price is more and smaller messages between tasks when few rows come. A
        full buffer leaves at once with either value. Spark does not document the setting. It
        counts only in a session that starts Spark, so start a Spark Connect server with it. If the
        master is ``local`` and the number of shuffle partitions is set, this function also checks
        that there are enough slots: see the page "Real-Time Mode".

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_JAR_MISSING``, and with `real_time`, ``TRANSOM_REAL_TIME_SPARK`` before PySpark
        4.3, and ``TRANSOM_REAL_TIME_SLOTS``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> builder = transom.configure(SparkSession.builder.appName("flights"))
    """
    if not isinstance(builder, SparkSession.Builder):
        raise type_error("builder", builder, "a SparkSession.Builder, such as SparkSession.builder")
    outside = _settings_from_outside()
    existing = {**outside, **builder._options}
    checks.flag("real_time", real_time)
    if real_time:
        _check_real_time(existing)
    remote = str(existing.get("spark.remote", os.environ.get("SPARK_REMOTE", "")))
    defaults = {PROVIDER: ROCKSDB}
    if not remote.startswith("sc://"):
        lists = {"spark.jars": jar_path()}
        # A driver finds no classes of a jar that a session adds after its start. Arguments with
        # jars come before the builder, so the driver starts with their jars alone.
        arguments, _ = _submit_arguments()
        has_its_jars = _jvm_runs() or "spark.jars" in arguments
        starts_with_jar = not has_its_jars or jar_path() in map(
            _path, _items(outside.get("spark.jars", ""))
        )
        if starts_with_jar or remote:
            lists |= _EXTENSIONS
        if remote or existing.get("spark.api.mode", default_api_mode()) == "connect":
            lists |= _SERVER_SETTINGS
        for name, value in lists.items():
            values = _items(existing.get(name, ""))
            has_value = value in map(_path, values)
            builder.config(name, ",".join(values if has_value else [*values, value]))
        if starts_with_jar:
            defaults |= _LOCAL_FS
        if real_time:
            defaults |= _REAL_TIME
    if existing.get(PROVIDER, ROCKSDB) == ROCKSDB:
        defaults |= _ROCKSDB_SETTINGS
    for name, value in defaults.items():
        if name not in existing:
            builder.config(name, value)
    return builder


def _check_real_time(settings: Mapping[str, object]) -> None:
    """Check what real-time queries need and the settings of a session tell."""
    version = pyspark.__version__
    if version.startswith("4.2."):
        raise runtime_error("REAL_TIME_SPARK", spark=version)
    master = str(settings.get("spark.master", ""))
    local = _LOCAL.fullmatch(master)
    partitions = str(settings.get(_SHUFFLE_PARTITIONS, ""))
    if local is None or not partitions.isdecimal():
        return
    cores = local[1] or "1"
    slots = os.cpu_count() or 1 if cores == "*" else int(cores)
    # A source has a partition or more.
    needed = int(partitions) + 1
    if slots < needed:
        raise runtime_error(
            "REAL_TIME_SLOTS", master=master, slots=slots, partitions=partitions, needed=needed
        )


def _items(values: object) -> list[str]:
    return [item for item in str(values).split(",") if item]


def _path(value: str) -> str:
    """Return the path of a local file that Spark has turned into a URL, else the value."""
    return unquote(urlsplit(value).path) if value.startswith("file:") else value


def _jvm_runs() -> bool:
    if is_remote_only():
        return False
    from pyspark import SparkContext

    return SparkContext._jvm is not None


def _settings_from_outside() -> Mapping[str, str]:
    """Return the settings that apply where the builder sets none."""
    if is_remote_only():
        # Without a JVM, no server starts here.
        return {}
    from pyspark import SparkConf, SparkContext

    if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        # spark-submit has started this JVM, which has its settings.
        SparkContext._ensure_initialized()
    if SparkContext._jvm is not None:
        return dict(SparkConf().getAll())
    arguments, file = _submit_arguments()
    if file is None:
        folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf"
        file = Path(folder) / "spark-defaults.conf"
    return _from_file(file) | arguments


def _from_file(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    pairs = (_SETTING.fullmatch(line) for line in lines if line[:1] not in "#!")
    return {pair[1]: pair[2] for pair in pairs if pair}


def _submit_arguments() -> tuple[dict[str, str], Path | None]:
    """Return the settings in ``PYSPARK_SUBMIT_ARGS``, and the file that it names for others."""
    settings: dict[str, str] = {}
    file = None
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    # Spark accepts both "--conf a=b" and "--conf=a=b".
    joined = [word.partition("=") for word in words if word.startswith("--")]
    options = [*pairwise(words), *((name, value) for name, equals, value in joined if equals)]
    for option, value in options:
        if option == "--jars":
            settings["spark.jars"] = value
        elif option in ("--conf", "-c"):
            name, _, chosen = value.partition("=")
            settings[name] = chosen
        elif option == "--properties-file":
            file = Path(value)
    return settings, file
