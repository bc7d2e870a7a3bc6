"""From a DataFrame over keys and windows to a DataFrame: the methods that users call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transom import _bridge, spec
from transom._checks import check_choice, check_count, check_flag
from transom.assigners import Window
from transom.clocks import EventTime
from transom.durations import Duration, natural_micros, positive_micros
from transom.errors import runtime_error, type_error, value_error
from transom.sessions import Global
from transom.triggers import AFTER_WATERMARK, EndOfStream, Trigger

Col = str | Column
Layout = Literal["auto", "panes", "keyed"]

_WATERMARK = "spark.watermarkDelayMs"
_EVENT_TIME = "__transom_event_time"


def stream(df: DataFrame, *, time: Col | EventTime | None = None) -> Stream:
    """Begin a windowed computation over a DataFrame, streaming or static.

    Parameters
    ----------
    df : DataFrame
        The rows. A streaming one needs a watermark, its own or one by `EventTime`.
    time : str, Column or EventTime, optional
        The rows' time: a timestamp, or the ``window`` column of an earlier stage, whose last instant
        counts. None only for `Global` windows.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NO_WATERMARK``, ``TRANSOM_TWO_WATERMARKS``, ``TRANSOM_UNKNOWN_COLUMN``.
    PySparkRuntimeError
        ``TRANSOM_CONNECT_UNSUPPORTED``, ``TRANSOM_SPARK_VERSION``.
    """
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise runtime_error("CONNECT_UNSUPPORTED")
    if not isinstance(df, DataFrame):
        raise type_error("df", "a DataFrame", df)
    _bridge.check_session(df.sparkSession)
    if time is None:
        return Stream(df, None, ())
    clock = time if isinstance(time, EventTime) else EventTime(time)
    column = _column(df, "time", clock.time)
    marked = [field.name for field in df.schema.fields if _WATERMARK in field.metadata]
    if clock.delay is not None and marked:
        raise value_error("TWO_WATERMARKS", column=marked[0])
    if not df.isStreaming or marked:
        return Stream(df, column, ())
    if clock.delay is None:
        raise value_error("NO_WATERMARK", time=repr(clock.time))
    name, delay = clock.time, f"{clock.delay_us} microseconds"
    if not isinstance(name, str):
        df, name = df.withColumn(_EVENT_TIME, column), _EVENT_TIME
    return Stream(df.withWatermark(name, delay), F.col(name), ())


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Rows with a time, made by `stream`; immutable, so one may serve many windows."""

    _df: DataFrame
    _time: Column | None
    _keys: tuple[Column, ...]

    def key_by(self, *keys: Col) -> Stream:
        """Give every combination of these columns windows of its own; null is a key.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``, ``TRANSOM_UNKNOWN_COLUMN``.
        """
        if self._keys:
            raise value_error("SET_TWICE", step="key_by")
        return replace(self, _keys=tuple(_column(self._df, "keys", key) for key in keys))

    def window(self, window: Window) -> Windowed:
        """Put the rows into windows.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` without a time, but for `Global`.
        """
        if not isinstance(window, Window):
            raise type_error("window", "a window such as Tumbling(size='1 hour')", window)
        if self._time is None and not isinstance(window, Global):
            raise value_error("NO_CLOCK", window=type(window).__name__)
        return Windowed(self, window)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    name: str | None = None
    key_groups: int = 128
    layout: Layout = "auto"
    clock_us: int = 1_000_000
    row_log: int = 60


