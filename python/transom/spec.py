"""What describes a window stage: the values joined, checked and written as a message to the JVM.

``spec/window-spec.schema.json`` is the message's schema, ``spec/cases`` has examples that both
languages read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Literal

from pyspark.sql import Column

from transom import _checks
from transom._columns import Col
from transom._durations import Duration, micros, not_negative, positive
from transom.assigners import Calendar, Cumulate, Global, Hopping, Session, Tumbling, Window
from transom.time_policies import EventTime
from transom.triggers import AfterWatermark, EndOfStream, Never, Trigger

VERSION = 1

LateRows = Literal["no", "late", "partly"]
Layout = Literal["auto", "panes", "keyed"]
Message = dict[str, Any]

AFTER_WATERMARK = AfterWatermark()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpec:
    """All that a window stage has to know. Columns travel beside the message, which has indexes."""

    keys: tuple[Col, ...] = ()
    time: EventTime | None = None
    order: tuple[Col, ...] = ()
    window: Window
    trigger: Trigger = AFTER_WATERMARK
    aggregates: tuple[Column, ...] = ()
    allowed_lateness: Duration = timedelta()
    drain: bool = False
    late_rows: LateRows = "no"
    name: str | None = None
    key_groups: int = 128
    layout: Layout = "auto"
    clock: Duration = timedelta(seconds=1)
    row_log: int = 60

    def __post_init__(self) -> None:
        if self.name is not None:
            _checks.text("name", self.name)
        _checks.whole_number("key_groups", self.key_groups, least=1)
        _checks.choice("layout", self.layout, ("auto", "panes", "keyed"))
        _checks.whole_number("row_log", self.row_log, least=0)
        _checks.choice("late_rows", self.late_rows, ("no", "late", "partly"))
        _checks.flag("drain", self.drain)
        lateness = not_negative("allowed_lateness", self.allowed_lateness)
        object.__setattr__(self, "allowed_lateness", lateness)
        object.__setattr__(self, "clock", positive("clock", self.clock))


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's class, and its fields that belong to parts which are not there yet."""

    made: type[Any]
    later: Mapping[str, Any]


WINDOWS = {
    "tumbling": Kind(Tumbling, {"stagger": "aligned"}),
    "hopping": Kind(Hopping, {}),
    "cumulate": Kind(Cumulate, {}),
    "calendar": Kind(Calendar, {}),
    "session": Kind(
        Session,
        {"gap_column": None, "max_duration_us": None, "max_check": ">=", "late_start": "open"},
    ),
    "global": Kind(Global, {}),
}
TRIGGERS = {
    "after_watermark": Kind(
        AfterWatermark, {"early": None, "late": {"kind": "after_count", "rows": 1}}
    ),
    "end_of_stream": Kind(EndOfStream, {}),
    "never": Kind(Never, {}),
}
LATER: Message = {
    "lifetime": None,
    "evictor": None,
    "idle_timeout": None,
    "output_policy": None,
    "first_output_us": None,
    "pane": False,
    "retract": False,
    "dead_letters": False,
    "watermarks": False,
}


def encode(spec: WindowSpec) -> tuple[Message, list[Col]]:
    """The message, and the columns that its indexes mean."""
    columns: list[Col] = []

    def index(*named: Col) -> list[int]:
        columns.extend(named)
        return list(range(len(columns) - len(named), len(columns)))

    message = {
        "version": VERSION,
        "name": spec.name,
        "key_columns": index(*spec.keys),
        "time": None if spec.time is None else _write_time(spec.time, index(spec.time.time)[0]),
        "order_columns": index(*spec.order),
        "window": _write(spec.window, WINDOWS),
        "trigger": _write(spec.trigger, TRIGGERS),
        "function": {"kind": "agg", "aggregate_columns": index(*spec.aggregates)},
        "allowed_lateness_us": micros(spec.allowed_lateness),
        "drain": spec.drain,
        "late_rows": spec.late_rows,
        "key_groups": spec.key_groups,
        "layout": spec.layout,
        "clock_us": micros(spec.clock),
        "row_log": spec.row_log,
    }
    return message | LATER, columns


def _write_time(time: EventTime, column: int) -> Message:
    delay = None if time.delay is None else micros(time.delay)
    return {"kind": "event_time", "time_column": column, "delay_us": delay}


def _write(value: Window | Trigger, kinds: Mapping[str, Kind]) -> Message:
    name, kind = next((name, kind) for name, kind in kinds.items() if kind.made is type(value))
    written: Message = {"kind": name}
    for field in fields(kind.made):
        held = getattr(value, field.name)
        if isinstance(held, timedelta):
            written[f"{field.name}_us"] = micros(held)
        else:
            written[field.name] = held
    return {**written, **kind.later}
