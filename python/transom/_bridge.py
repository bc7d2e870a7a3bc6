"""The only file that touches the JVM.

One call crosses: the message as JSON and the columns it names go in, a DataFrame comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession

from transom import spec
from transom._version import __version__
from transom.config import jar_path
from transom.errors import runtime_error

SUPPORTED_SPARK = ("4.2", "4.3")
_ENTRY = "transom.spark.PythonApi$"


def apply(df: DataFrame, message: Mapping[str, Any], columns: Sequence[Column]) -> DataFrame:
    """Plan a window stage over a DataFrame."""
    session = df.sparkSession
    entry = _entry(session)
    jvm = session._jvm
    assert jvm is not None  # check_session let no other session pass
    jvm_columns = jvm.java.util.ArrayList()
    for column in columns:
        jvm_columns.add(column._jc)
    return DataFrame(entry.apply(df._jdf, spec.encode(message), jvm_columns), session)


def explain(df: DataFrame, mode: str) -> str:
    """What the JVM says of the stages of a DataFrame."""
    return str(_entry(df.sparkSession).explain(df._jdf, mode))


def check_session(session: SparkSession) -> None:
    """Refuse sessions that cannot run windows.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_CONNECT_UNSUPPORTED``, ``TRANSOM_SPARK_VERSION``.
    """
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise runtime_error("CONNECT_UNSUPPORTED")
    if not session.version.startswith(tuple(f"{minor}." for minor in SUPPORTED_SPARK)):
        supported = " and ".join(f"{minor}.x" for minor in SUPPORTED_SPARK)
        raise runtime_error("SPARK_VERSION", found=session.version, supported=supported)


def _entry(session: SparkSession) -> Any:
    """The entry object of the jar, which is loaded into a live session that lacks it."""
    check_session(session)
    # Found by this loader whichever way the jar came. Py4J's own look-up knows jars from the start
    # of Spark only, and in other threads not even those.
    loader = session._jsparkSession.sharedState().jarClassLoader()
    loaded = _load(loader)
    if loaded is None:
        session.sql(f"ADD JAR '{jar_path()}'")
        loaded = _load(loader)
    if loaded is None:
        raise runtime_error("JAR_MISSING", path=jar_path())
    entry = loaded.getField("MODULE$").get(None)
    found = entry.version()
    if found != __version__:
        raise runtime_error("JAR_VERSION", found=found, wanted=__version__)
    return entry


def _load(loader: Any) -> Any | None:
    try:
        return loader.loadClass(_ENTRY)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.lang.ClassNotFoundException":
            return None
        raise
