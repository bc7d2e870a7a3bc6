"""Columns as users name them, and what can be known about them before a query is built."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction
from pyspark.sql.types import DataType, StructField, StructType, TimestampNTZType, TimestampType

from transom._errors import type_error, value_error

Col = str | Column
# True or false for a row; a text is SQL, as in DataFrame.filter.
Condition = str | Column
# How far a row is from an older one: makes a Column of both, the older one first.
Delta = Callable[[Column, Column], Column]

# Names of the columns that transom adds to rows, in both languages.
HIDDEN_PREFIX = "__transom"
# Where `stream` puts a time that it has to compute for the watermark.
HIDDEN_TIME = "__transom_time"
# The rows that a delta compares, as struct columns; the JVM knows them by these names.
OLDER_ROW = "__transom_older"
NEWER_ROW = "__transom_newer"

_UNKNOWN = ("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND")

# Spark's key for what withWatermark writes beside a column.
_WATERMARK = "spark.watermarkDelayMs"


def check_column(argument: str, value: object) -> None:
    """A column or its name."""
    if not isinstance(value, str | Column):
        raise type_error(argument, value, "a Column or the name of one")


def internal(name: str, *columns: Column) -> Column:
    """A call of a function of the jar's, which SQL does not know."""
    return InternalFunction._invoke_internal_function_over_columns(name, *columns)


class Sql(str):
    """SQL, where another text would be the name of a column."""

    __slots__ = ()


def condition_of(argument: str, value: Condition) -> Condition:
    """A condition as values keep it."""
    if not isinstance(value, str | Column):
        raise type_error(argument, value, "a Column that is true or false, or one as SQL")
    return Sql(value) if isinstance(value, str) else value


def check_delta(argument: str, value: object) -> None:
    """A function of two rows."""
    example = "lambda old, new: new['v'] - old['v']"
    check_binary(argument, value, f"a function of two rows, as in {example}")


def check_binary(argument: str, value: object, expected: str) -> None:
    """A function of two arguments."""
    try:
        inspect.signature(value).bind(None, None)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise type_error(argument, value, expected) from None


def column(given: Col | Delta) -> Column:
    """The column of a name, of SQL or of a delta."""
    if isinstance(given, Column):
        return given
    if isinstance(given, str):
        return F.expr(given) if isinstance(given, Sql) else F.col(given)
    distance = given(F.col(OLDER_ROW), F.col(NEWER_ROW))
    if not isinstance(distance, Column):
        raise type_error("delta", distance, "a function that makes a Column of two rows")
    return distance


def text_of(name: Col) -> str:
    """How the column reads in SQL.

    Examples
    --------
    >>> text_of("departed")
    'departed'
    """
    return name if isinstance(name, str) else str(name).removeprefix("Column<'").removesuffix("'>")


def fields_of(df: DataFrame, argument: str, columns: Sequence[Col]) -> list[StructField]:
    """Names, types and metadata of columns, which the DataFrame must have."""
    if not columns:
        return []
    for name in columns:
        if isinstance(name, str) and _is_missing(df, name):
            raise _unknown(df, argument, repr(name))
    with known_columns(df, argument):
        return list(df.select(*columns).schema)


@contextmanager
def known_columns(df: DataFrame, argument: str) -> Iterator[None]:
    """Names the argument if Spark cannot find a column."""
    try:
        yield
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith(_UNKNOWN):
            raise
        parameters = error.getMessageParameters() or {}
        name = parameters.get("objectName") or parameters.get("fieldName")
        raise _unknown(df, argument, name) from None


def is_time(kind: DataType) -> bool:
    """Whether it is a timestamp, or a window with two of them."""
    if isinstance(kind, StructType):
        return kind.names == ["start", "end"] and all(is_timestamp(f.dataType) for f in kind)
    return is_timestamp(kind)


def is_timestamp(kind: DataType) -> bool:
    """Whether it is a timestamp, with time zone or without."""
    return isinstance(kind, TimestampType | TimestampNTZType)


def has_watermark(field: StructField) -> bool:
    """Whether `withWatermark` was called for it."""
    return _WATERMARK in field.metadata


def listed(names: Sequence[str]) -> str:
    """The names, for an error.

    Examples
    --------
    >>> listed(["k", "v"])
    "'k', 'v'"
    """
    return ", ".join(repr(name) for name in names) or "none"


def _is_missing(df: DataFrame, name: str) -> bool:
    # Spark finds more than the columns by other names, such as `_metadata`: there it has to be
    # asked. But its error comes with a stack trace in the log, which a slip is not worth.
    plain = name.isidentifier() and not name.startswith("_")
    return plain and name.lower() not in (column.lower() for column in df.columns)


def _unknown(df: DataFrame, argument: str, name: object) -> Exception:
    return value_error("UNKNOWN_COLUMN", argument=argument, column=name, columns=listed(df.columns))
