"""DataFrames without a session, and builders over them."""

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import LongType, StructField, StructType

import transom
from transom.spec import WindowSpec
from transom.windowed import Windowed


class Rows(DataFrame):
    """A streaming DataFrame without a session, of which only the schema can be read."""

    _schema: StructType

    def __new__(cls, schema: StructType) -> "Rows":
        rows = object.__new__(cls)
        rows._schema = schema
        return rows

    @property
    def schema(self) -> StructType:
        return self._schema

    @property
    def columns(self) -> list[str]:
        return self._schema.names

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        return True

    def select(self, *columns: str | Column) -> DataFrame:  # type: ignore[override]
        found = list(self._schema) if columns[0] == "*" else []
        named = columns[1:] if columns[0] == "*" else columns
        return type(self)(StructType([*found, *(self._schema[str(column)] for column in named)]))


class RowsOfFlow(Rows):
    """A DataFrame in a flow of a pipeline: Spark does not tell its columns."""

    @property
    def schema(self) -> StructType:
        condition = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
        raise AnalysisException("", errorClass=condition, messageParameters={})

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        raise AssertionError("a flow does not know whether it is a stream")


def windowed(window: transom.Window, **settings: Any) -> Windowed:
    """A builder with these windows and settings."""
    return Windowed(Rows(StructType()), WindowSpec(window=window, **settings))


HOURS = windowed(transom.Tumbling(size="1 hour"), time=transom.EventTime("at"))
EVER = windowed(transom.Global())
ON_THE_CLOCK = windowed(transom.Tumbling(size="1 hour"), time=transom.ProcessingTime())
# Parsing a schema from text needs a session.
NUMBER = StructType([StructField("n", LongType())])
