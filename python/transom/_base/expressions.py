"""Expressions as users write them: Columns, SQL, and functions that make Columns."""

import inspect
import re
from collections.abc import Callable

from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from transom._base.constants import NEWER_ROW, OLDER_ROW
from transom._base.errors import type_error, value_error

Col = str | Column
# A boolean expression. A string is parsed as SQL, as in DataFrame.filter.
Condition = str | Column
# A distance function: takes the older and the newer row, and returns a numeric Column.
Delta = Callable[[Column, Column], Column]

# The end of the text of F.asc() and F.desc(), which Spark computes only where it sorts.
_SORTS = re.compile(r" (ASC|DESC) NULLS (FIRST|LAST)$")
_COLUMN = "a Column or a column name"
_NO_CONDITIONS = (
    "F.greatest(a, b), or F.when(a > b, a).otherwise(b) in place of if. Write &, | and ~ in place"
    " of and, or and not"
)
_NO_FUNCTIONS = "functions over Columns, such as F.abs(a) in place of abs(a)"


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
    """Return the Column of a name, of SQL, or of a distance function.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if the function returns no Column.
    PySparkValueError
        ``TRANSOM_BAD_FUNCTION`` as in `call_binary`.
    """
    if isinstance(source, Column):
        return source
    if isinstance(source, str):
        return F.expr(source) if isinstance(source, Sql) else F.col(source)
    return call_binary("delta", source, F.col(OLDER_ROW), F.col(NEWER_ROW))


def call_binary(
    argument: str, function: Callable[[Column, Column], object], left: Column, right: Column
) -> Column:
    """Call a function that makes an expression of two Columns.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if it returns no Column.
    PySparkValueError
        ``TRANSOM_BAD_FUNCTION`` if it uses a Column as a condition of Python, or as a number.
    """
    try:
        made = function(left, right)
    except PySparkValueError as error:
        if error.getCondition() != "CANNOT_CONVERT_COLUMN_INTO_BOOL":
            raise
        raise _of_values(argument, function, _NO_CONDITIONS) from None
    except TypeError as error:
        # Python's text of abs(), round() and the functions of math.
        if "Column" not in str(error) or isinstance(error, PySparkTypeError):
            raise
        raise _of_values(argument, function, _NO_FUNCTIONS) from None
    if not isinstance(made, Column):
        raise type_error(argument, made, "a function of two values that returns a Column")
    return made


def _of_values(argument: str, function: object, expected: str) -> Exception:
    return value_error(
        "BAD_FUNCTION",
        argument=argument,
        value=repr(getattr(function, "__name__", function)),
        arguments="Columns instead of values",
        expected=expected,
    )


def text_of(name: Col) -> str:
    """Return the SQL text of a column.

    Examples
    --------
    >>> text_of("departed")
    'departed'
    """
    return name if isinstance(name, str) else str(name).removeprefix("Column<'").removesuffix("'>")
