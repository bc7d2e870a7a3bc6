"""The only file that touches the JVM.

One call crosses: the message as JSON and the columns that it names go in, a DataFrame comes out.
"""

import json
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from transom._columns import column
from transom._errors import runtime_error
from transom._supported import check_version
from transom._version import __version__
from transom._writing import encode
from transom.config import jar_path
from transom.spec import WindowSpec

# Scala keeps an object as the one instance of a class with this name.
_ENTRY = "transom.spark.PythonApi$"


def apply(df: DataFrame, spec: WindowSpec) -> DataFrame:
    """The DataFrame of a window stage over `df`."""
    entry = entry_object(df)
    message, columns = encode(spec)
    session = df.sparkSession
    beside = _jvm(session).java.util.ArrayList()
    for named in columns:
        beside.add(column(named)._jc)
    return ClassicDataFrame(entry.apply(df._jdf, json.dumps(message), beside), session)


def explain(df: DataFrame, mode: str) -> str:
    """What the JVM says about the stages of `df`."""
    return str(entry_object(df).explain(df._jdf, mode))


def entry_object(df: DataFrame) -> Any:
    """The jar's entry in the session of `df`, which need not have been made by `configure`."""
    if not isinstance(df, ClassicDataFrame):
        raise runtime_error("CONNECT_UNSUPPORTED")
    session = df.sparkSession
    check_version(session.version)
    entry = _load(session)
    if entry is None:
        # A path in SQL text: its quotes must not end it.
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
    # Py4J looks classes up with the loader of its own thread, which does not see added jars. This
    # loader sees them, and those of spark.jars too.
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
