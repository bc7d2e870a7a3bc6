"""Functions of the user's over windows: what they fold by, and what they are told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from transom._columns import Col, check_binary, check_column, column, internal
from transom._errors import type_error

# The jar's name for it, see Reduce.scala.
_REDUCE = "__transom_reduce"


@dataclass(frozen=True, slots=True)
class Context:
    """Which window a function is called for, and when; `Windowed.apply` hands it over.

    Instants are `datetime` values in UTC.

    Attributes
    ----------
    key : Row
        The values of the keys, by name; no fields without keys.
    window : Row or None
        ``start`` and ``end``; None for `Global` windows, and for `Count` windows of rows without
        time.
    window_id : str or None
        Always None: a stage has one window.
    pane : Row or None
        As `Windowed.with_pane` has it; None without that step.
    watermark : datetime or None
        How far event time had come when the window fired. None before the first watermark, for
        static DataFrames, and when time has ended.
    clock : datetime
        The wall clock: when the micro-batch, or the query over a static DataFrame, began.
    window_state : dict
        What was kept for this window and key, by name, for `Windowed.apply` with ``window_state``.
        Values that are put in are there in the next call; they are None at first, and gone when
        the window is.
    key_state : dict
        The same for this key, with ``key_state``, for good.

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
    _given: list[tuple[str, Any]] = field(default_factory=list, repr=False)

    def output(self, name: str, rows: Any) -> None:
        """Hand on rows beside the results, for `Windowed.apply` with ``outputs``.

        Parameters
        ----------
        name : str
            Of the output.
        rows : pyarrow.Table or pandas.DataFrame
            As the function returns them, with the columns of the output's schema.

        Raises
        ------
        PySparkRuntimeError
            ``TRANSOM_FUNCTION_SCHEMA``, when the function has returned, for an output that was not
            announced and for other columns.
        """
        self._given.append((name, rows))


def reduce(col: Col, merge: Callable[[Column, Column], Column]) -> Column:
    """Fold the values of a window by an expression of two of them; goes into `Windowed.agg`.

    The JVM evaluates the expression: Python makes it, once. In which order values are folded is not
    said, nor whether folded ones are the left or the right.

    Parameters
    ----------
    col : str or Column
        The values. Nulls are left out; a window with nothing else has a null.
    merge : callable
        Makes a Column of two, as in ``lambda a, b: F.greatest(a, b)``: of the type of ``col``, and
        of nothing else than these two.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``, for a ``merge`` that is no function of two or makes no Column.
    IllegalArgumentException
        ``TRANSOM_AGGREGATE_UNSUPPORTED`` by `Windowed.agg`, if ``merge`` gives another type than
        that of ``col`` or reads other columns.

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
            raise type_error("merge", both, "a function that makes a Column of two values")
        return both

    # Spark tells variables of a function the types of the arrays that it goes through.
    values = F.array(column(col))
    return internal(_REDUCE, F.zip_with(values, values, merged))
