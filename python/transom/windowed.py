"""Windowed rows: the optional steps, and the methods that compute a result for each window."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, Union, get_args

from pyspark.sql import Column, DataFrame

from transom import _bridge
from transom._base import checks
from transom._base.call_text import call_text
from transom._base.columns import Schema, has_columns, known_columns
from transom._base.durations import Duration, not_negative
from transom._base.errors import type_error, value_error, warn
from transom._base.expressions import Col
from transom._base.hints import (
    OPTIONS_KEYWORDS,
    TOP_KEYWORDS,
    TRIGGER_KEYWORDS,
    WINDOWED_HINTS,
    WINDOWED_IS_NO_DATAFRAME,
)
from transom._base.misplaced import Hint, Hinted, Hints, keyword_hints
from transom._base.values import is_kind_of
from transom._calls import applying, lifetimes, topping
from transom._calls.result_names import RESERVED, check_call_keys, check_names, named_aggregate
from transom.spec.firing.evictors import Evictor
from transom.spec.firing.rows_left import (
    drain_leaves_rows,
    may_leave_late_rows,
    may_leave_rows,
    rows_left,
    waits_for_end,
    with_late,
)
from transom.spec.firing.triggers import Trigger, check_trigger
from transom.spec.times.idle_timeout import IdleRule, IdleTimeout
from transom.spec.times.time_policies import (
    Clock,
    EventClock,
    ProcessingTime,
    TimePolicy,
    needs_policy,
)
from transom.spec.window_spec import Apply, Layout, OutputPolicy, RowsForm, WindowSpec
from transom.spec.windows.assigners import Count, Custom, Global
from transom.spec.windows.lifetimes import Lifetime
from transom.spec.windows.sessions import Session
from transom.tagged import TAGS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Rows: TypeAlias = Union["pa.Table", "pd.DataFrame"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Windowed(Hinted):
    """Rows assigned to windows, as `Stream.window` returns them.

    Each step returns a new builder and can be called once, in any order. `agg`, `apply` and `top`
    return a DataFrame.
    """

    _hints: ClassVar[Hints] = WINDOWED_HINTS
    _dataframe_hint: ClassVar[Hint] = WINDOWED_IS_NO_DATAFRAME

    _df: DataFrame
    _spec: WindowSpec
    # The calls of the steps as text, by the names of the steps.
    _steps: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        spec = self._spec
        stream = stream_text(spec.time, spec.lifetime, spec.order, spec.keys)
        return ".".join([stream, call_text("window", spec.window), *self._steps.values()])

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
            ``TRANSOM_CONFLICT`` after `retract`, and with ``Lifetime(id=)`` if ``agg`` is not set.
            ``TRANSOM_STATE_WITH_MERGING`` if ``window_state`` is set for windows that merge.
            ``TRANSOM_PIPELINE_UNSUPPORTED`` for a schema as text in a flow of a pipeline.
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

    @keyword_hints(TRIGGER_KEYWORDS)
    def trigger(self, trigger: Trigger) -> Self:
        """Set when a window fires.

        Without this step a window fires at its end, and again for each late row within its allowed
        lateness. These triggers give a `TransomWarning`:

        - one that does not fire at the end of windows, because rows that arrive after its last
          firing are in no result,
        - with an `allowed_lateness`, one that does not fire for each late row,
        - one that fires only at the end of windows, for the `Global` windows of a stream, which
          have no end,
        - with `drain`, one that does not fire the `Global` windows of a stream when it ends.

        Parameters
        ----------
        trigger : Trigger
            The trigger. `Global` windows have no end and need one. `Count` windows fire when they
            are full and accept no trigger, and neither do sessions with a maximum duration.

        Returns
        -------
        Windowed
            A new builder with this trigger.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CANNOT_MERGE`` for `AfterDelta` and `ProcessingTimeout` with windows that
            merge. ``TRANSOM_NO_CLOCK`` for `AfterWatermark`, `AfterLateness` and `Every` by the
            watermark without event time. ``TRANSOM_CONFLICT`` for `Count` windows, for
            ``Session(max_duration=)``, for windows over lifetimes, `Snapshot`, `Rolling` and
            `CountByStart`, after `changes_only`, for `EveryBatch` with `evictor`, for `Purging`
            with `retract`, and for `AfterClock` with `Global`. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        The window fires when it has two rows. The third row waits for a fourth row.

        >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
        >>> pairs = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(2))
        >>> pairs.agg(F.count("*").alias("n"), F.sum("delay").alias("delay")).show()
        +------+---+-----+
        |window|  n|delay|
        +------+---+-----+
        |  NULL|  2|   30|
        +------+---+-----+
        """
        check_trigger("trigger", trigger)
        step = self._with("trigger", repr(trigger), trigger=trigger)
        window = self._spec.window
        time = self._spec.time
        kind = type(trigger).__name__
        if may_leave_rows(trigger, window, time, self._is_streaming):
            left = rows_left(trigger, window, time)
            warn("ROWS_LEFT", reason=left.reason, instead=left.instead)
        if waits_for_end(trigger, window, self._is_streaming):
            warn("NO_END", trigger=kind)
        step._check_drained()
        step._check_late_rows()
        return step

    def evictor(self, evictor: Evictor) -> Self:
        """Set which rows a window keeps when it fires.

        Without this step a window keeps all rows.

        Parameters
        ----------
        evictor : Evictor
            The evictor. Windows with an evictor store their rows in the state, not only partial
            aggregates.

        Returns
        -------
        Windowed
            A new builder with this evictor.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `EveryBatch`, `retract`, ``Count(partial=True)``,
            ``Session(max_duration=)``, windows over lifetimes, `Snapshot`, `Rolling`,
            `CountByStart` and `changes_only`. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        The sum covers the last two rows.

        >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
        >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
        >>> total.evictor(transom.KeepLast(2)).agg(F.sum("delay").alias("delay")).show()
        +------+-----+
        |window|delay|
        +------+-----+
        |  NULL|   60|
        +------+-----+
        """
        if not is_kind_of(Evictor, evictor):
            expected = "an evictor of transom, such as transom.KeepLast(100)"
            raise type_error("evictor", evictor, expected)
        return self._with("evictor", repr(evictor), evictor=evictor)

    def allowed_lateness(self, lateness: Duration) -> Self:
        """Keep a window after its end, so that late rows fire it again.

        Without this step the lateness is 0: a window is dropped when it fires at its end. With the
        trigger `AfterLateness`, late rows do not fire the window. It fires once, when the lateness
        is over.

        Parameters
        ----------
        lateness : str or timedelta
            How long a window is kept after its end, in event time.

        Returns
        -------
        Windowed
            A new builder with this lateness.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NOT_EVENT_TIME``, ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``,
            ``TRANSOM_SET_TWICE``. ``TRANSOM_CONFLICT`` with ``Session(max_duration=)``, windows
            over lifetimes, `Snapshot`, `Rolling`, `CountByStart` and `changes_only`.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        Each row comes in a batch of its own. The watermark is at 06:30 when the row of 05:50
        arrives. The window has fired by then, and fires again with both of its rows.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for minutes in ["05:40", "06:30", "06:40", "05:50"]:
        ...     row = spark.createDataFrame([(f"2013-01-01 {minutes}",)], "at string")
        ...     row.coalesce(1).write.mode("append").csv(folder)
        >>> read = spark.readStream.schema("at timestamp").option("maxFilesPerTrigger", 1)
        >>> clock = transom.EventTime("at", delay="0 seconds")
        >>> by_time = transom.stream(read.csv(folder), time=clock)
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> counts = hours.allowed_lateness("1 hour").agg(F.count("*").alias("n"))
        >>> writer = counts.writeStream.format("memory").queryName("kept_hours")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> spark.table("kept_hours").select("window.start", "n").orderBy("n").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 05:00:00|  1|
        |2013-01-01 05:00:00|  2|
        +-------------------+---+
        """
        length = not_negative("lateness", lateness)
        if not isinstance(self._spec.time, EventClock):
            raise value_error("NOT_EVENT_TIME", argument="lateness")
        step = self._with("allowed_lateness", repr(length), allowed_lateness=length)
        step._check_late_rows()
        return step

    def idle_timeout(self, after: Duration, *, rule: IdleRule = "after_window_end") -> Self:
        """Close windows when the whole source is silent.

        Without this step a window waits until rows move the watermark past its end. With it, the
        wall clock closes windows that have rows. The watermark then moves to the end of the last
        window that closes, so that later rows of this window are late. An allowed lateness does not
        delay this.

        The wall clock time of a row is the timestamp of its micro-batch. Rows that a rule drops
        count too. A batch with rows never closes a window in this way. The timeout does not advance
        while the source has a backlog.

        Session windows close in the same way. For them, the watermark follows the wall clock as
        ``rule`` says, up to the end of the last session.

        Parameters
        ----------
        after : str or timedelta
            The timeout, by the wall clock.
        rule : str
            When a window closes. "after_window_end": ``after`` has passed since the last row and
            since the end of the window. "greater_of": ``after`` has passed since the last row, and
            the wall clock has reached the end of the window. "last_row": ``after`` has passed since
            the last row, whatever the end of the window.

        Returns
        -------
        Windowed
            A new builder with this timeout.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`, and
            ``TRANSOM_NOT_EVENT_TIME`` if it is the wall clock. ``TRANSOM_UNBOUNDED_WINDOW`` for
            windows whose end the policy does not know: `Global`, `Count`, `Custom`, and `Session`
            with a gap for each row. ``TRANSOM_TIME_POLICY_UNSUPPORTED`` for a `TimePolicy` with
            ``over``, whose ``estimate_arrival`` closes windows in silence. ``TRANSOM_CONFLICT`` for
            `Windows`, windows over lifetimes, `Snapshot`, `Rolling` and `CountByStart`.
            ``TRANSOM_BAD_CHOICE``, ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``,
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        The source has one row of the year 2013 and is silent after it. Its window closes when the
        source has been silent for a second, as the end of the window has long passed.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> row = spark.createDataFrame([("2013-01-01 05:40",)], "at string")
        >>> row.write.mode("append").csv(folder)
        >>> flights = spark.readStream.schema("at timestamp").csv(folder)
        >>> by_time = transom.stream(flights, time=transom.TimePolicy("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour")).idle_timeout("1 second")
        >>> counts = hours.agg(F.count("*").alias("n"))
        >>> query = counts.writeStream.format("memory").queryName("silent_hours").start()
        >>> while spark.table("silent_hours").isEmpty():
        ...     _ = query.awaitTermination(1)
        >>> query.stop()
        >>> spark.table("silent_hours").select("window.start", "n").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 05:00:00|  1|
        +-------------------+---+
        """
        timeout = IdleTimeout(after=after, rule=rule)
        spec = self._spec
        if isinstance(spec.time, ProcessingTime):
            raise value_error("NOT_EVENT_TIME", argument="idle_timeout")
        if not isinstance(spec.time, TimePolicy):
            raise needs_policy("idle_timeout", spec.time)
        if spec.time.over:
            raise value_error(
                "TIME_POLICY_UNSUPPORTED", argument="idle_timeout", setting="idle_timeout"
            )
        window = spec.window
        has_row_gaps = isinstance(window, Session) and isinstance(window.gap, Column)
        if has_row_gaps or isinstance(window, Global | Count | Custom):
            raise value_error("UNBOUNDED_WINDOW", argument="idle_timeout", window=window)
        arguments = f"{timeout.after!r}, rule={timeout.rule!r}"
        return self._with("idle_timeout", arguments, idle_timeout=timeout)

    def first_output(self, at: datetime) -> Self:
        """Emit no result of a window that ends before an instant.

        A new query usually starts in the middle of a window, and reads only a part of its rows. Set
        the instant from which results must be complete, and let the source start at
        `earliest_input`.

        Parameters
        ----------
        at : datetime
            The end of the first window whose result is emitted. As in `createDataFrame`, a datetime
            without a time zone is in the local time zone.

        Returns
        -------
        Windowed
            A new builder with this start.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`.
            ``TRANSOM_UNBOUNDED_WINDOW`` for `Global` and `Count` windows. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> from datetime import datetime
        >>> rows = [["2013-01-01 05:40"], ["2013-01-01 06:10"]]
        >>> flights = spark.createDataFrame(rows, "at string")
        >>> by_time = transom.stream(flights, time=transom.TimePolicy(F.to_timestamp("at")))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> later = hours.first_output(datetime(2013, 1, 1, 7)).agg(F.count("*").alias("n"))
        >>> later.select("window.start", "n").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 06:00:00|  1|
        +-------------------+---+
        """
        if not isinstance(at, datetime) or at != at:
            raise type_error("at", at, "a datetime, such as datetime(2013, 1, 1)")
        if not isinstance(self._spec.time, TimePolicy):
            raise needs_policy("first_output", self._spec.time)
        if isinstance(self._spec.window, Global | Count):
            raise value_error("UNBOUNDED_WINDOW", argument="first_output", window=self._spec.window)
        return self._with("first_output", repr(at), first_output=at)

    def retract(self) -> Self:
        """Add a ``change`` column, and retract each result that a later firing replaces.

        The first result of a window has the change "+I". A later result comes as two rows: "-U"
        with the previous values, then "+U" with the new values. A firing that repeats the previous
        result emits nothing. So with `with_pane`, the firing that drops a window may have no row
        that says so. When sessions merge, each result of the merged sessions is retracted
        with a row of its own.

        Returns
        -------
        Windowed
            A new builder that retracts.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `evictor`, `Purging`, ``Count(partial=True)``,
            ``Session(max_duration=)``, windows over lifetimes, `Snapshot`, `Rolling`,
            `CountByStart` and `changes_only`. ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([(10,), (20,)], "delay int")
        >>> each_row = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(1))
        >>> each_row.retract().agg(F.sum("delay").alias("delay")).show()
        +------+------+-----+
        |window|change|delay|
        +------+------+-----+
        |  NULL|    +I|   10|
        |  NULL|    -U|   10|
        |  NULL|    +U|   30|
        +------+------+-----+
        """
        return self._with("retract", retract=True)

    def with_pane(self) -> Self:
        """Add a ``pane`` column: the index of this firing within its window, and what caused it.

        The column is a struct with these fields:

        - ``index``: the number of earlier firings of the window. It is 0 for `Count` windows that
          have a number.
        - ``timing``: "early", "on_time" or "late", relative to the end of the window.
        - ``is_last``: whether the window is dropped with this firing. With an allowed lateness, a
          window is dropped at the end of the lateness, where `AfterLateness` fires.
        - ``number``: the number of the window within its key, counted from 0. Only `Count` windows
          have one, and not those with ``partial=True`` and a ``slide`` other than ``size``. It is
          null otherwise.
        - ``cause``: "watermark", "clock", "rows", "batch", "drain", or "idle" if `idle_timeout` has
          moved the watermark to the window.

        Returns
        -------
        Windowed
            A new builder whose results have this column.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([(10,), (20,)], "delay int")
        >>> each_row = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(1))
        >>> totals = each_row.with_pane().agg(F.sum("delay").alias("delay"))
        >>> totals.select("pane.index", "pane.timing", "pane.cause", "delay").show()
        +-----+------+-----+-----+
        |index|timing|cause|delay|
        +-----+------+-----+-----+
        |    0| early| rows|   10|
        |    1| early| rows|   30|
        +-----+------+-----+-----+
        """
        return self._with("with_pane", pane=True)

    def output_policy(self, policy: OutputPolicy) -> Self:
        """Add a ``lifetime`` column: how long a result lasts.

        The column is a struct of ``start`` and ``end``. A further operator can read it, with
        ``time="lifetime.start", lifetime="lifetime.end"``. In a stream, this needs a `TimePolicy`,
        and windows on a grid with the second policy. The policies are those of StreamInsight.

        Parameters
        ----------
        policy : {"point_align_to_window_end", "clip_to_window_end"}
            With the first, a result is a point: it starts at the end of its window and lasts one
            microsecond. No two results of a key then last at the same time. The point of a
            `CountByStart` window is on its last row, but within `Windows` it is at the end of its
            window. With the second policy, a result lasts as long as its window. Results of
            overlapping windows overlap too.

        Returns
        -------
        Windowed
            A new builder whose results have this column.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_UNBOUNDED_WINDOW`` for `Global` and `Count` windows. ``TRANSOM_CONFLICT`` for
            the first policy with `Snapshot` windows, and for the second one with `with_watermarks`
            unless windows lie on a grid. ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([["2013-01-01 05:40"]], "at string")
        >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> points = hours.output_policy("point_align_to_window_end").agg(F.count("*").alias("n"))
        >>> points.select("lifetime.start", "lifetime.end", "n").show(truncate=False)
        +-------------------+--------------------------+---+
        |start              |end                       |n  |
        +-------------------+--------------------------+---+
        |2013-01-01 06:00:00|2013-01-01 06:00:00.000001|1  |
        +-------------------+--------------------------+---+
        """
        checks.choice("policy", policy, get_args(OutputPolicy))
        return self._with("output_policy", repr(policy), output_policy=policy)

    def changes_only(self) -> Self:
        """Leave out the result of a window that holds the same rows as the window before.

        Overlapping windows, and windows over lifetimes, repeat a result as long as no row comes and
        none ends. With this step, a result holds until the next one. If a window has no rows, the
        next window with rows has a result again. The windows need the keyed layout.

        Returns
        -------
        Windowed
            A new builder whose results are not repeated.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` for `Session`, `Count`, `Custom` and `Global` windows, with
            `trigger`, `evictor`, `retract`, `allowed_lateness` and `idle_timeout`, and for `apply`.
            ``TRANSOM_NOT_EVENT_TIME``, ``TRANSOM_SET_TWICE``.

        Examples
        --------
        The plane is in the air from 05:40 to 08:10. The windows of 06:00 and 07:00 hold the same
        rows as the first one.

        >>> rows = [("05:40", "08:10"), ("08:05", "08:30")]
        >>> flights = spark.createDataFrame(rows, "departed string, landed string")
        >>> times = [F.to_timestamp(F.concat(F.lit("2013-01-01 "), name)).alias(name)
        ...          for name in ("departed", "landed")]
        >>> in_air = transom.stream(flights.select(*times), time="departed", lifetime="landed")
        >>> hours = in_air.window_all(transom.Tumbling(size="1 hour"))
        >>> planes = hours.changes_only().agg(F.count("*").alias("planes"))
        >>> planes.select("window.start", "planes").orderBy("start").show()
        +-------------------+------+
        |              start|planes|
        +-------------------+------+
        |2013-01-01 05:00:00|     1|
        |2013-01-01 08:00:00|     2|
        +-------------------+------+
        """
        return self._with("changes_only", changes_only=True)

    def with_late_rows(self, *, partly: bool = False) -> Self:
        """Emit late rows as a side output. Without this step late rows are only counted.

        A row is late if all of its windows are closed. With `Session` windows it must also be too
        far from each open session. With ``late_start="reject"``, such a row is late if it is before
        the watermark. The result becomes tagged rows, which `route` and `untag` split. The tag
        ``results`` has the columns of a result without this step. The tag ``late`` has these
        columns:

        - ``row``: the input row.
        - ``reason``: "late", or "late_session" for `Session` windows.
        - ``missed_windows``: the closed windows of the row, the first 1,000 in the order of their
          ends. For sessions, the session that the row alone would form.
        - ``missed_windows_truncated``: whether the row has missed further windows.
        - ``time``: the time of the row.
        - ``watermark``: the late watermark, by which the row was late.
        - ``operator``, ``query``: the name of the window operator and the id of the query.
        - ``processed_at``: the wall clock of the micro-batch.

        Parameters
        ----------
        partly : bool
            Whether to emit rows that missed only some of their windows, with the reason
            "late_partly". Such rows also count in their open windows.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        Each row comes in a batch of its own. The watermark is at 06:30 when the row of 05:50
        arrives, so the row is late.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for minutes in ["05:40", "06:30", "06:40", "05:50"]:
        ...     row = spark.createDataFrame([(f"2013-01-01 {minutes}",)], "at string")
        ...     row.coalesce(1).write.mode("append").csv(folder)
        >>> read = spark.readStream.schema("at timestamp").option("maxFilesPerTrigger", 1)
        >>> clock = transom.EventTime("at", delay="0 seconds")
        >>> by_time = transom.stream(read.csv(folder), time=clock)
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> tagged = hours.with_late_rows().agg(F.count("*").alias("n"))
        >>> writer = tagged.writeStream.format("memory").queryName("tagged_hours")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> late = transom.untag(spark.table("tagged_hours"), "late")
        >>> late.select("row.at", "reason", "watermark").show()
        +-------------------+------+-------------------+
        |                 at|reason|          watermark|
        +-------------------+------+-------------------+
        |2013-01-01 05:50:00|  late|2013-01-01 06:30:00|
        +-------------------+------+-------------------+
        """
        checks.flag("partly", partly)
        if partly:
            return self._with("with_late_rows", "partly=True", late_rows="partly")
        return self._with("with_late_rows", late_rows="late")

    def with_dead_letters(self) -> Self:
        """Emit, as a side output, the rows that cannot be assigned to a window.

        Without this step such rows are only counted. They never end a query. The result becomes
        tagged rows, as after `with_late_rows`. The tag ``dead_letters`` has the columns of
        ``late``, and one of these reasons:

        - "no_time": the time is null, or its expression failed.
        - "time_out_of_range": the time is outside of the years 1 to 9999.
        - "key_failed": an expression of `Stream.key_by` failed, see there.
        - "bad_gap": the gap of the row is null, not positive, or longer than 10,000,000 days.
        - "bad_windows": the windows of the row are null, or a window does not start before it ends.
          Windows outside of the years 1 to 9999 have this reason too.
        - "too_many_windows": the row has more than 10,000,000 windows.
        - "bad_lifetime": the lifetime of the row does not end after its start, its duration is
          null, or its expression failed. An end after the year 9999 has this reason too.

        With `TimePolicy` there are more reasons:

        - "early", "late_arrival", "out_of_order": the rule of the policy has dropped the row.
        - "no_time": the condition of `Punctuated` failed, or punctuation has no usable ``at``.
        - "no_substream": a column of ``over`` is null, or its expression failed.
        - "unknown_partition": the partition of the row is null or not among ``partitions``, or its
          expression failed.

        A row that no rule can judge moves no watermark of the policy. "no_time" and
        "time_out_of_range" then hold for the arrival time too.

        ``time`` is null if the row has no usable time. ``missed_windows`` is empty. ``watermark``
        is null before the first watermark. With `TimePolicy` it is the watermark that the row met,
        and null for a row that no rule can judge.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> rows = [("2013-01-01 05:40:00", 12), (None, 40)]
        >>> flights = spark.createDataFrame(rows, "at string, delay int")
        >>> by_time = transom.stream(flights, time=F.to_timestamp("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> tagged = hours.with_dead_letters().agg(F.count("*").alias("n"))
        >>> transom.untag(tagged, "dead_letters").select("row.delay", "reason").show()
        +-----+-------+
        |delay| reason|
        +-----+-------+
        |   40|no_time|
        +-----+-------+
        """
        return self._with("with_dead_letters", dead_letters=True)

    def with_watermarks(self) -> Self:
        """Emit, as a side output, the watermark of the results whenever it moves.

        A watermark promises that no later result starts before it, unless an `allowed_lateness`
        lets a window fire again. The result becomes tagged rows, as after `with_late_rows`. The tag
        ``watermarks`` has these columns:

        - ``watermark``: the watermark after a micro-batch. This is the watermark of the
          `TimePolicy`, unless results last as long as their windows (`output_policy`). Then it is
          the start of the earliest window that is still open. At the end of the input it is the
          last instant of the year 9999.
        - ``at``: the wall clock of the micro-batch.

        Another query can import these rows as punctuation.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`.
            ``TRANSOM_CONFLICT`` with ``TimePolicy(over=)``, and with the policy
            "clip_to_window_end" unless windows lie on a grid. ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> rows = spark.createDataFrame([["2013-01-01 05:40"], ["2013-01-01 06:10"]], "at string")
        >>> rows.coalesce(1).write.mode("append").csv(folder)
        >>> stream = spark.readStream.schema("at timestamp").csv(folder)
        >>> by_time = transom.stream(stream, time=transom.TimePolicy("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> tagged = hours.with_watermarks().agg(F.count("*").alias("n"))
        >>> writer = tagged.writeStream.format("memory").queryName("watermarked")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> transom.untag(spark.table("watermarked"), "watermarks").select("watermark").show()
        +-------------------+
        |          watermark|
        +-------------------+
        |2013-01-01 06:10:00|
        +-------------------+
        """
        if not isinstance(self._spec.time, TimePolicy):
            raise needs_policy("with_watermarks", self._spec.time)
        return self._with("with_watermarks", watermarks=True)

    def drain(self) -> Self:
        """Fire all open windows when a run with ``trigger(availableNow=True)`` ends.

        Such a run also ends the checkpoint, and logs a warning about this when it starts. A later
        ``availableNow`` run without new rows ends at once. A later run with new rows, or with
        another trigger, fails with ``TRANSOM_DRAINED``. Before that, runs with other triggers,
        ``once=True`` included, ignore this step.

        Call this step from the first run on. The step adds a source to the query, and Spark
        requires the same number of sources for each run of a checkpoint.

        Returns
        -------
        Windowed
            A new builder that drains.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.

        Warns
        -----
        TransomWarning
            ``TRANSOM_ROWS_LEFT`` for windows of a stream that leave rows without a result when it
            ends: `Count` windows that are not full, and `Global` windows whose trigger does not
            fire then.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> row = spark.createDataFrame([("2013-01-01 05:40",)], "at string")
        >>> row.write.mode("append").csv(folder)
        >>> flights = spark.readStream.schema("at timestamp").csv(folder)
        >>> clock = transom.EventTime("at", delay="10 minutes")
        >>> hours = transom.stream(flights, time=clock).window(transom.Tumbling(size="1 hour"))
        >>> counts = hours.drain().agg(F.count("*").alias("n"))
        >>> writer = counts.writeStream.format("memory").queryName("drained_hours")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> spark.table("drained_hours").show()
        +--------------------+---+
        |              window|  n|
        +--------------------+---+
        |{2013-01-01 05:00...|  1|
        +--------------------+---+
        """
        step = self._with("drain", drain=True)
        step._check_drained()
        return step

    @keyword_hints(OPTIONS_KEYWORDS)
    def options(
        self,
        *,
        name: str | None = None,
        key_groups: int = 128,
        layout: Layout = "auto",
        tick: Duration = "1 second",
        row_log: int = 60,
    ) -> Self:
        """Tune execution.

        Three options can change results:

        - ``key_groups`` moves the windows of a `Tumbling` with a ``stagger``.
        - ``tick`` sets how often the wall clock can fire windows of keys without new rows.
        - ``layout`` affects aggregates that depend on the order of rows, if `stream` has no
          ``order``.

        Parameters
        ----------
        name : str, optional
            Name of the window operator in metrics and in the checkpoint.
        key_groups : int
            Number of hash ranges that the keys are split into. At most this many tasks share the
            work.
        layout : {"auto", "slices", "keyed"}
            State layout: "slices" is the slice log, "keyed" stores one entry for each key. "auto"
            uses the slice log wherever it can run the windows.
        tick : str or timedelta
            Period of the ticks that advance the wall clock of keys without new rows. These use
            ticks: `ProcessingTime`, triggers by the wall clock, `idle_timeout`, and
            `TimePolicy(idle_partition=)` and `TimePolicy(estimate_arrival=)`.
        row_log : int
            Maximum number of rows that each executor logs per minute. It logs dead letters, and
            rows that a rule of the `TimePolicy` drops or moves. A record has the reason, the time
            and the watermark, but not the row. The logger is
            ``org.apache.spark.sql.transom.exchange.RowLog``, at level WARN. With 0, no row is
            logged.

        Returns
        -------
        Windowed
            A new builder with these options.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_NAME``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NEGATIVE``,
            ``TRANSOM_BAD_DURATION``, ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
            ``TRANSOM_CONFLICT`` for ``layout="slices"`` with lifetimes.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([("JFK", 12)], "origin string, delay int")
        >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
        >>> totals = total.options(name="totals", key_groups=16).agg(F.sum("delay").alias("delay"))
        >>> print(transom.explain(totals))
        totals
          ...
          key groups  16
          ...
        >>> totals.show()
        +------+-----+
        |window|delay|
        +------+-----+
        |  NULL|   12|
        +------+-----+
        """
        options = {
            "name": name,
            "key_groups": key_groups,
            "layout": layout,
            "tick": tick,
            "row_log": row_log,
        }
        defaults = signature(Windowed.options).parameters
        given = [
            f"{option}={value!r}"
            for option, value in options.items()
            if value != defaults[option].default
        ]
        return self._with("options", ", ".join(given), **options)

    def _with(self, step: str, arguments: str = "", **settings: Any) -> Self:
        if step in self._steps:
            raise value_error("SET_TWICE", argument=step, call=self._steps[step])
        steps = {**self._steps, step: f"{step}({arguments})"}
        return replace(self, _spec=replace(self._spec, **settings), _steps=steps)

    def _is_streaming(self) -> bool:
        return has_columns(self._df) and bool(self._df.isStreaming)

    def _check_drained(self) -> None:
        """Warn of windows that leave rows when the stream is drained."""
        spec = self._spec
        left = drain_leaves_rows(spec.trigger, spec.window, spec.time)
        if spec.drain and left and self._is_streaming():
            warn("ROWS_LEFT", reason=left.reason, instead=left.instead)

    def _check_late_rows(self) -> None:
        """Warn of a trigger and a lateness that leave late rows."""
        spec = self._spec
        if spec.trigger is None or spec.allowed_lateness == timedelta():
            return
        if may_leave_late_rows(spec.trigger, spec.window, spec.time, self._is_streaming):
            kind = type(spec.trigger).__name__
            fix = with_late(spec.trigger)
            warn("LATE_ROWS_LEFT", trigger=kind, instead=fix)

    def _operator(self, argument: str, spec: WindowSpec) -> DataFrame:
        for aggregate in spec.aggregates:
            if not isinstance(aggregate, Column):
                raise type_error(argument, aggregate, _aggregate_for(aggregate))
        if spec.trigger is None:
            raise value_error("NEEDS_TRIGGER", argument="trigger")
        with known_columns(self._df, argument):
            return _bridge.apply(self._df, spec)


def stream_text(
    time: Clock | None, lifetime: Lifetime | None, order: Sequence[Col], keys: Sequence[Col]
) -> str:
    """Return the calls that make a stream. The name of its DataFrame is unknown."""
    given = {"time": time, "lifetime": lifetime, "order": list(order) or None}
    arguments = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    stream = f"stream({', '.join(['df', *arguments])})"
    return f"{stream}.{call_text('key_by', *keys)}" if keys else stream


def _aggregate_for(value: object) -> str:
    """Return the Columns that another value may stand for."""
    if isinstance(value, list | tuple):
        return "an argument for each aggregate, as in agg(F.count('*'), F.max('delay'))"
    return f"F.expr({value!r})" if isinstance(value, str) else "a Column such as F.count('*')"
