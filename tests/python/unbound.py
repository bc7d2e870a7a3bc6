"""DataFrames without a session, and builders without a DataFrame."""

from typing import Any, cast

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
        return Rows(StructType([self._schema[str(column)] for column in columns]))


def windowed(window: transom.Window, **settings: Any) -> Windowed:
    """A builder with these windows and settings."""
    return Windowed(cast("DataFrame", None), WindowSpec(window=window, **settings))


HOURS = windowed(transom.Tumbling(size="1 hour"), time=transom.EventTime("at"))
EVER = windowed(transom.Global())
ON_THE_CLOCK = windowed(transom.Tumbling(size="1 hour"), time=transom.ProcessingTime())
# Parsing a schema from text needs a session.
NUMBER = StructType([StructField("n", LongType())])
