"""From rows in windows to a DataFrame: the steps and the terminal that users call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pyspark.sql import Column, DataFrame

from transom import _bridge, spec
from transom._checks import check_choice, check_count, check_flag
from transom.assigners import Window
from transom.durations import Duration, natural_micros, positive_micros
from transom.errors import type_error, value_error
from transom.rows import Rows
from transom.sessions import Global
from transom.triggers import AFTER_WATERMARK, EndOfStream, Trigger

Layout = Literal["auto", "panes", "keyed"]


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

    _rows: Rows
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
            ``TRANSOM_LATENESS_UNSUPPORTED`` above 0, ``TRANSOM_NEGATIVE``,
            ``TRANSOM_NOT_EVENT_TIME``.
        """
        if self._rows.time is None:
            raise value_error("NOT_EVENT_TIME")
        found = natural_micros("lateness", lateness)
        if found:
            raise value_error("LATENESS_UNSUPPORTED", value=repr(lateness))
        return self._with("allowed_lateness", _lateness_us=found)

    def with_late_rows(self, *, partly: bool = False) -> Windowed:
        """Deliver rows whose windows had closed: the result becomes tagged rows.

        Columns of the ``late`` struct: ``row`` (the input), ``reason`` ("late", "late_session",
        "late_partly"), ``missed_windows``, ``time``, ``watermark``, ``operator``, ``query``,
        ``at``.

        Parameters
        ----------
        partly : bool
            Also rows that missed some of their windows; they count in the others (flink.md 2.2).
        """
        check_flag("partly", partly)
        return self._with("with_late_rows", _late_rows="partly" if partly else "late")

    def drain(self) -> Windowed:
        """Fire open windows when an ``availableNow`` run ends, which ends the checkpoint too."""
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
            The keys, ``window`` as ``struct<start, end>``, the aggregates; fit for ``writeStream``
            in append mode and for further stages.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_AGGREGATE``, ``TRANSOM_NEEDS_TRIGGER``, ``TRANSOM_RESERVED_NAME``.
        PySparkRuntimeError
            ``TRANSOM_JAR_MISSING``, ``TRANSOM_JAR_VERSION``, ``TRANSOM_SPARK_VERSION``.
        IllegalArgumentException
            ``TRANSOM_AGGREGATE_UNSUPPORTED``, ``TRANSOM_NOT_AN_AGGREGATE``,
            ``TRANSOM_NOT_A_TIMESTAMP``.
        """
        if not aggregates:
            raise value_error("NO_AGGREGATE")
        for aggregate in aggregates:
            if not isinstance(aggregate, Column):
                raise type_error("aggregates", "Columns such as F.count('*')", aggregate)
        if isinstance(self._window, Global) and self._trigger is None:
            raise value_error("NEEDS_TRIGGER")
        keys, time = self._rows.keys, self._rows.time
        columns = [*keys, *([] if time is None else [time]), *aggregates]
        result = _bridge.apply(self._rows.df, self._message(len(aggregates)), columns)
        _check_names(result, tagged=self._late_rows is not None)
        return result

    def _with(self, step: str, **fields: Any) -> Windowed:
        (name,) = fields
        if getattr(self, name) is not None:
            raise value_error("SET_TWICE", step=step)
        return replace(self, **fields)

    def _message(self, aggregates: int) -> dict[str, Any]:
        keys = len(self._rows.keys)
        options = self._options or _Options()
        time = {"kind": "event_time", "time_column": keys, "delay_us": None}
        return spec.message(
            name=options.name,
            keys=keys,
            time=None if self._rows.time is None else time,
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
