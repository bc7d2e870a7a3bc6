"""The columns of a DataFrame, and checks of columns against it that need no query."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    NullType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from transom._base.constants import COLUMN_OF
from transom._base.errors import type_error, value_error
from transom._base.expressions import Col, text_of

# Names and types of columns.
Schema = str | StructType

# Characters of expressions that names of columns rarely have.
_OPERATORS = re.compile(r"[()+*/%<>=|']")
# Names with a descending order, and with another name, as SQL has them.
_DESCENDING = re.compile(r"-(\w+)|(\w+)\s+desc", re.IGNORECASE)
_RENAMED = re.compile(r"(\w+)\s+as\s+(\w+)", re.IGNORECASE)
# The condition with which Spark refuses to tell the columns of a pipeline before it runs.
_IN_FLOW = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
_UNKNOWN = ("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND")
# The text in an error of Spark's parser.
_PARSED = re.compile(r"== SQL ==\n(.*?)\n-*\^\^\^", re.DOTALL)
# The conditions of Spark for a key that is an aggregate, a generator or a window function.
_NO_KEY = ("GROUP_BY_AGGREGATE", "MISSING_AGGREGATION", "UNSUPPORTED_GENERATOR")


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


def folding(df: DataFrame) -> Callable[[str], str]:
    """Return a function that maps two names to one text if Spark takes them for one column."""
    is_sensitive = df.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    return str if is_sensitive else str.lower


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


def check_keys(df: DataFrame, keys: Sequence[Col]) -> None:
    """Check the keys of a stream against a DataFrame whose columns may be known.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` for a key that is no value of a single row.
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame lacks a column.
    """
    if not has_columns(df):
        return
    if len(fields_of(df, "keys", keys)) != len(keys):
        raise type_error("keys", list(map(text_of, keys)), "a name for each key, and no star")
    columns = [key for key in keys if isinstance(key, Column)]
    if not columns:
        return
    try:
        df.groupBy(*columns).agg(F.count("*")).schema  # noqa: B018, Spark analyzes the plan
    except AnalysisException as error:
        if (error.getCondition() or "").startswith(_NO_KEY):
            raise _of_several_rows("keys", columns) from None


def fields_of(df: DataFrame, argument: str, columns: Sequence[Col]) -> list[StructField]:
    """Return the names, types and metadata of columns.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` for an aggregate.
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame lacks a column.
    """
    if not columns:
        return []
    for name in columns:
        if isinstance(name, str) and _is_missing(df, name):
            raise _unknown(df, argument, name)
    with known_columns(df, argument):
        # Beside other columns, Spark refuses an aggregate.
        try:
            return list(df.select("*", *columns).schema)[len(df.columns) :]
        except AnalysisException as error:
            if error.getCondition() != "MISSING_GROUP_BY":
                raise
            raise _of_several_rows(argument, columns) from None


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
    """Convert errors of Spark to ``TRANSOM_UNKNOWN_COLUMN`` and ``TRANSOM_BAD_EXPRESSION``."""
    try:
        yield
    except ParseException as error:
        # Spark parses the text of F.expr() when the Column is used.
        sql = _PARSED.search(str(error))
        if sql is None:
            raise
        parameters = {"argument": argument, "value": repr(sql[1]), "why": first_line(error)}
        raise value_error("BAD_EXPRESSION", **parameters) from None
    except AnalysisException as error:
        if error.getCondition() == "NESTED_AGGREGATE_FUNCTION":
            why = "both would aggregate the rows of a window"
            kind = "An aggregate of another aggregate"
            raise value_error("AGGREGATE_UNSUPPORTED", aggregate=kind, why=why) from None
        if not (error.getCondition() or "").startswith(_UNKNOWN):
            raise
        parameters = error.getMessageParameters() or {}
        name = parameters.get("objectName") or parameters.get("fieldName") or ""
        raise _unknown(df, argument, name.replace("`", "")) from None


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


def _unknown(df: DataFrame, argument: str, name: str) -> Exception:
    columns = quoted_list(df.columns)
    if "." in name and name.lower() in (column.lower() for column in df.columns):
        columns += f". A name with a dot needs backticks: '`{name}`'"
    elif _OPERATORS.search(name):
        columns += f", or an expression: F.expr({name!r})"
    elif sorting := _DESCENDING.fullmatch(name):
        columns += f". For the largest number first, write -F.col({sorting[1] or sorting[2]!r})"
    elif renamed := _RENAMED.fullmatch(name):
        columns += f", or F.col({renamed[1]!r}).alias({renamed[2]!r})"
    elif df.columns[:2] == ["tag", "results"]:
        columns += ". These are tagged rows: their results are untag(df, 'results')"
    elif argument == "aggregates" and name.startswith("window."):
        columns += ". The window is a column of the result, so select it after agg()"
    return value_error("UNKNOWN_COLUMN", argument=argument, column=repr(name), columns=columns)


def _of_several_rows(argument: str, columns: Sequence[Col]) -> Exception:
    value = columns[0] if len(columns) == 1 else list(columns)
    expected = "a value of each row: no aggregate, no explode() and no function with over()"
    return type_error(argument, value, expected)


def first_line(error: Exception) -> str:
    """Return the first line of the text of an error of Spark."""
    return str(error).strip().split("\n")[0].removesuffix(".")
