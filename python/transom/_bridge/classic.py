"""Calls in a classic session: Py4J passes them to the JVM of this process."""

from collections.abc import Sequence
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from transom._base.errors import runtime_error
from transom._base.expressions import column
from transom._supported import check_version
from transom._version import __version__
from transom.config import jar_path
from transom.spec.message import MessageColumn

# A Scala object is the single instance of a class with this name.
_ENTRY = "transom.spark.PythonApi$"

# Exceptions that PySpark raises if Spark or the connection to the JVM fails.
ERRORS = (PySparkException, Py4JError)


def call(df: DataFrame, method: str, message: str, columns: Sequence[MessageColumn]) -> DataFrame:
    """Call a method of the entry object that returns a DataFrame."""
    entry = entry_object(df)
    session = df.sparkSession
    # By its full name: for parts of it, Py4J looks for classes in all jars.
    jcolumns = getattr(_jvm(session), "java.util.ArrayList")()
    for item in columns:
        jcolumns.add(column(item)._jc)
    return ClassicDataFrame(getattr(entry, method)(df._jdf, message, jcolumns), session)


def explain(df: DataFrame, mode: str) -> str:
    """Return the JVM's description of the window operators of `df`."""
    return str(entry_object(df).explain(df._jdf, mode))


def batch_of(df: DataFrame) -> str | None:
    """Identify the batch that a DataFrame is, in a function of ``foreachBatch``."""
    batch: str | None = entry_object(df).batch(df._jdf)
    return batch


def entry_object(df: DataFrame) -> Any:
    """Return the JVM object that Python calls, and add the jar to the session if it is missing.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_SPARK_VERSION``, ``TRANSOM_JAR_MISSING``, ``TRANSOM_JAR_BROKEN``,
        ``TRANSOM_JAR_VERSION``.
    """
    session = df.sparkSession
    check_version(session.version)
    entry = _load(session)
    if entry is None:
        # The path is inside quotes in SQL text, so its own quotes must be escaped.
        path = jar_path().replace("\\", "\\\\").replace("'", "\\'")
        session.sql(f"ADD JAR '{path}'")
        entry = _load(session)
    if entry is None:
        raise runtime_error("JAR_BROKEN", path=jar_path())
    version = entry.version()
    if version != __version__:
        raise runtime_error("JAR_VERSION", jar=version, package=__version__)
    return entry


def _load(session: SparkSession) -> Any:
    # Py4J uses the class loader of its own thread, which lacks jars that ADD JAR has added. The jar
    # loader of the session has these jars and the jars in spark.jars.
    loader = session._jsparkSession.sharedState().jarClassLoader()
    try:
        return loader.loadClass(_ENTRY).getField("MODULE$").get(None)
    except Py4JJavaError as error:
        if "ClassNotFoundException" in str(error.java_exception.getClass().getName()):
            return None
        raise


def _jvm(session: SparkSession) -> Any:
    assert isinstance(session._jsparkSession, JavaObject)
    return session._jvm