@dataclass(frozen=True, slots=True, eq=False)
class Windowed:
    """Rows in windows, made by `Stream.window`; its steps return a new one, `agg` a DataFrame."""

    _stream: Stream
    _window: Window
    _trigger: Trigger | None = None
    _lateness_us: int | None = None
    _late_rows: spec.LateRows | None = None
    _drain: bool | None = None
    _options: _Options | None = None

    def trigger(self, trigger: Trigger) -> Windowed:
        """Say when windows fire. Windows with an end fire there by themselves; `Global` needs this.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``, ``TRANSOM_NO_WINDOW_TRIGGER``.
        """
        if not isinstance(trigger, Trigger):
            raise type_error("trigger", "a trigger such as EndOfStream()", trigger)
        if not isinstance(self._window, Global):
            raise value_error(
                "NO_WINDOW_TRIGGER",
                trigger=type(trigger).__name__,
                window=type(self._window).__name__,
            )
        return self._with("trigger", _trigger=trigger)

    def allowed_lateness(self, lateness: Duration) -> Windowed:
        """How long after its end a late row fires a window again (flink.md 3.2). Only 0 yet.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_LATENESS_UNSUPPORTED`` above 0, ``TRANSOM_NEGATIVE``, ``TRANSOM_NOT_EVENT_TIME``.
        """
        if self._stream._time is None:
            raise value_error("NOT_EVENT_TIME")
        found = natural_micros("lateness", lateness)
        if found:
            raise value_error("LATENESS_UNSUPPORTED", value=repr(lateness))
        return self._with("allowed_lateness", _lateness_us=found)

    def with_late_rows(self, *, partly: bool = False) -> Windowed:
        """Deliver rows whose windows had closed: the result becomes tagged rows.

        Columns of the ``late`` struct: ``row`` (the input), ``reason`` ("late", "late_session",
        "late_partly"), ``missed_windows``, ``time``, ``watermark``, ``operator``, ``query``, ``at``.

        Parameters
        ----------
        partly : bool
            Also rows that missed some of their windows; they count in the others (flink.md 2.2).
        """
        check_flag("partly", partly)
        return self._with("with_late_rows", _late_rows="partly" if partly else "late")

    def drain(self) -> Windowed:
        """Fire all open windows when an ``availableNow`` run ends, which ends the checkpoint too."""
        return self._with("drain", _drain=True)

    def options(
        self,
        *,
        name: str | None = None,
        key_groups: int = 128,
        layout: Layout = "auto",
        clock: Duration = "1 second",
        row_log: int = 60,
    ) -> Windowed:
        """Settings that change no result.

        Parameters
        ----------
        name : str, optional
            Name of the stage in metrics and checkpoint.
        key_groups : int
            Groups that keys are spread over: the most tasks that can share the state's work.
        layout : {"auto", "panes"}
            How state is laid out.
        clock : str or timedelta
            Period of rows that carry the wall clock.
        row_log : int
            Late rows that are logged a minute.
        """
        if name is not None and not isinstance(name, str):
            raise type_error("name", "text", name)
        check_count("key_groups", key_groups)
        check_choice("layout", layout, ("auto", "panes", "keyed"))
        if layout == "keyed":
            raise value_error("KEYED_UNSUPPORTED")
        if not isinstance(row_log, int) or isinstance(row_log, bool):
            raise type_error("row_log", "a whole number", row_log)
        if row_log < 0:
            raise value_error("NEGATIVE", arg="row_log", value=row_log)
        chosen = _Options(
            name=name,
            key_groups=key_groups,
            layout=layout,
            clock_us=positive_micros("clock", clock),
            row_log=row_log,
        )
        return self._with("options", _options=chosen)

    def agg(self, *aggregates: Column) -> DataFrame:
        """Aggregate each window: any Spark aggregate, with ``FILTER`` and ``DISTINCT``.

        Returns
        -------
        DataFrame
            The keys, ``window`` as ``struct<start, end>``, the aggregates; fit for ``writeStream`` in
            append mode and for further stages.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_AGGREGATE``, ``TRANSOM_NEEDS_TRIGGER``, ``TRANSOM_RESERVED_NAME``.
        PySparkRuntimeError
            ``TRANSOM_JAR_MISSING``, ``TRANSOM_JAR_VERSION``, ``TRANSOM_SPARK_VERSION``.
        IllegalArgumentException
            ``TRANSOM_AGGREGATE_UNSUPPORTED``, ``TRANSOM_NOT_AN_AGGREGATE``, ``TRANSOM_NOT_A_TIMESTAMP``.
        """
        if not aggregates:
            raise value_error("NO_AGGREGATE")
        for aggregate in aggregates:
            if not isinstance(aggregate, Column):
                raise type_error("aggregates", "Columns such as F.count('*')", aggregate)
        if isinstance(self._window, Global) and self._trigger is None:
            raise value_error("NEEDS_TRIGGER")
        keys, time = self._stream._keys, self._stream._time
        columns = [*keys, *([] if time is None else [time]), *aggregates]
        result = _bridge.apply(self._stream._df, self._message(len(aggregates)), columns)
        _check_names(result, tagged=self._late_rows is not None)
        return result

    def _with(self, step: str, **fields: Any) -> Windowed:
        (name,) = fields
        if getattr(self, name) is not None:
            raise value_error("SET_TWICE", step=step)
        return replace(self, **fields)

    def _message(self, aggregates: int) -> dict[str, Any]:
        keys = len(self._stream._keys)
        options = self._options or _Options()
        time = {"kind": "event_time", "time_column": keys, "delay_us": None}
        return spec.message(
            name=options.name,
            keys=keys,
            time=None if self._stream._time is None else time,
            window=self._window.to_wire(),
            trigger=(self._trigger or EndOfStream()).to_wire()
            if isinstance(self._window, Global)
            else AFTER_WATERMARK,
            aggregates=aggregates,
            drain=bool(self._drain),
            late_rows=self._late_rows or "no",
            key_groups=options.key_groups,
            layout=options.layout,
            clock_us=options.clock_us,
            row_log=options.row_log,
        )


def explain(df: DataFrame, *, mode: Literal["text", "json"] = "text") -> str:
    """What the window stages of a DataFrame do: layout and why, or the message.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``.
    IllegalArgumentException
        ``TRANSOM_NOT_OURS`` if the DataFrame has no window stage.
    """
    check_choice("mode", mode, ("text", "json"))
    return _bridge.explain(df, mode)


def _column(df: DataFrame, arg: str, column: object) -> Column:
    if isinstance(column, Column):
        return column
    if not isinstance(column, str):
        raise type_error(arg, "a column or its name", column)
    try:
        df.select(column)
    except AnalysisException:
        raise value_error(
            "UNKNOWN_COLUMN", arg=arg, column=repr(column), columns=", ".join(df.columns)
        ) from None
    return F.col(column)


def _check_names(result: DataFrame, *, tagged: bool) -> None:
    names: Sequence[str] = untagged_names(result) if tagged else result.columns
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise value_error("RESERVED_NAME", column=repr(name))
        seen.add(name.lower())


def untagged_names(tagged: DataFrame) -> list[str]:
    """Names of the result columns inside tagged rows."""
    return tagged.select("results.*").columns
