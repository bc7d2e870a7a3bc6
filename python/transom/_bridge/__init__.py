"""Access to Spark's side of the package. No other module touches it.

One call passes a message as JSON, and the columns that the message refers to by index.
"""

import json
import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType, is_remote_only

from transom.spec.message import MessageColumn, encode, encode_stamped
from transom.spec.stamp_spec import StampSpec
from transom.spec.window_spec import WindowSpec


class _Session(Protocol):
    """What the modules of this package do, each for one kind of session."""

    def call(
        self, df: DataFrame, method: str, message: str, columns: Sequence[MessageColumn]
    ) -> DataFrame:
        """Call a method of Spark's side that returns a DataFrame."""

    def explain(self, df: DataFrame, mode: str) -> str:
        """Return Spark's description of the window operators of `df`."""

    def batch_of(self, df: DataFrame) -> str | None:
        """Identify the batch of a query that a DataFrame is, if the session tells it."""


def apply(df: DataFrame, spec: WindowSpec) -> DataFrame:
    """Return the DataFrame of a window operator over `df`."""
    message, columns = encode(spec)
    return _session_of(df).call(df, "apply", json.dumps(message), columns)


def stamp(df: DataFrame, spec: StampSpec) -> DataFrame:
    """Return the rows of `df` with a column for the stamp of each row."""
    message, columns = encode_stamped(spec)
    return _session_of(df).call(df, "stamp", json.dumps(message), columns)


def map_in_arrow(df: DataFrame, function: Callable[..., Any], schema: StructType) -> DataFrame:
    """Return the results of a function over Arrow batches, behind a window operator.

    It is `DataFrame.mapInArrow`, but Spark's side looks up the types of the operator's columns.

    Parameters
    ----------
    df : DataFrame
        The output of a window operator, or of a function behind it.
    function : callable
        Takes and returns an iterator of ``pyarrow.RecordBatch``.
    schema : StructType
        The columns of the results. Fields made by `column_of` stand for columns of the operator.
    """
    called = _function(df, function, schema, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    return _session_of(df).call(df, "mapInArrow", "", [called()])


def transform_with_state(
    df: DataFrame,
    processor: StatefulProcessor,
    groups: Sequence[str],
    columns: Sequence[str],
    schema: StructType,
) -> DataFrame:
    """Return the results of a processor over the rows of each group.

    It is `GroupedData.transformWithState`, but needs no schema of its input.

    Parameters
    ----------
    df : DataFrame
        The rows.
    processor : StatefulProcessor
        Uses no timers.
    groups : sequence of str
        The columns of a group.
    columns : sequence of str
        All columns of the rows.
    schema : StructType
        The columns of the results.
    """
    run = TransformWithStateInPandasUdfUtils(processor, "None").transformWithStateUDF
    called = _function(df, run, schema, PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF)
    return _session_of(df).call(df, "transformWithState", "", [called(*columns), *groups])


def explain(df: DataFrame, mode: str) -> str:
    """Return Spark's description of the window operators of `df`."""
    return _session_of(df).explain(df, mode)


def batch_of(df: DataFrame) -> str | None:
    """Identify the batch of a query that a DataFrame is, if the session tells it.

    The text begins with the id of the query and a space. A batch that is repeated with the same
    offsets has the same text.
    """
    return _session_of(df).batch_of(df)


def is_streaming_query(value: object) -> TypeGuard[StreamingQuery]:
    """Return whether a value is a streaming query of any kind of session."""
    if not _is_of_connect(value):
        return isinstance(value, StreamingQuery)
    from pyspark.sql.connect.streaming.query import StreamingQuery as ConnectQuery

    return isinstance(value, ConnectQuery)


def reach(url: str) -> None:
    """Connect to a Spark Connect server. Raises an OSError if nothing answers within 10 seconds."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    host, _, port = DefaultChannelBuilder(url).endpoint.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that PySpark raises if Spark or the connection to it fails."""
    if is_remote_only():
        return (PySparkException,)
    from transom._bridge.classic import ERRORS

    return ERRORS


def _function(
    df: DataFrame, function: Callable[..., Any], schema: StructType, kind: Any
) -> Callable[..., Column]:
    # PySpark's `pandas_udf` makes the same, but needs pandas.
    if not _is_of_connect(df):
        return UserDefinedFunction(function, schema, evalType=kind)
    from pyspark.sql.connect.udf import UserDefinedFunction as ConnectFunction

    return ConnectFunction(function, schema, evalType=kind)


def _is_of_connect(value: object) -> bool:
    # An installation for classic sessions may lack the libraries of Spark Connect.
    return type(value).__module__.startswith("pyspark.sql.connect.")


def _session_of(df: DataFrame) -> _Session:
    """Return the module for the session of `df`."""
    if _is_of_connect(df):
        from transom._bridge import connect

        return connect
    from transom._bridge import classic

    return classic
