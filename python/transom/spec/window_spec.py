"""The spec of a window operator: the values of a query, checked against each other."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from pyspark.sql import Column
from pyspark.sql.types import StructType

from transom._base import checks
from transom._base.constants import OPERATOR_NAME_PATTERN
from transom._base.durations import Duration, not_negative, positive
from transom._base.errors import value_error
from transom._base.exclusions import exclusions
from transom._base.expressions import Col
from transom.spec.firing.end_triggers import AfterClock, AfterLateness
from transom.spec.firing.evictors import Evictor
from transom.spec.firing.triggers import AfterCount, AfterDelta, Every, EveryBatch, Trigger
from transom.spec.firing.wrapping_triggers import AfterWatermark, ProcessingTimeout, Purging, parts
from transom.spec.times.idle_timeout import IdleTimeout
from transom.spec.times.time_policies import Clock, EventClock, ProcessingTime, TimePolicy
from transom.spec.windows.assigners import Count, Global, Window
from transom.spec.windows.calendar import Calendar
from transom.spec.windows.grids import Cumulate, Hopping, Tumbling
from transom.spec.windows.lifetimes import SWEPT, CountByStart, Lifetime, Snapshot
from transom.spec.windows.sessions import Session
from transom.spec.windows.several import Windows, is_merging, members_of

LateRows = Literal["no", "late", "partly"]
Layout = Literal["auto", "slices", "keyed"]
RowsForm = Literal["arrow", "pandas"]
OutputPolicy = Literal["point_align_to_window_end", "clip_to_window_end"]
DEFAULT_KEY_GROUPS = 128


@dataclass(frozen=True, slots=True)
class Apply:
    """The part of a user function that the spec describes. The function itself stays in Python.

    If the spec has aggregates, the function receives one row of their values. Otherwise it receives
    the rows of the window.
    """

    schema: StructType
    form: RowsForm
    window_state: StructType | None = None
    key_state: StructType | None = None
    outputs: Mapping[str, StructType] | None = None

    def __post_init__(self) -> None:
        checks.choice("form", self.form, ("arrow", "pandas"))

    @property
    def keeps_state(self) -> bool:
        """Whether the function has state, and so needs Spark's stateful operator."""
        return self.window_state is not None or self.key_state is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpec:
    """Everything that a window operator needs to know.

    Without a trigger, the spec has the default trigger of its window, if there is one. The
    constructor raises the conditions that `Windowed` and its steps describe.
    """

    keys: tuple[Col, ...] = ()
    time: Clock | None = None
    lifetime: Lifetime | None = None
    order: tuple[Col, ...] = ()
    window: Window
    trigger: Trigger | None = None
    evictor: Evictor | None = None
    function: Apply | None = None
    aggregates: tuple[Column, ...] = ()
    allowed_lateness: Duration = timedelta()
    idle_timeout: IdleTimeout | None = None
    output_policy: OutputPolicy | None = None
    first_output: datetime | None = None
    drain: bool = False
    pane: bool = False
    retract: bool = False
    changes_only: bool = False
    late_rows: LateRows = "no"
    dead_letters: bool = False
    watermarks: bool = False
    name: str | None = None
    key_groups: int = DEFAULT_KEY_GROUPS
    layout: Layout = "auto"
    tick: Duration = timedelta(seconds=1)
    row_log: int = 60

    def __post_init__(self) -> None:
        if self.name is not None:
            checks.text("name", self.name)
            if not re.fullmatch(OPERATOR_NAME_PATTERN, self.name):
                raise value_error("BAD_NAME", argument="name", value=repr(self.name))
        checks.whole_number("key_groups", self.key_groups, least=1)
        checks.whole_number("row_log", self.row_log, least=0)
        checks.choice("layout", self.layout, ("auto", "slices", "keyed"))
        checks.choice("late_rows", self.late_rows, ("no", "late", "partly"))
        if self.output_policy is not None:
            checks.choice("output_policy", self.output_policy, get_args(OutputPolicy))
        for name in ("drain", "pane", "retract", "changes_only", "dead_letters", "watermarks"):
            checks.flag(name, getattr(self, name))
        lateness = not_negative("allowed_lateness", self.allowed_lateness)
        object.__setattr__(self, "allowed_lateness", lateness)
        object.__setattr__(self, "tick", positive("tick", self.tick))
        if self.trigger is None:
            object.__setattr__(self, "trigger", _default_trigger(self.window, self.time))
        else:
            _check_trigger(self.trigger, self.window, self.time)
        _check_together(self)

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of a result between the keys and the values."""
        columns = {
            "window": True,
            "window_id": isinstance(self.window, Windows),
            "pane": self.pane,
            "lifetime": self.output_policy is not None,
            "change": self.retract,
        }
        return tuple(name for name, is_there in columns.items() if is_there)

    @property
    def side_output_tags(self) -> tuple[str, ...]:
        """The tags of side outputs: some of "late", "dead_letters" and "watermarks"."""
        tags = {
            "late": self.late_rows != "no",
            "dead_letters": self.dead_letters,
            "watermarks": self.watermarks,
        }
        return tuple(tag for tag, is_there in tags.items() if is_there)


_AT_THE_CLOCK = AfterClock()
_AT_THE_WATERMARK = AfterWatermark()


def _default_trigger(window: Window, time: Clock | None) -> Trigger | None:
    if isinstance(window, Global):
        return None
    if isinstance(window, Count):
        return AfterCount(window.step if window.partial else window.size)
    return _AT_THE_CLOCK if isinstance(time, ProcessingTime) else _AT_THE_WATERMARK


def _check_trigger(trigger: Trigger, window: Window, time: Clock | None) -> None:
    if isinstance(window, Count):
        # Count windows exclude all triggers but their own, whatever the time.
        return
    for part in parts(trigger):
        kind = type(part).__name__
        if is_merging(window) and isinstance(part, AfterDelta | ProcessingTimeout):
            merging = type(window).__name__
            raise value_error("CANNOT_MERGE", argument="trigger", value=kind, window=merging)
        by_watermark = isinstance(part, AfterWatermark | AfterLateness) or (
            isinstance(part, Every) and part.clock == "event"
        )
        if by_watermark and not isinstance(time, EventClock):
            at_end = "EndOfStream()" if isinstance(window, Global) else "AfterClock()"
            instead = "Every(..., clock='processing')" if isinstance(part, Every) else at_end
            fix = f"Use {instead}, or set the column that holds the time"
            raise value_error("NO_CLOCK", argument="trigger", value=kind, fix=fix)


def _check_together(spec: WindowSpec) -> None:
    """Raise an error for settings that exclude each other."""
    if spec.output_policy is not None and isinstance(spec.window, Global | Count):
        raise value_error("UNBOUNDED_WINDOW", argument="output_policy", window=spec.window)
    for window in members_of(spec.window):
        for pair in exclusions():
            if IS_SET[pair.other](spec, window) and IS_SET[pair.setting](spec, window):
                raise pair.error(window=type(window).__name__)
    if _has_window_state(spec) and is_merging(spec.window):
        merging = type(spec.window).__name__
        raise value_error("STATE_WITH_MERGING", argument="window_state", window=merging)


def _has_trigger(spec: WindowSpec, kind: type[Trigger]) -> bool:
    return spec.trigger is not None and any(isinstance(part, kind) for part in parts(spec.trigger))


def _has_window_state(spec: WindowSpec) -> bool:
    return spec.function is not None and spec.function.window_state is not None


_GRIDS = (Tumbling, Hopping, Cumulate, Calendar)

# Whether a setting of the table of exclusions is set, for one of the windows of a spec.
IS_SET: dict[str, Callable[[WindowSpec, Window], bool]] = {
    "trigger": lambda spec, _: spec.trigger != _default_trigger(spec.window, spec.time),
    "after_clock": lambda spec, _: _has_trigger(spec, AfterClock),
    "every_batch": lambda spec, _: isinstance(spec.trigger, EveryBatch),
    "purging": lambda spec, _: _has_trigger(spec, Purging),
    "evictor": lambda spec, _: spec.evictor is not None,
    "retract": lambda spec, _: spec.retract,
    "apply": lambda spec, _: spec.function is not None,
    "apply_rows": lambda spec, _: spec.function is not None and not spec.aggregates,
    "window_state": lambda spec, _: _has_window_state(spec),
    "allowed_lateness": lambda spec, _: spec.allowed_lateness != timedelta(),
    "idle_timeout": lambda spec, _: spec.idle_timeout is not None,
    "slices": lambda spec, _: spec.layout == "slices",
    "watermarks": lambda spec, _: spec.watermarks,
    "point_policy": lambda spec, _: spec.output_policy == "point_align_to_window_end",
    "clip_policy_off_grid": lambda spec, window: (
        spec.output_policy == "clip_to_window_end" and not isinstance(window, _GRIDS)
    ),
    "changes_only": lambda spec, _: spec.changes_only,
    "lifetime": lambda spec, _: spec.lifetime is not None,
    "lifetime_id": lambda spec, _: spec.lifetime is not None and bool(spec.lifetime.id),
    "no_event_time": lambda spec, _: not isinstance(spec.time, EventClock),
    "arrival_time": lambda spec, _: isinstance(spec.time, TimePolicy) and spec.time.time is None,
    "substreams": lambda spec, _: isinstance(spec.time, TimePolicy) and bool(spec.time.over),
    "stagger": lambda _, window: isinstance(window, Tumbling) and window.stagger != "aligned",
    "max_duration": lambda _, window: (
        isinstance(window, Session) and window.max_duration is not None
    ),
    "count": lambda _, window: isinstance(window, Count),
    "partial_count": lambda _, window: isinstance(window, Count) and window.partial,
    "global": lambda _, window: isinstance(window, Global),
    "windows": lambda spec, _: isinstance(spec.window, Windows),
    "snapshot": lambda _, window: isinstance(window, Snapshot),
    "count_by_start": lambda _, window: isinstance(window, CountByStart),
    "swept": lambda _, window: isinstance(window, SWEPT),
    "points": lambda _, window: not isinstance(window, (*_GRIDS, Snapshot, CountByStart)),
    "without_window_before": lambda _, window: not isinstance(window, (*_GRIDS, *SWEPT)),
}
