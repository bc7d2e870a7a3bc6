"""Windows of a stream, and what is computed over them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, Union

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from transom import _applying, _bridge
from transom._columns import HIDDEN_TIME, known_columns
from transom._errors import type_error, value_error
from transom._steps import Steps
from transom.spec import Apply, RowsForm, WindowSpec
from transom.tagged import TAGS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Rows: TypeAlias = Union["pa.Table", "pd.DataFrame"]

# Columns that a result has, or will have in a later version, beside its keys and values.
_RESERVED = ("window", "window_id", "pane", "lifetime", "change")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Windowed(Steps):
    """Rows in windows, as `Stream.window` makes them.

    Each step gives another builder and can be taken once; `agg` and `apply` give a DataFrame.
    """

    def agg(self, *aggregates: Column) -> DataFrame:
        """Compute aggregates over each window.

        Parameters
        ----------
        *aggregates : Column
            Aggregates of Spark, with ``FILTER`` and ``DISTINCT`` too.

        Returns
        -------
        DataFrame
            The keys, ``window`` as ``struct<start, end>``, ``pane`` and ``change`` if they were
            asked for, and the aggregates; tagged rows after `with_late_rows` and
            `with_dead_letters`. A streaming one is written in append or update mode, which
            write the same rows, and can be windowed again.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_AGGREGATE``, ``TRANSOM_NEEDS_TRIGGER``, ``TRANSOM_RESERVED_NAME``,
            ``TRANSOM_UNKNOWN_COLUMN``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        PySparkRuntimeError
            ``TRANSOM_CONNECT_UNSUPPORTED``, ``TRANSOM_SPARK_VERSION``, ``TRANSOM_JAR_MISSING``,
            ``TRANSOM_JAR_VERSION``.
        IllegalArgumentException
            ``TRANSOM_NOT_AN_AGGREGATE``, ``TRANSOM_AGGREGATE_UNSUPPORTED``; for expressions of
            triggers and evictors ``TRANSOM_NOT_A_CONDITION``, ``TRANSOM_NOT_A_NUMBER``,
            ``TRANSOM_UNKNOWN_COLUMN``, ``TRANSOM_EXPRESSION_UNSUPPORTED``;
            ``TRANSOM_LAYOUT_UNSUPPORTED`` where ``layout="slices"`` cannot run the spec; when the
            query starts, ``TRANSOM_SPEC_CHANGED``, and after `drain` ``TRANSOM_DRAINED`` and
            ``TRANSOM_CANNOT_DRAIN``.
        """
        if not aggregates:
            raise value_error("NO_AGGREGATE", argument="aggregates")
        spec = replace(self._spec, aggregates=aggregates)
        result = self._stage("aggregates", spec)
        _check_names(result, spec)
        return _without_hidden_time(self._df, result, spec)

    def apply(
        self,
        fn: Callable[..., Rows],
        schema: str | StructType,
        *,
        form: RowsForm = "arrow",
        agg: Sequence[Column] = (),
        window_state: str | StructType | None = None,
        key_state: str | StructType | None = None,
        outputs: Mapping[str, str | StructType] | None = None,
    ) -> DataFrame:
        """Call a function of yours for each window, with all of its rows.

        It is called in Spark's Python workers, where this package must be installed too. A worker
        is handed the rows of many windows at a time. State holds the rows of a window until it is
        over; with ``agg`` it holds aggregates alone.

        Parameters
        ----------
        fn : callable
            ``fn(rows)`` or ``fn(rows, context)``: gets the rows in the order of their arrival, and
            a `Context` if it cannot be called without; returns any number of rows. Instants in a
            result need a time zone.
        schema : str or StructType
            What ``fn`` returns: these columns, in any order. Numbers become those of the schema as
            long as that changes none.
        form : {"arrow", "pandas"}
            What rows are: a ``pyarrow.Table`` or a ``pandas.DataFrame``, both ways.
        agg : sequence of Column
            Aggregates, of which ``fn`` gets one row in place of the window's rows.
        window_state : str or StructType, optional
            What ``context.window_state`` keeps for each window and key, until the window's end and
            lateness are over.
        key_state : str or StructType, optional
            What ``context.key_state`` keeps for each key, for good.
        outputs : mapping of str to str or StructType, optional
            Further results, by name: `Context.output` takes their rows.

        Returns
        -------
        DataFrame
            The keys, ``window``, ``pane`` if it was asked for, and the columns of ``schema``;
            tagged rows after `with_late_rows` and `with_dead_letters`, and with ``outputs``: a tag
            for each, with the keys, ``window`` and the columns of its schema.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_FUNCTION``, ``TRANSOM_BAD_SCHEMA``, ``TRANSOM_RESERVED_NAME``,
            ``TRANSOM_CONFLICT`` with `retract`, ``TRANSOM_STATE_WITH_MERGING`` for ``window_state``
            of windows that merge, ``TRANSOM_NEEDS_TRIGGER``, ``TRANSOM_BAD_CHOICE``,
            ``TRANSOM_UNKNOWN_COLUMN``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        PySparkRuntimeError
            As `agg`. While the query runs, ``TRANSOM_FUNCTION_FAILED`` if ``fn`` raises, with its
            error as the cause, and ``TRANSOM_FUNCTION_SCHEMA`` if it returns something else than
            ``schema`` says; both end the query.
        IllegalArgumentException
            As `agg`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> rows = spark.createDataFrame([("JFK", 12), ("JFK", 40)], "origin string, delay int")
        >>> def spread(rows):
        ...     delays = rows["delay"].to_pylist()
        ...     return pa.table({"spread": [max(delays) - min(delays)]})
        >>> by_origin = transom.stream(rows).key_by("origin").window(transom.Global())
        >>> by_origin.trigger(transom.EndOfStream()).apply(spread, "spread int").show()
        +------+------+------+
        |origin|window|spread|
        +------+------+------+
        |   JFK|  NULL|    28|
        +------+------+------+
        """
        _applying.check_function("fn", fn)
        if not isinstance(agg, Sequence):
            raise type_error("agg", agg, "a list of Columns such as [F.count('*')]")
        further = None if outputs is None else _applying.outputs_of(outputs, TAGS, _RESERVED)
        returned = _applying.schema_of("schema", schema, _RESERVED)
        kept = {
            name: None if state is None else _applying.schema_of(name, state, ())
            for name, state in (("window_state", window_state), ("key_state", key_state))
        }
        function = Apply(returned, form, **kept, outputs=further)
        spec = replace(self._spec, function=function, aggregates=tuple(agg))
        calls = self._stage("agg", spec)
        keys = self._df.select(*spec.keys).columns
        _check_keys(keys, spec)
        result = _applying.called(calls, keys, spec, fn)
        return _without_hidden_time(self._df, result, spec)

    def _stage(self, argument: str, spec: WindowSpec) -> DataFrame:
        for aggregate in spec.aggregates:
            if not isinstance(aggregate, Column):
                raise type_error(argument, aggregate, "a Column such as F.count('*')")
        if spec.trigger is None:
            raise value_error("NEEDS_TRIGGER", argument="trigger")
        with known_columns(self._df, argument):
            return _bridge.apply(self._df, spec)


def _check_names(result: DataFrame, spec: WindowSpec) -> None:
    schema = result.schema["results"].dataType if spec.asides else result.schema
    assert isinstance(schema, StructType)
    keys = len(spec.keys)
    # Between the keys and the aggregates stand columns of ours.
    ours = 1 + spec.pane + spec.retract
    _check_keys(schema.names[:keys], spec)
    for name in schema.names[keys + ours :]:
        if name.lower() in _RESERVED:
            raise value_error("RESERVED_NAME", argument="aggregates", column=repr(name))


def _check_keys(names: Sequence[str], spec: WindowSpec) -> None:
    ours = {"window", *(["pane"] if spec.pane else []), *(["change"] if spec.retract else [])}
    for name in names:
        if name.lower() in ours:
            raise value_error("RESERVED_NAME", argument="keys", column=repr(name))


def _without_hidden_time(df: DataFrame, result: DataFrame, spec: WindowSpec) -> DataFrame:
    """Rows beside results as they came in, without the time that `stream` has computed."""
    if HIDDEN_TIME not in df.columns:
        return result
    shown = {
        tag: F.col(tag).withField("row", F.col(f"{tag}.row").dropFields(HIDDEN_TIME))
        for tag in spec.asides
    }
    return result.withColumns(shown)
