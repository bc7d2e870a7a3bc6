"""Aggregates written in Python: `Accumulator` and `udaf`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StructType

from transom._accumulating import Accumulation
from transom._applying import check_arguments, schema_of, type_of
from transom._columns import Col, check_column, column, internal, text_of
from transom._constants import PARTS_FUNCTION, PLACE_FUNCTION
from transom._errors import type_error

A = TypeVar("A")

_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "init": (),
    "add": ("acc", "rows"),
    "merge": ("left", "right"),
    "result": ("acc",),
}


class Accumulator(ABC, Generic[A]):
    """Base class of an aggregate written in Python, for `udaf`.

    Rows arrive as Arrow tables of many rows, never one by one. An accumulator ``A`` is a tuple of
    the values that `state` names. Spark builds several accumulators for a window, each from some of
    its rows, and merges them. Neither the order of merges nor the split of the rows is fixed.

    The methods must depend on their arguments only. They run in several processes, and run again
    when Spark repeats a task.

    Attributes
    ----------
    state : str or StructType
        Names and types of the values of an accumulator.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> class Mean(transom.Accumulator[tuple[float, int]]):
    ...     state = "total double, n long"
    ...     def init(self):
    ...         return 0.0, 0
    ...     def add(self, acc, rows):
    ...         column = rows["delay"]
    ...         return acc[0] + (pc.sum(column).as_py() or 0.0), acc[1] + pc.count(column).as_py()
    ...     def merge(self, left, right):
    ...         return left[0] + right[0], left[1] + right[1]
    ...     def result(self, acc):
    ...         return acc[0] / acc[1] if acc[1] else None
    >>> rows = spark.createDataFrame([("JFK", 12), ("JFK", 40)], "origin string, delay int")
    >>> by_origin = transom.stream(rows).key_by("origin").window(transom.Global())
    >>> mean = transom.udaf(Mean(), "delay", returns="double").alias("mean")
    >>> by_origin.trigger(transom.EndOfStream()).agg(mean, F.count("*").alias("n")).show()
    +------+------+----+---+
    |origin|window|mean|  n|
    +------+------+----+---+
    |   JFK|  NULL|26.0|  2|
    +------+------+----+---+
    """

    state: ClassVar[str | StructType]

    @abstractmethod
    def init(self) -> A:
        """Return the accumulator of no rows."""

    @abstractmethod
    def add(self, acc: A, rows: pa.Table) -> A:
        """Return the accumulator with one or more rows added."""

    @abstractmethod
    def merge(self, left: A, right: A) -> A:
        """Return the accumulator of the rows of both arguments."""

    @abstractmethod
    def result(self, acc: A) -> Any:
        """Return the result of a window, of the type ``returns`` of `udaf`."""

    def remove(self, acc: A, rows: pa.Table) -> A:
        """Return the accumulator without these rows.

        Optional. This version never calls it.
        """
        raise NotImplementedError


def udaf(accumulator: Accumulator[Any], *cols: Col, returns: DataType | str) -> Column:
    """Aggregate columns by an accumulator written in Python, for `Windowed.agg`.

    In the slice log, rows become accumulators before the exchange: one for each key and slice of an
    Arrow batch. In the keyed layout, and for sessions over streams, the rows themselves cross the
    exchange, and the state stores them.

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
        method of the accumulator has other arguments.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkRuntimeError
        In a worker, while the query runs: ``TRANSOM_FUNCTION_FAILED`` if the accumulator raises,
        and ``TRANSOM_FUNCTION_SCHEMA`` if it returns other types than ``state`` and ``returns``.
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
    state = schema_of("state", schema, ())
    result = type_of("returns", returns)
    accumulation = Accumulation(
        name=name,
        accumulator=accumulator,
        state=to_arrow_schema(state, timezone="UTC"),
        result_type=to_arrow_type(result, timezone="UTC"),
    )

    def parts(place: pa.Array, rows: pa.Array) -> pa.Array:
        return accumulation.parts(place, rows)

    def results(collected: pa.Array) -> pa.Array:
        return accumulation.results(collected)

    rows = F.struct(*(column(col) for col in cols))
    partials = _over_arrays(parts, state)(internal(PLACE_FUNCTION), rows)
    result_column = _over_arrays(results, result)(internal(PARTS_FUNCTION, partials, rows))
    return result_column.alias(f"{name}({', '.join(text_of(col) for col in cols)})")


def _over_arrays(function: Callable[..., pa.Array], kind: DataType) -> Callable[..., Column]:
    udf: Callable[..., Column] = arrow_udf(function, kind)  # type: ignore[call-overload]
    return udf
