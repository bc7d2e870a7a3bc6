"""Aggregates of the user's own: `reduce` and `udaf`."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType

from transom._base.constants import PARTS_FUNCTION, PLACE_FUNCTION, REDUCE_FUNCTION
from transom._base.errors import type_error
from transom._base.expressions import (
    Col,
    call_binary,
    check_binary,
    check_column,
    column,
    internal,
    text_of,
)
from transom._base.misplaced import explained
from transom._calls.accumulating import Accumulation
from transom._calls.applying import check_arguments, schema_of, type_of
from transom.accumulators import Accumulator

_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "init": (),
    "add": ("acc", "rows"),
    "merge": ("left", "right"),
    "remove": ("acc", "rows"),
    "result": ("acc",),
}


@explained
def reduce(col: Col, merge: Callable[[Column, Column], Column]) -> Column:
    """Aggregate values by an expression that merges two of them, for `Windowed.agg`.

    Python builds the expression once, and the JVM evaluates it. Values are merged in no particular
    order, so ``merge`` must be associative and commutative.

    Parameters
    ----------
    col : str or Column
        The values. Nulls are ignored. The result is null if a window has no other value.
    merge : callable
        Takes two Columns and returns a Column, as ``lambda a, b: F.greatest(a, b)`` does. The
        returned Column has the type of ``col``, and uses no column except the two.

    Returns
    -------
    Column
        The aggregate.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if ``merge`` is no function of two arguments, or returns no Column.
    IllegalArgumentException
        `Windowed.agg` raises ``TRANSOM_AGGREGATE_UNSUPPORTED`` if ``merge`` returns a type
        other than the type of ``col``, or uses other columns.

    Examples
    --------
    >>> flags = spark.createDataFrame([("a", 1), ("a", 4), ("b", 2)], "k string, flags int")
    >>> by_k = transom.stream(flags).key_by("k").window(transom.Global())
    >>> all_flags = transom.reduce("flags", lambda a, b: a.bitwiseOR(b)).alias("flags")
    >>> by_k.trigger(transom.EndOfStream()).agg(all_flags).orderBy("k").show()
    +---+------+-----+
    |  k|window|flags|
    +---+------+-----+
    |  a|  NULL|    5|
    |  b|  NULL|    2|
    +---+------+-----+
    """
    check_column("col", col)
    check_binary("merge", merge, "a function of two values, as in lambda a, b: F.greatest(a, b)")

    def merged(left: Column, right: Column) -> Column:
        return call_binary("merge", merge, left, right)

    # Spark derives the types of lambda variables from arrays. Both variables of zip_with get the
    # type of `col`.
    values = F.array(column(col))
    return internal(REDUCE_FUNCTION, F.zip_with(values, values, merged))


@explained
def udaf(accumulator: Accumulator[Any], *cols: Col, returns: DataType | str) -> Column:
    """Aggregate columns by an accumulator written in Python, for `Windowed.agg`.

    In the slice log, rows become accumulators before the exchange: one for each key and slice of an
    Arrow batch. In the keyed layout, and for sessions over streams, the rows themselves cross the
    exchange, and the state stores them. Each result then adds the rows of its window again, unless
    the accumulator can remove rows (`Accumulator`).

    Parameters
    ----------
    accumulator : Accumulator
        The aggregate.
    *cols : str or Column
        The columns of the tables that `Accumulator.add` receives. They keep their names.
    returns : DataType or str
        The type of the result.

    Returns
    -------
    Column
        The aggregate.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_SCHEMA`` for a bad ``state`` or ``returns``. ``TRANSOM_BAD_FUNCTION`` if a
        method of the accumulator has other arguments. ``TRANSOM_PIPELINE_UNSUPPORTED`` for a schema
        as text in a flow of a pipeline.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkRuntimeError
        In a worker, while the query runs: ``TRANSOM_FUNCTION_FAILED`` if the accumulator raises,
        and ``TRANSOM_FUNCTION_SCHEMA`` if it returns other types than ``state`` and ``returns``.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> class Product(transom.Accumulator[tuple[float]]):
    ...     state = "product double"
    ...     def init(self):
    ...         return (1.0,)
    ...     def add(self, acc, rows):
    ...         return (acc[0] * pc.product(rows["factor"], min_count=0).as_py(),)
    ...     def merge(self, left, right):
    ...         return (left[0] * right[0],)
    ...     def result(self, acc):
    ...         return acc[0]
    >>> rows = spark.createDataFrame([("a", 2.0), ("a", 3.0)], "k string, factor double")
    >>> by_k = transom.stream(rows).key_by("k").window(transom.Global())
    >>> product = transom.udaf(Product(), "factor", returns="double").alias("product")
    >>> by_k.trigger(transom.EndOfStream()).agg(product).show()
    +---+------+-------+
    |  k|window|product|
    +---+------+-------+
    |  a|  NULL|    6.0|
    +---+------+-------+
    """
    candidate: object = accumulator
    if not isinstance(candidate, Accumulator):
        expected = "an instance of a class that extends transom.Accumulator"
        raise type_error("accumulator", accumulator, expected)
    if not cols:
        raise type_error("cols", cols, "at least one column for the accumulator")
    for col in cols:
        check_column("cols", col)
    name = type(accumulator).__qualname__
    for method, arguments in _ARGUMENTS.items():
        check_arguments(method, getattr(accumulator, method), arguments)
    schema: Any = getattr(accumulator, "state", None)
    if schema is None:
        raise type_error("state", schema, f"a schema in the class {name}, as in state = 'n long'")
    state = schema_of("state", schema, ())
    result = type_of("returns", returns)
    accumulation = Accumulation(
        name=name,
        accumulator=accumulator,
        state=to_arrow_schema(state, timezone="UTC"),
        result_type=to_arrow_type(result, timezone="UTC"),
        removes=type(accumulator).remove is not Accumulator.remove,
    )

    def parts(place: pa.Array, rows: pa.Array) -> pa.Array:
        return accumulation.parts(place, rows)

    def results(collected: pa.Array) -> pa.Array:
        return accumulation.results(collected)

    rows = F.struct(*(column(col) for col in cols))
    removes = accumulation.removes
    partials = _over_arrays(parts, state)(internal(PLACE_FUNCTION), rows)
    collected = internal(PARTS_FUNCTION, partials, rows, F.lit(removes))
    result_function = _over_arrays(results, result)
    if removes:
        # A result depends on the one before, so Spark must call the function for all of them.
        result_function = result_function.asNondeterministic()
    result_column: Column = result_function(collected)
    return result_column.alias(f"{name}({', '.join(text_of(col) for col in cols)})")


def _over_arrays(function: Callable[..., pa.Array], kind: DataType) -> Any:
    return arrow_udf(function, kind)  # type: ignore[call-overload]
