"""User functions over windows: `reduce`, and the `Context` of `Windowed.apply`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from transom._columns import Col, check_binary, check_column, column, internal
from transom._constants import REDUCE_FUNCTION
from transom._errors import type_error


@dataclass(frozen=True, slots=True)
class Context:
    """The key, window and time of a call of a `Windowed.apply` function.

    Timestamps are `datetime` values in UTC.

    Attributes
    ----------
    key : Row
        The values of the keys, by name. Empty without keys.
    window : Row or None
        ``start`` and ``end`` of the window. None for `Global` windows, and for `Count` windows over
        rows without time.
    window_id : str or None
        Always None in this version, where a window operator has one kind of window.
    pane : Row or None
        The fields that `Windowed.with_pane` describes. None without that step.
    watermark : datetime or None
        The watermark when the window fired. None before the first watermark, for static DataFrames,
        and after a drain has ended the input.
    clock : datetime
        The wall clock: the start of the micro-batch, or of the query over a static DataFrame.
    window_state : dict
        State of this key and window, by name, for functions with ``window_state``. Values that a
        function sets are there in its next call. They are None in the first call, and are dropped
        with the window.
    key_state : dict
        State of this key, by name, for functions with ``key_state``. It is never dropped.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> now = datetime(2013, 1, 1, 6, tzinfo=UTC)
    >>> context = Context(Row(origin="JFK"), None, None, None, None, now)
    >>> context.key["origin"]
    'JFK'
    """

    key: Row
    window: Row | None
    window_id: str | None
    pane: Row | None
    watermark: datetime | None
    clock: datetime
    window_state: dict[str, Any] = field(default_factory=dict)
    key_state: dict[str, Any] = field(default_factory=dict)
    _outputs: list[tuple[str, Any]] = field(default_factory=list, repr=False)

    def output(self, name: str, rows: Any) -> None:
        """Emit rows to a named output of `Windowed.apply`.

        Parameters
        ----------
        name : str
            Name of the output, one of the keys of ``outputs``.
        rows : pyarrow.Table or pandas.DataFrame
            The rows, of the type that the function returns, with the columns in the schema of the
            output.

        Raises
        ------
        PySparkRuntimeError
            ``TRANSOM_FUNCTION_SCHEMA`` for an unknown output or other columns. The worker raises it
            after the function has returned.
        """
        self._outputs.append((name, rows))


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
        `Windowed.agg` raises ``TRANSOM_AGGREGATE_UNSUPPORTED`` if ``merge`` returns another type
        than that of ``col``, or uses other columns.

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
        both = merge(left, right)
        if not isinstance(both, Column):
            raise type_error("merge", both, "a function of two values that returns a Column")
        return both

    # Spark derives the type of a lambda variable from an array: zip_with gives both that of `col`.
    values = F.array(column(col))
    return internal(REDUCE_FUNCTION, F.zip_with(values, values, merged))
