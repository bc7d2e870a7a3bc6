"""Columns as users name them, and checks that need no query."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction
from pyspark.sql.types import (
    DataType,
    NullType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from transom._base.constants import COLUMN_OF, NEWER_ROW, OLDER_ROW
from transom._base.errors import type_error, value_error

# The end of the text of F.asc() and F.desc(), which Spark computes only where it sorts.
_SORTS = re.compile(r" (ASC|DESC) NULLS (FIRST|LAST)$")

Col = str | Column
# A boolean expression. A string is parsed as SQL, as in DataFrame.filter.
Condition = str | Column
# A distance function: takes the older and the newer row, and returns a numeric Column.
Delta = Callable[[Column, Column], Column]
# Names and types of columns.
Schema = str | StructType

# The condition with which Spark refuses to tell the columns of a pipeline before it runs.
_IN_FLOW = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"

_UNKNOWN = ("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND")


_COLUMN = "a Column or a column name"


def check_column(argument: str, value: object, *, no_list: str = _COLUMN) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is neither a Column nor a name, or sorts.

    For a list or a tuple, ``no_list`` says what to write instead.
    """
    check_sortable(argument, value, no_list=no_list)
    if isinstance(value, Column) and _SORTS.search(text_of(value)):
        expected = "a Column without an order. For the largest number first, write -F.col('n')"
        raise type_error(argument, value, expected)


def check_sortable(argument: str, value: object, *, no_list: str = _COLUMN) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is neither a Column nor a name."""
    if not isinstance(value, str | Column):
        raise type_error(argument, value, no_list if isinstance(value, list | tuple) else _COLUMN)


def internal(name: str, *columns: Column) -> Column:
    """Call a function of the jar that is not registered in SQL."""
    return InternalFunction._invoke_internal_function_over_columns(name, *columns)


class Sql(str):
    """A string with SQL. Any other string is the name of a column."""

    __slots__ = ()


def condition_of(argument: str, value: Condition) -> Condition:
    """Check a boolean expression, and mark a string as SQL."""
    if not isinstance(value, str | Column):
        raise type_error(argument, value, "a boolean Column, or a boolean expression in SQL")
    return Sql(value) if isinstance(value, str) else value


def check_delta(argument: str, value: object) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is no function of two rows."""
    example = "lambda old, new: new['v'] - old['v']"
    check_binary(argument, value, f"a function of two rows, as in {example}")


def check_binary(argument: str, value: object, expected: str) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is no function of two arguments."""
    try:
        inspect.signature(value).bind(None, None)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise type_error(argument, value, expected) from None


def column(source: Col | Delta) -> Column:
    """Return the Column of a name, of SQL, or of a distance function."""
    if isinstance(source, Column):
        return source
    if isinstance(source, str):
        return F.expr(source) if isinstance(source, Sql) else F.col(source)
    distance = source(F.col(OLDER_ROW), F.col(NEWER_ROW))
    if not isinstance(distance, Column):
        raise type_error("delta", distance, "a function of two rows that returns a Column")
    return distance


def quoted(name: str) -> str:
    """Return the name of a column in SQL.

    Examples
    --------
    >>> quoted("a b")
    '`a b`'
    """
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def all_but(*names: str) -> Column:
    """Return the columns that have other names, for a select.

    `DataFrame.drop` and `DataFrame.withColumn` resolve their input at once, also in a flow.
    """
    return F.expr(f"* EXCEPT ({', '.join(map(quoted, names))})")


def text_of(name: Col) -> str:
    """Return the SQL text of a column.

    Examples
    --------
    >>> text_of("departed")
    'departed'
    """
    return name if isinstance(name, str) else str(name).removeprefix("Column<'").removesuffix("'>")


def has_columns(df: DataFrame) -> bool:
    """Return whether the columns of a DataFrame are known. Those of a pipeline's flow are not."""
    try:
        # A DataFrame in a flow may know its own schema, but not that of a select over it.
        df.select("*").schema  # noqa: B018, Spark analyzes the plan
    except AnalysisException as error:
        if not is_in_flow(error):
            raise
        return False
    return True


