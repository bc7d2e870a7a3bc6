"""Setting up: where the jar is, and what a session needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from transom.errors import runtime_error, type_error

_STATE_STORE = "spark.sql.streaming.stateStore"
_PROVIDER = f"{_STATE_STORE}.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG = f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled"
# Counting rows costs each write a read of the old value, and the rows of window state are segments.
_ROW_COUNTING = f"{_STATE_STORE}.rocksdb.trackTotalNumberOfRows"


def jar_path() -> str:
    """Path of the jar inside this package, for ``spark-submit --jars``.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_JAR_MISSING`` if the package was installed without it.
    """
    path = Path(__file__).with_name("jars") / "transom.jar"
    if not path.is_file():
        raise runtime_error("JAR_MISSING", path=path)
    return str(path)


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Prepare a session for windows.

    Adds the jar to ``spark.jars``, keeping what is there, and chooses what the state of windows
    needs unless the builder chose otherwise: RocksDB with changelog checkpoints, row counting off.

    Parameters
    ----------
    builder : SparkSession.Builder
        Before ``getOrCreate``; it is changed and returned.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_JAR_MISSING``.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> builder = configure(SparkSession.Builder())  # doctest: +SKIP
    """
    if not isinstance(builder, SparkSession.Builder):
        raise type_error("builder", "a SparkSession.Builder", builder)
    chosen: dict[str, Any] = builder._options
    jars = [jar for jar in str(chosen.get("spark.jars", "")).split(",") if jar]
    if jar_path() not in jars:
        builder = builder.config("spark.jars", ",".join([*jars, jar_path()]))
    provider = chosen.get(_PROVIDER, _ROCKSDB)
    defaults = {_PROVIDER: provider}
    if provider == _ROCKSDB:
        defaults |= {_CHANGELOG: "true", _ROW_COUNTING: "false"}
    for key, value in defaults.items():
        if key not in chosen:
            builder = builder.config(key, value)
    return builder
