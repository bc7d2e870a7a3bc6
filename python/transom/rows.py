"""Rows on their way into windows, and their columns."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transom.errors import type_error, value_error

Col = str | Column


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A DataFrame with what of it is the time, and the keys."""

    df: DataFrame
    time: Column | None = None
    keys: tuple[Column, ...] = ()


def column_of(df: DataFrame, arg: str, column: object) -> Column:
    """The column of a name; ``TRANSOM_UNKNOWN_COLUMN`` if there is none."""
    if isinstance(column, Column):
        return column
    if not isinstance(column, str):
        raise type_error(arg, "a column or its name", column)
    # The JVM is asked only about names that are not plain: paths, other case, those that occur
    # twice.
    if not (column.isidentifier() and df.columns.count(column) == 1):
        try:
            df.select(column)
        except AnalysisException as error:
            if not (error.getCondition() or "").startswith(
                ("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND")
            ):
                raise
            raise value_error(
                "UNKNOWN_COLUMN", arg=arg, column=repr(column), columns=", ".join(df.columns)
            ) from None
    return F.col(column)
