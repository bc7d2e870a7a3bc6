"""Calls in a Spark Connect session: a relation that the plugin of the server reads."""

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.connect import proto
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.plan import LogicalPlan

from transom._base.columns import has_columns
from transom._base.errors import runtime_error
from transom._base.expressions import column
from transom._version import __version__
from transom.spec.message import MessageColumn

_NO_PLUGIN = "CONNECT_INVALID_PLAN.NO_HANDLER_FOR_EXTENSION"


def call(df: DataFrame, method: str, message: str, columns: Sequence[MessageColumn]) -> DataFrame:
    """Return the DataFrame of a call.

    The server analyzes it at once, so that an error appears at the step that makes it. It refuses
    to analyze the DataFrames of a pipeline before the pipeline runs.

    Raises
    ------
    PySparkRuntimeError
        ``TRANSOM_CONNECT_SERVER`` if the server does not read calls.
    IllegalArgumentException
        The server's errors: ``TRANSOM_CONNECT_SERVER`` if it does not resolve calls,
        ``TRANSOM_JAR_VERSION``, and those of the operator.
    """
    result = _result(df, method, message, columns)
    try:
        has_columns(result)
    except PySparkException as error:
        if error.getCondition() != _NO_PLUGIN:
            raise
        missing = "spark.connect.extensions.relation.classes"
        raise runtime_error("CONNECT_SERVER", missing=missing) from None
    return result


def batch_of(df: DataFrame) -> None:
    """Return None. Each run of a query has its own process, so `route` needs no batch."""


def explain(df: DataFrame, mode: str) -> str:
    """Return the server's description of the window operators of `df`."""
    (row,) = call(df, "explain", mode, []).collect()
    return str(row[0])


def _result(
    df: DataFrame, method: str, message: str, columns: Sequence[MessageColumn]
) -> DataFrame:
    assert isinstance(df, ConnectDataFrame)
    parameters = [F.lit(__version__), F.lit(message), *map(column, columns)]
    return ConnectDataFrame(_Call(df._plan, method, parameters), df.sparkSession)


class _Call(LogicalPlan):
    """The relation of a call. It is Spark's own message of a hint, in an extension."""

    def __init__(self, child: LogicalPlan, method: str, parameters: Sequence[Column]) -> None:
        super().__init__(child, self._collect_references(parameters))
        self._method = method
        self._parameters = parameters

    def plan(self, session: SparkConnectClient) -> proto.Relation:
        assert self._child is not None
        hint = proto.Hint(name=f"transom.{self._method}")
        hint.input.CopyFrom(self._child.plan(session))
        for parameter in self._parameters:
            hint.parameters.append(parameter.to_plan(session))  # type: ignore[operator]
        relation = self._create_proto_relation()
        relation.extension.Pack(hint)
        return self._with_relations(relation, session)
