"""Windows of a stream: what is done about late rows and the end, and what is computed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from transom import _applying, _bridge, _checks
from transom._columns import HIDDEN_TIME, known_columns
from transom._durations import Duration, not_negative, positive
from transom._errors import type_error, value_error
from transom.evictors import Evictor
from transom.spec import Apply, Layout, RowsForm, WindowSpec
from transom.time_policies import EventTime
from transom.triggers import Trigger, check_trigger

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Rows: TypeAlias = Union["pa.Table", "pd.DataFrame"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
# Columns that a result has, or will have in a later version, beside its keys and values.
_RESERVED = ("window", "window_id", "pane", "lifetime", "change")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Windowed:
    """Rows in windows, as `Stream.window` makes them.

    Each step gives another builder and can be taken once; `agg` gives a DataFrame.
    """

    _df: DataFrame
    _spec: WindowSpec
    _steps: frozenset[str] = frozenset()

    def trigger(self, trigger: Trigger) -> "Windowed":
        """Say when windows fire, which they do by themselves at their end.

        Parameters
        ----------
        trigger : Trigger
            `Global` windows have no end, and need one. `Count` windows have theirs.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CANNOT_MERGE`` for `AfterDelta` and `ProcessingTimeout` with windows that
            merge, ``TRANSOM_NO_CLOCK`` for `AfterWatermark` and `Every` by the watermark without
            event time, ``TRANSOM_CONFLICT`` for `Count` windows, `EveryBatch` with `evictor` and
            `Purging` with `retract`, ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        check_trigger("trigger", trigger)
        return self._with("trigger", trigger=trigger)

    def evictor(self, evictor: Evictor) -> "Windowed":
        """Say which rows of a window stay when it fires, which all do by themselves.

        Parameters
        ----------
        evictor : Evictor
            Its windows keep their rows, not their aggregates alone.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `EveryBatch`, `retract` and ``Count(partial=True)``,
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        if not isinstance(evictor, Evictor):
            raise type_error("evictor", evictor, "an evictor such as transom.KeepLast(100)")
        return self._with("evictor", evictor=evictor)

    def allowed_lateness(self, lateness: Duration) -> "Windowed":
        """Say how long a late row fires its window again; 0 if it is not said.

        Parameters
        ----------
        lateness : str or timedelta
            Event time after the end of a window, until which the window is kept.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NOT_EVENT_TIME``, ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``,
            ``TRANSOM_SET_TWICE``.
        """
        length = not_negative("lateness", lateness)
        if not isinstance(self._spec.time, EventTime):
            raise value_error("NOT_EVENT_TIME", argument="lateness")
        return self._with("allowed_lateness", allowed_lateness=length)

    def retract(self) -> "Windowed":
        """Take back results that have changed.

        Results have the column ``change``: "+I" with a window's first result; later ones come in
        two rows, "-U" with the values before and "+U" with those now. Results that have not changed
        are not sent again.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `evictor`, `Purging` and ``Count(partial=True)``,
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("retract", retract=True)

    def with_pane(self) -> "Windowed":
        """Say of each result which of its window's it is, and what made it.

        Results have the column ``pane``, a struct: ``index`` from 0, ``timing`` ("early",
        "on_time", "late"), ``is_last``, ``number`` (of count windows) and ``cause`` ("watermark",
        "clock", "rows", "batch", "idle", "drain").

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_pane", pane=True)

    def with_late_rows(self, *, partly: bool = False) -> "Windowed":
        """Hand on the rows that found their windows closed, instead of only counting them.

        The result then has tagged rows, for `route` and `untag`: ``results`` as without this step,
        and ``late`` with ``row`` (the input), ``reason`` ("late", "late_session"),
        ``missed_windows``, ``time``, ``watermark``, ``operator``, ``query`` and ``at``.

        Parameters
        ----------
        partly : bool
            Whether rows that missed some of their windows come too, as "late_partly". They are in
            their other windows all the same.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        _checks.flag("partly", partly)
        return self._with("with_late_rows", late_rows="partly" if partly else "late")

    def drain(self) -> "Windowed":
        """Fire the windows that are open when a run with ``trigger(availableNow=True)`` ends.

        The checkpoint then ends too: a query that would go on from it is refused. Runs with other
        triggers, ``once=True`` too, are as without this step. Take it from the first run on: it
        adds a source, and Spark counts the sources of a checkpoint.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("drain", drain=True)

    def options(
        self,
        *,
        name: str | None = None,
        key_groups: int = 128,
        layout: Layout = "auto",
        clock: Duration = "1 second",
        row_log: int = 60,
    ) -> "Windowed":
        """Choose how the stage runs. None of this changes results.

        Parameters
        ----------
        name : str, optional
            Name of the stage in metrics and in the checkpoint.
        key_groups : int
            Number of groups that the keys are spread over: the most tasks that can share the work.
        layout : {"auto", "panes", "keyed"}
            How state is laid out: as a log of partial aggregates, or an entry for each key.
        clock : str or timedelta
            Period of the rows that carry the wall clock to stages that need it.
        row_log : int
            How many late rows a minute may be logged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_NAME``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NEGATIVE``,
            ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
        """
        if name is not None:
            _checks.text("name", name)
            if not _NAME.fullmatch(name):
                raise value_error("BAD_NAME", argument="name", value=repr(name))
        return self._with(
            "options",
            name=name,
            key_groups=key_groups,
            layout=layout,
            clock=positive("clock", clock),
            row_log=row_log,
        )

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
            asked for, and the aggregates; tagged rows after `with_late_rows`. A streaming one is
            written in append mode, and can be windowed again.

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
            ``TRANSOM_NOT_AN_AGGREGATE``, ``TRANSOM_AGGREGATE_UNSUPPORTED``, and
            ``TRANSOM_LAYOUT_UNSUPPORTED`` for what this version cannot run yet; when the query
            starts, ``TRANSOM_SPEC_CHANGED``, and after `drain` ``TRANSOM_DRAINED`` and
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
        window_state, key_state, outputs
            Not there yet.

        Returns
        -------
        DataFrame
            The keys, ``window``, ``pane`` if it was asked for, and the columns of ``schema``;
            tagged rows after `with_late_rows`.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_FUNCTION``, ``TRANSOM_BAD_SCHEMA``, ``TRANSOM_RESERVED_NAME``,
            ``TRANSOM_CONFLICT`` with `retract`, ``TRANSOM_NOT_YET``, ``TRANSOM_NEEDS_TRIGGER``,
            ``TRANSOM_BAD_CHOICE``, ``TRANSOM_UNKNOWN_COLUMN``.
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
        later = {"window_state": window_state, "key_state": key_state, "outputs": outputs}
        for name, given in later.items():
            if given is not None:
                raise value_error("NOT_YET", argument=name)
        _applying.check_function("fn", fn)
        if not isinstance(agg, Sequence):
            raise type_error("agg", agg, "a list of Columns such as [F.count('*')]")
        function = Apply(_applying.schema_of("schema", schema, _RESERVED), form)
        spec = replace(self._spec, function=function, aggregates=tuple(agg))
        calls = self._stage("agg", spec)
        keys = self._df.select(*spec.keys).columns
        _check_keys(keys)
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

    def _with(self, step: str, **settings: Any) -> "Windowed":
        if step in self._steps:
            raise value_error("SET_TWICE", argument=step)
        return replace(self, _spec=replace(self._spec, **settings), _steps=self._steps | {step})


def _check_names(result: DataFrame, spec: WindowSpec) -> None:
    schema = result.schema if spec.late_rows == "no" else result.schema["results"].dataType
    assert isinstance(schema, StructType)
    keys = len(spec.keys)
    # Between the keys and the aggregates stand columns of ours.
    ours = 1 + spec.pane + spec.retract
    _check_keys(schema.names[:keys])
    for name in schema.names[keys + ours :]:
        if name.lower() in _RESERVED:
            raise value_error("RESERVED_NAME", argument="aggregates", column=repr(name))


def _check_keys(names: Sequence[str]) -> None:
    for name in names:
        if name.lower() == "window":
            raise value_error("RESERVED_NAME", argument="keys", column=repr(name))


def _without_hidden_time(df: DataFrame, result: DataFrame, spec: WindowSpec) -> DataFrame:
    """Late rows as they came in, without the time that `stream` computed for the watermark."""
    if spec.late_rows == "no" or HIDDEN_TIME not in df.columns:
        return result
    row = F.col("late.row").dropFields(HIDDEN_TIME)
    return result.withColumn("late", F.col("late").withField("row", row))
