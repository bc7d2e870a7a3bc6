"""Encoding of a spec as the message to the JVM.

``spec/window-spec.schema.json`` is the schema of the message. ``spec/cases`` has examples that the
tests of both languages read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

from pyspark.sql import Column
from pyspark.sql.types import StructType, TimestampType

from transom._base.constants import MESSAGE_VERSION
from transom._base.durations import Duration, micros
from transom._base.expressions import Col, Delta
from transom.spec.firing.end_triggers import AfterClock, AfterLateness, EndOfStream
from transom.spec.firing.evictors import KeepLast, KeepNear, KeepRecent, KeepWhere
from transom.spec.firing.triggers import (
    AfterCount,
    AfterDelta,
    Every,
    EveryBatch,
    Never,
    Trigger,
    When,
)
from transom.spec.firing.wrapping_triggers import AfterWatermark, ProcessingTimeout, Purging
from transom.spec.stamp_spec import StampSpec
from transom.spec.times.idle_timeout import IdleTimeout
from transom.spec.times.time_policies import EventTime, ProcessingTime, TimePolicy
from transom.spec.times.time_rules import Accept, Adjust, Drop, Periodic, Punctuated
from transom.spec.window_spec import DEFAULT_KEY_GROUPS, WindowSpec
from transom.spec.windows.assigners import Count, Custom, Global
from transom.spec.windows.calendar import Calendar
from transom.spec.windows.grids import Cumulate, Hopping, Tumbling
from transom.spec.windows.lifetimes import CountByStart, Lifetime, Rolling, Snapshot
from transom.spec.windows.sessions import Gap, Session
from transom.spec.windows.several import Windows

Message = dict[str, Any]


# Classes by their kind in the message.
Kinds = Mapping[str, type[Any]]

TIMES: Kinds = {
    "event_time": EventTime,
    "processing_time": ProcessingTime,
    "time_policy": TimePolicy,
}
TIME_RULES: Kinds = {"accept": Accept, "drop": Drop, "adjust": Adjust}
ADVANCES: Kinds = {"periodic": Periodic, "punctuated": Punctuated}
LIFETIMES: Kinds = {"lifetime": Lifetime}
IDLE_TIMEOUTS: Kinds = {"idle_timeout": IdleTimeout}
WINDOWS: Kinds = {
    "tumbling": Tumbling,
    "hopping": Hopping,
    "cumulate": Cumulate,
    "calendar": Calendar,
    "count": Count,
    "custom": Custom,
    "session": Session,
    "global": Global,
    "snapshot": Snapshot,
    "rolling": Rolling,
    "count_by_start": CountByStart,
    "windows": Windows,
}
TRIGGERS: Kinds = {
    "after_watermark": AfterWatermark,
    "after_clock": AfterClock,
    "after_lateness": AfterLateness,
    "after_count": AfterCount,
    "after_delta": AfterDelta,
    "every": Every,
    "when": When,
    "every_batch": EveryBatch,
    "end_of_stream": EndOfStream,
    "never": Never,
    "purging": Purging,
    "processing_timeout": ProcessingTimeout,
}
EVICTORS: Kinds = {
    "keep_last": KeepLast,
    "keep_recent": KeepRecent,
    "keep_near": KeepNear,
    "keep_where": KeepWhere,
}
# The type hint of a field selects its form in the message.
COLUMN_HINTS = (Col, Col | None, Delta)
GAP_HINTS = (Gap, Gap | None)
LENGTH_HINTS = (Duration, Duration | None)
VALUE_HINTS: Mapping[Any, Kinds] = {
    Trigger: TRIGGERS,
    Trigger | None: TRIGGERS,
    Drop | Adjust | None: TIME_RULES,
    Duration | Accept | Drop | Adjust: TIME_RULES,
    Periodic | Punctuated: ADVANCES,
    Periodic | None: ADVANCES,
}

MessageColumn = Col | Delta


class Columns:
    """Collects the columns of a message. The message has their indexes."""

    def __init__(self) -> None:
        self.in_order: list[MessageColumn] = []

    def index(self, column: MessageColumn) -> int:
        """Add a column, and return its index."""
        self.in_order.append(column)
        return len(self.in_order) - 1

    def indexes(self, columns: tuple[Col, ...]) -> list[int]:
        """Add columns, and return their indexes."""
        return [self.index(column) for column in columns]


def encode(spec: WindowSpec) -> tuple[Message, list[MessageColumn]]:
    """Return the message of a spec, and the columns in the order of their indexes."""
    columns = Columns()
    life, idle, first = spec.lifetime, spec.idle_timeout, spec.first_output
    message = {
        "version": MESSAGE_VERSION,
        "name": spec.name,
        "key_columns": columns.indexes(spec.keys),
        "time": None if spec.time is None else write_value(spec.time, TIMES, columns),
        "lifetime": None if life is None else write_value(life, LIFETIMES, columns),
        "order_columns": columns.indexes(spec.order),
        "window": write_value(spec.window, WINDOWS, columns),
        "trigger": write_value(spec.trigger, TRIGGERS, columns),
        "evictor": None if spec.evictor is None else write_value(spec.evictor, EVICTORS, columns),
        "function": _write_function(spec, columns),
        "allowed_lateness_us": micros(spec.allowed_lateness),
        "idle_timeout": None if idle is None else write_value(idle, IDLE_TIMEOUTS, columns),
        "output_policy": spec.output_policy,
        "first_output_us": None if first is None else TimestampType().toInternal(first),
        "drain": spec.drain,
        "pane": spec.pane,
        "retract": spec.retract,
        "changes_only": spec.changes_only,
        "late_rows": spec.late_rows,
        "dead_letters": spec.dead_letters,
        "watermarks": spec.watermarks,
        "key_groups": spec.key_groups,
        "layout": spec.layout,
        "tick_us": micros(spec.tick),
        "row_log": spec.row_log,
    }
    return message, columns.in_order


def encode_stamped(spec: StampSpec) -> tuple[Message, list[MessageColumn]]:
    """Return the message of stamped rows, and the columns in the order of their indexes."""
    columns, life = Columns(), spec.lifetime
    message = {
        "version": MESSAGE_VERSION,
        "time": write_value(spec.time, TIMES, columns),
        "lifetime": None if life is None else write_value(life, LIFETIMES, columns),
        "order_columns": columns.indexes(spec.order),
        "key_groups": DEFAULT_KEY_GROUPS,
        "function": {"kind": "stamped"},
    }
    return message, columns.in_order


def _write_function(spec: WindowSpec, columns: Columns) -> Message:
    indexes = columns.indexes(spec.aggregates)
    if spec.function is None:
        return {"kind": "agg", "aggregate_columns": indexes}
    function = spec.function

    def json(schema: StructType | None) -> Message | None:
        return None if schema is None else schema.jsonValue()

    outputs = function.outputs
    return {
        "kind": "apply",
        "schema": json(function.schema),
        "form": function.form,
        "agg_columns": indexes,
        "window_state": json(function.window_state),
        "key_state": json(function.key_state),
        "outputs": outputs and {name: json(schema) for name, schema in outputs.items()},
    }


def write_value(value: Any, kinds: Kinds, columns: Columns) -> Message:
    """Return the object of a window, a trigger or another value.

    Parameters
    ----------
    value
        The value.
    kinds
        The classes that it may have, by their names in the message.
    columns
        Gets the columns of the value.
    """
    if isinstance(value, Windows):
        members = [
            {"id": name, "window": write_value(window, kinds, columns)}
            for name, window in value.named
        ]
        return {"kind": "windows", "windows": members}
    name, kind = next((name, kind) for name, kind in kinds.items() if kind is type(value))
    hints = get_type_hints(kind)
    message: Message = {"kind": name}
    for field in fields(kind):
        message |= _write_field(field.name, getattr(value, field.name), hints[field.name], columns)
    return message


def _write_field(name: str, value: Any, hint: object, columns: Columns) -> Message:
    if hint in COLUMN_HINTS:
        return {f"{name}_column": None if value is None else columns.index(value)}
    if hint == Sequence[Col]:
        return {f"{name}_columns": columns.indexes(value)}
    if hint == Sequence[str]:
        return {name: list(value)}
    if hint in GAP_HINTS:
        is_fixed = value is not None and not isinstance(value, Column)
        return {
            f"{name}_us": micros(value) if is_fixed else None,
            f"{name}_column": columns.index(value) if isinstance(value, Column) else None,
        }
    if hint in LENGTH_HINTS:
        return {f"{name}_us": None if value is None else micros(value)}
    if hint in VALUE_HINTS:
        return {name: None if value is None else write_value(value, VALUE_HINTS[hint], columns)}
    return {name: value}
