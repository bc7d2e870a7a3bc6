"""Windowed rows, and the methods that compute a result for each window."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, Union

from pyspark.sql import Column, DataFrame

from transom import _bridge
from transom._base import checks
from transom._base.columns import Schema, known_columns
from transom._base.errors import type_error, value_error
from transom._base.expressions import Col
from transom._base.misplaced import keyword_hints
from transom._calls import applying, lifetimes, topping
from transom._calls.result_names import RESERVED, check_call_keys, check_names, named_aggregate
from transom._steps.execution import ExecutionSteps
from transom._steps.firing import FiringSteps
from transom._steps.hints import TOP_KEYWORDS
from transom._steps.lifetimes import LifetimeSteps
from transom._steps.output import OutputSteps
from transom._steps.time import TimeSteps
from transom.spec.window_spec import Apply, RowsForm, WindowSpec
from transom.tagged import TAGS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Rows: TypeAlias = Union["pa.Table", "pd.DataFrame"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Windowed(FiringSteps, TimeSteps, OutputSteps, LifetimeSteps, ExecutionSteps):
    """Rows assigned to windows, as `Stream.window` returns them.

    Each step returns a new builder and can be called once, in any order. `agg`, `apply` and `top`
    return a DataFrame.
    """

    def agg(self, /, *aggregates: Column, **named: Column) -> DataFrame:
        """Compute aggregates over each window.

        Parameters
        ----------
        *aggregates : Column
            Spark aggregates. ``FILTER`` and ``DISTINCT`` are allowed.
        **named : Column
            Spark aggregates by the name of their column: ``n=F.count("*")`` is
            ``F.count("*").alias("n")``. Their columns follow those of ``aggregates``.

        Returns
        -------
        DataFrame
            One row for each firing of a window. The columns are the keys, ``window`` as
            ``struct<start, end>``, ``window_id`` of `Windows`, ``pane`` after `with_pane`,
            ``lifetime`` after `output_policy`, ``change`` after `retract`, and the aggregates.
            After `with_late_rows`, `with_dead_letters` or `with_watermarks` the rows are tagged.

            A streaming result can be written in append or update mode. Both modes write the same
            rows. Another window operator can read the result.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_AGGREGATE``, ``TRANSOM_NEEDS_TRIGGER``, ``TRANSOM_RESERVED_NAME``,
            ``TRANSOM_UNKNOWN_COLUMN``. ``TRANSOM_DUPLICATE_NAME`` if two columns of the result
            would have the same name. Upper and lower case do not differ here.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        PySparkRuntimeError
            ``TRANSOM_CONNECT_SERVER``, ``TRANSOM_SPARK_VERSION``, ``TRANSOM_JAR_MISSING``,
            ``TRANSOM_JAR_BROKEN``, ``TRANSOM_JAR_VERSION``.
        IllegalArgumentException
            For aggregates: ``TRANSOM_NOT_AN_AGGREGATE``, ``TRANSOM_AGGREGATE_UNSUPPORTED``.

            For expressions in triggers and evictors: ``TRANSOM_NOT_A_CONDITION``,
            ``TRANSOM_NOT_A_NUMBER``, ``TRANSOM_UNKNOWN_COLUMN``,
            ``TRANSOM_EXPRESSION_UNSUPPORTED``.

            For the event time of a streaming DataFrame: ``TRANSOM_NO_WATERMARK`` if it has no
            watermark, ``TRANSOM_OTHER_WATERMARK`` if another column has one,
            ``TRANSOM_TWO_WATERMARKS`` if a ``delay`` would add a second one,
            ``TRANSOM_WATERMARK_LOST`` if a step holds back the watermark of an earlier operator.

            ``TRANSOM_LAYOUT_UNSUPPORTED`` if ``layout="slices"`` cannot run these windows.
            ``TRANSOM_NAME_TAKEN`` if an earlier window operator of the query has the same name.

            When the query starts: ``TRANSOM_SPEC_CHANGED``, ``TRANSOM_STATE_STORE``, and
            ``TRANSOM_CANNOT_DRAIN`` and ``TRANSOM_DRAINED`` after `drain`.

        Examples
        --------
        >>> rows = [("2013-01-01 05:40:00", 12), ("2013-01-01 05:55:00", 40)]
        >>> flights = spark.createDataFrame(rows, "at string, delay int")
        >>> by_time = transom.stream(flights, time=F.to_timestamp("at"))
        >>> hours = by_time.window(transom.Tumbling("1 hour"))
        >>> hours.agg(n=F.count("*"), worst=F.max("delay")).show()
        +--------------------+---+-----+
        |              window|  n|worst|
        +--------------------+---+-----+
        |{2013-01-01 05:00...|  2|   40|
        +--------------------+---+-----+
        """
        if not aggregates and not named:
            raise value_error("NO_AGGREGATE", argument="aggregates")
        columns = [*aggregates, *(named_aggregate(name, column) for name, column in named.items())]
        spec = replace(self._spec, aggregates=tuple(columns))
        result = self._operator("aggregates", spec)
        check_names(result, spec)
        return result

    def apply(
        self,
        fn: Callable[..., Rows],
        schema: Schema,
        *,
        form: RowsForm = "arrow",
        agg: Sequence[Column] = (),
        window_state: Schema | None = None,
        key_state: Schema | None = None,
        outputs: Mapping[str, Schema] | None = None,
    ) -> DataFrame:
        """Call a Python function with all rows of each window.

        Spark's Python workers call the function, so each worker needs this package. Rows of many
        windows travel to a worker together. The state stores the rows of a window until the window
        is over. With ``agg`` the state stores only partial aggregates.

        Parameters
        ----------
        fn : callable
            ``fn(rows)`` or ``fn(rows, context)``. ``rows`` are in the order of arrival. Rows of
            ``stream(lifetime=)`` have a column ``lifetime`` with the ``start`` and the ``end`` of
            their lifetime, clipped to the window. These rows are in the order of their starts.
            ``context`` is a `Context`, which a function with two required arguments receives. The
            function returns any number of rows. Timestamps that it returns need a time zone where
            the schema has one.
        schema : str or StructType
            The columns that ``fn`` returns, in any order. A column ``lifetime``, a struct of
            ``start`` and ``end``, sets how long each result lasts, and `output_policy` follows it.
            Numbers are cast to the type in the schema. A cast that would truncate a number, or
            exceed the range of an integer or decimal, is an error. A cast to a narrower
            floating-point type rounds, and a value beyond its range becomes infinite.
        form : {"arrow", "pandas"}
            The type of the rows that ``fn`` receives and returns: ``pyarrow.Table`` or
            ``pandas.DataFrame``.
        agg : sequence of Column
            Aggregates over the window. If given, ``fn`` receives a single row with their values in
            place of the rows of the window.
        window_state : str or StructType, optional
            Schema of ``context.window_state``, which is kept for each key and window until the
            window and its lateness are over.
        key_state : str or StructType, optional
            Schema of ``context.key_state``, which is kept for each key without limit.
        outputs : mapping of str to str or StructType, optional
            Names and schemas of further results. `Context.output` emits their rows.

        Returns
        -------
        DataFrame
            The keys, ``window``, ``pane`` after `with_pane`, and the columns of ``schema``. The
            rows are tagged after `with_late_rows` or `with_dead_letters`, and with ``outputs``.
            Each output has its own tag, with the keys, ``window`` and the columns of its schema.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_FUNCTION``, ``TRANSOM_BAD_SCHEMA``, ``TRANSOM_RESERVED_NAME``,
            ``TRANSOM_NEEDS_TRIGGER``, ``TRANSOM_BAD_CHOICE``, ``TRANSOM_UNKNOWN_COLUMN``.
            ``TRANSOM_CONFLICT`` after `retract`. ``TRANSOM_STATE_WITH_MERGING`` if ``window_state``
            is set for windows that merge. ``TRANSOM_PIPELINE_UNSUPPORTED`` for a schema as text in
            a flow of a pipeline.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        PySparkRuntimeError
            The conditions of `agg`.

            In a worker, while the query runs: ``TRANSOM_NEEDS_PANDAS`` for ``form="pandas"`` if
            its Python has no pandas, ``TRANSOM_FUNCTION_FAILED`` if ``fn`` raises, and
            ``TRANSOM_FUNCTION_SCHEMA`` if ``fn`` returns other columns or types than ``schema``.
            Spark's exception on the driver contains their text and the traceback of ``fn``.
            ``TRANSOM_FUNCTION_LIFETIME`` if ``fn`` returns a lifetime outside of its window after
            ``output_policy("clip_to_window_end")``. Each of these errors ends the query.
        IllegalArgumentException
            The conditions of `agg`.

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
        applying.check_function("fn", fn)
        given: object = agg
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise type_error("agg", agg, "a list of Columns, such as [F.count('*')]")
        output_schemas = None if outputs is None else applying.outputs_of(outputs, TAGS, RESERVED)
        own_names = [name for name in RESERVED if name != lifetimes.LIFETIME]
        result_schema = applying.schema_of("schema", schema, own_names)
        lifetimes.check_returned(result_schema)
        state_schemas = {
            name: None if state is None else applying.schema_of(name, state, ())
            for name, state in (("window_state", window_state), ("key_state", key_state))
        }
        function = Apply(result_schema, form, **state_schemas, outputs=output_schemas)
        spec = replace(self._spec, function=function, aggregates=tuple(agg))
        for name, value in {**state_schemas, "outputs": outputs}.items():
            if value is not None:
                applying.check_takes_context("fn", fn, name)
        lifetimes.check_rows(self._df, spec)
        calls = self._operator("agg", spec)
        check_call_keys(calls, spec)
        called = applying.call_function(calls, spec, fn)
        return lifetimes.follow_policy(called, spec, applying.name_of(fn))

    @keyword_hints(TOP_KEYWORDS)
    def top(self, k: int, *order_by: Col) -> DataFrame:
        """Return the first rows of each window in an order, each with its rank.

        Rows that are equal in the order have the same rank, and the next rank is one more than the
        number of rows before it: 1, 2, 2, 4. All rows with a rank of at most ``k`` are results. So
        ties may add rows. Nulls are lower than all other values: they come first in ascending, and
        last in descending order. The state stores only rows that may be results.

        Parameters
        ----------
        k : int
            The largest rank, 1 or more.
        *order_by : str or Column
            The order, such as ``F.desc("delay")``. A name alone means ascending.

        Returns
        -------
        DataFrame
            A row for each row of the input that is a result: the keys, ``window``, ``pane`` after
            `with_pane`, the other columns of the row, and ``rank``. After `with_late_rows` or
            `with_dead_letters` the rows are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NO_ORDER``, ``TRANSOM_NEEDS_TRIGGER``,
            ``TRANSOM_UNKNOWN_COLUMN``. ``TRANSOM_RESERVED_NAME`` if a column of the rows has the
            name of a result column. ``TRANSOM_CONFLICT`` after `retract`.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        PySparkRuntimeError, IllegalArgumentException
            The conditions of `agg`.

        Examples
        --------
        >>> rows = [("JFK", 40), ("EWR", 12), ("LGA", 40)]
        >>> delays = spark.createDataFrame(rows, "origin string, delay int")
        >>> whole = transom.stream(delays).window(transom.Global()).trigger(transom.EndOfStream())
        >>> whole.top(1, F.desc("delay")).orderBy("origin").show()
        +------+------+-----+----+
        |window|origin|delay|rank|
        +------+------+-----+----+
        |  NULL|   JFK|   40|   1|
        |  NULL|   LGA|   40|   1|
        +------+------+-----+----+
        """
        given: object = k
        if isinstance(given, str | Column):
            raise type_error("k", k, "the largest rank first, as in top(3, F.desc('delay'))")
        checks.whole_number("k", k, least=1)
        rows = topping.top_rows(self._df, self._spec, k, order_by, RESERVED)
        spec = replace(self._spec, aggregates=(rows,))
        result = self._operator("order_by", spec)
        check_names(result, spec)
        return topping.one_by_one(result, spec)

    def _operator(self, argument: str, spec: WindowSpec) -> DataFrame:
        for aggregate in spec.aggregates:
            if not isinstance(aggregate, Column):
                raise type_error(argument, aggregate, _aggregate_for(aggregate))
        if spec.trigger is None:
            raise value_error("NEEDS_TRIGGER", argument="trigger")
        with known_columns(self._df, argument):
            return _bridge.apply(self._df, spec)


def _aggregate_for(value: object) -> str:
    """Return the Columns that another value may stand for."""
    if isinstance(value, list | tuple):
        return "an argument for each aggregate, as in agg(F.count('*'), F.max('delay'))"
    return f"F.expr({value!r})" if isinstance(value, str) else "a Column such as F.count('*')"