def may_be_streaming(df: DataFrame) -> bool:
    """Return whether a DataFrame is a stream, or may be one in a flow of a pipeline."""
    try:
        return df.isStreaming
    except AnalysisException as error:
        if not is_in_flow(error):
            raise
        return True


def is_in_flow(error: AnalysisException) -> bool:
    """Return whether Spark raised an error because it analyzes no plan in a flow of a pipeline."""
    return error.getCondition() == _IN_FLOW


def column_of(name: str) -> StructField:
    """Return a field that stands for a column of the window operator, see `map_in_arrow`.

    ``CALL_KEY_PREFIX`` stands for all keys.
    """
    return StructField(name, NullType(), metadata={COLUMN_OF: True})


def check_exist(df: DataFrame, argument: str, columns: Sequence[Col]) -> None:
    """Raise ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame is known to lack a column."""
    if has_columns(df):
        fields_of(df, argument, columns)


def check_named(df: object, argument: str, value: object) -> None:
    """Check a column under the name of an argument of a preset.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if the value is neither a Column nor a name.
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if `df` is a DataFrame that is known to lack the column.
    """
    check_column(argument, value)
    if isinstance(df, DataFrame) and isinstance(value, str | Column):
        check_exist(df, argument, [value])


def fields_of(df: DataFrame, argument: str, columns: Sequence[Col]) -> list[StructField]:
    """Return the names, types and metadata of columns.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame lacks a column.
    """
    if not columns:
        return []
    for name in columns:
        if isinstance(name, str) and _is_missing(df, name):
            raise _unknown(df, argument, repr(name))
    with known_columns(df, argument):
        return list(df.select(*columns).schema)


def field_of(df: DataFrame, argument: str, named: Col) -> StructField:
    """Return the name, type and metadata of a single column.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` for a star, which stands for several columns.
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame lacks the column.
    """
    found = fields_of(df, argument, [named])
    if len(found) != 1:
        expected = f"a single column, not {len(found)} of them"
        raise type_error(argument, text_of(named), expected)
    return found[0]


@contextmanager
def known_columns(df: DataFrame, argument: str) -> Iterator[None]:
    """Convert Spark's error for an unknown column to ``TRANSOM_UNKNOWN_COLUMN``."""
    try:
        yield
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith(_UNKNOWN):
            raise
        parameters = error.getMessageParameters() or {}
        name = parameters.get("objectName") or parameters.get("fieldName") or ""
        raise _unknown(df, argument, repr(name.replace("`", ""))) from None


def is_time(kind: DataType) -> bool:
    """Return whether a type is a timestamp, or a window with timestamps as start and end."""
    if isinstance(kind, StructType):
        return kind.names == ["start", "end"] and all(is_timestamp(f.dataType) for f in kind)
    return is_timestamp(kind)


def is_timestamp(kind: DataType) -> bool:
    """Return whether a type is a timestamp, with or without time zone."""
    return isinstance(kind, TimestampType | TimestampNTZType)


def quoted_list(names: Sequence[str]) -> str:
    """Return the quoted names, separated by commas, or "none". For errors.

    Examples
    --------
    >>> quoted_list(["k", "v"])
    "'k', 'v'"
    """
    return ", ".join(repr(name) for name in names) or "none"


def _is_missing(df: DataFrame, name: str) -> bool:
    # Only a plain name can be checked here: Spark also resolves paths such as `a.b`, and hidden
    # columns such as `_metadata`. The check saves a stack trace that Spark would log.
    plain = name.isidentifier() and not name.startswith("_")
    return plain and name.lower() not in (column.lower() for column in df.columns)


def _unknown(df: DataFrame, argument: str, name: object) -> Exception:
    return value_error(
        "UNKNOWN_COLUMN", argument=argument, column=name, columns=quoted_list(df.columns)
    )
