"""The spec of a window operator: the values of a query, checked against each other."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from pyspark.sql import Column
from pyspark.sql.types import StructType

from transom._base import checks
from transom._base.constants import OPERATOR_NAME_PATTERN
from transom._base.durations import Duration, not_negative, positive
from transom._base.errors import value_error
from transom._base.expressions import Col
from transom.spec.firing.end_triggers import AfterClock, AfterLateness
from transom.spec.firing.evictors import Evictor
from transom.spec.firing.triggers import AfterCount, AfterDelta, Every, EveryBatch, Trigger
from transom.spec.firing.wrapping_triggers import AfterWatermark, ProcessingTimeout, Purging, parts
from transom.spec.times.idle_timeout import IdleTimeout
from transom.spec.times.time_policies import Clock, EventClock, ProcessingTime
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


def _default_trigger(window: Window, time: Clock | None) -> Trigger | None:
    if isinstance(window, Global):
        return None
    if isinstance(window, Count):
        return AfterCount(window.step if window.partial else window.size)
    return AfterClock() if isinstance(time, ProcessingTime) else AfterWatermark()


def _check_trigger(trigger: Trigger, window: Window, time: Clock | None) -> None:
    if isinstance(window, Count) and trigger != _default_trigger(window, time):
        raise _conflict("trigger()", "Count", "Count windows fire when they are full")
    for part in parts(trigger):
        kind = type(part).__name__
        if is_merging(window) and isinstance(part, AfterDelta | ProcessingTimeout):
            merging = type(window).__name__
            raise value_error("CANNOT_MERGE", argument="trigger", value=kind, window=merging)
        if isinstance(window, Global) and isinstance(part, AfterClock):
            why = "Global windows have no end, and EndOfStream() fires them when the input ends"
            raise _conflict("AfterClock()", "Global", why)
        by_watermark = isinstance(part, AfterWatermark | AfterLateness) or (
            isinstance(part, Every) and part.clock == "event"
        )
        if by_watermark and not isinstance(time, EventClock):
            at_end = "EndOfStream()" if isinstance(window, Global) else "AfterClock()"
            instead = "Every(..., clock='processing')" if isinstance(part, Every) else at_end
            fix = f"Use {instead}, or set the column that holds the time"
            raise value_error("NO_CLOCK", argument="trigger", value=kind, fix=fix)


def _check_together(spec: WindowSpec) -> None:
    """Raise ``TRANSOM_CONFLICT`` for steps that exclude each other."""
    triggers = () if spec.trigger is None else tuple(parts(spec.trigger))
    is_partial_count = isinstance(spec.window, Count) and spec.window.partial
    if spec.evictor is not None and EveryBatch() in triggers:
        raise _conflict(
            "evictor()", "EveryBatch", "the results of EveryBatch cover all rows of a window"
        )
    if spec.evictor is not None and is_partial_count:
        raise _conflict(
            "evictor()", "Count(partial=True)", "these windows keep only their last rows anyway"
        )
    if spec.retract and spec.evictor is not None:
        raise _conflict(
            "retract()",
            "evictor()",
            "a later result does not cover evicted rows, so it replaces no earlier one",
        )
    if spec.retract and is_partial_count:
        raise _conflict(
            "retract()",
            "Count(partial=True)",
            "a later result does not cover older rows, so it replaces no earlier one",
        )
    if spec.retract and any(isinstance(part, Purging) for part in triggers):
        raise _conflict(
            "retract()",
            "Purging",
            "a later result does not cover purged rows, so it replaces no earlier one",
        )
    if spec.retract and spec.function is not None:
        raise _conflict(
            "retract()", "apply()", "the state does not store the rows that a function returns"
        )
    for member in members_of(spec.window):
        if isinstance(member, Session) and member.max_duration is not None:
            _check_max_duration(spec)
        if spec.lifetime is not None or spec.changes_only or isinstance(member, SWEPT):
            _check_swept(spec, member)
    _check_output(spec)
    has_window_state = spec.function is not None and spec.function.window_state is not None
    if has_window_state and is_merging(spec.window):
        window = type(spec.window).__name__
        raise value_error("STATE_WITH_MERGING", argument="window_state", window=window)


def _check_max_duration(spec: WindowSpec) -> None:
    """Raise ``TRANSOM_CONFLICT`` for steps that let a session fire before or after its end."""
    steps = {
        "trigger()": spec.trigger != _default_trigger(spec.window, spec.time),
        "evictor()": spec.evictor is not None,
        "retract()": spec.retract,
        "allowed_lateness()": spec.allowed_lateness != timedelta(),
    }
    for step, is_set in steps.items():
        if is_set:
            raise _conflict(
                step, "Session(max_duration=)", "sessions with a maximum duration fire once"
            )


def _check_swept(spec: WindowSpec, window: Window) -> None:
    """Raise ``TRANSOM_CONFLICT`` for steps that a sweep over lifetimes does not support."""
    takes_lifetimes = (Tumbling, Hopping, Cumulate, Calendar, Snapshot, CountByStart)
    name = type(window).__name__
    by_step = "changes_only()" if spec.changes_only else name
    other = by_step if spec.lifetime is None else "stream(lifetime=)"
    if spec.lifetime is not None and not isinstance(window, takes_lifetimes):
        raise _conflict(name, other, f"{name} windows hold points in time")
    if spec.lifetime is not None and spec.lifetime.id:
        why = "each window would wait for the ends by itself"
        if isinstance(spec.window, Windows):
            raise _conflict("Windows", "Lifetime(id=)", why)
        why = "these windows hold starts, and ends change nothing"
        if isinstance(window, CountByStart):
            raise _conflict(name, "Lifetime(id=)", why)
    if spec.changes_only:
        _check_changes(spec, window)
    if not isinstance(spec.time, EventClock):
        raise value_error("NOT_EVENT_TIME", argument=other)
    is_staggered = isinstance(window, Tumbling) and window.stagger != "aligned"
    has_window_state = spec.function is not None and spec.function.window_state is not None
    once = "each of these windows fires once, at its end"
    steps = {
        "trigger()": (spec.trigger != AfterWatermark(), once),
        "evictor()": (spec.evictor is not None, once),
        "retract()": (spec.retract, once),
        "allowed_lateness()": (spec.allowed_lateness != timedelta(), once),
        "idle_timeout()": (spec.idle_timeout is not None, once),
        "stagger": (is_staggered, "these windows are the same for all keys"),
        "window_state": (has_window_state, "no later call could read the state of a window"),
    }
    for step, (is_set, why) in steps.items():
        if is_set:
            raise _conflict(step, other, why)
    if spec.layout == "slices":
        raise _conflict("layout='slices'", other, "only the keyed layout stores lifetimes")


def _check_changes(spec: WindowSpec, window: Window) -> None:
    """Raise ``TRANSOM_CONFLICT`` for windows that hold no rows of the window before."""
    on_a_grid = (Tumbling, Hopping, Cumulate, Calendar)
    name = type(window).__name__
    if not isinstance(window, (*on_a_grid, *SWEPT)):
        raise _conflict("changes_only()", name, f"{name} windows have no window before them")
    if spec.function is not None:
        why = "a function knows the bounds of its window, so its result may change with them"
        raise _conflict("changes_only()", "apply()", why)


def _check_output(spec: WindowSpec) -> None:
    """Raise an error for lifetimes of results, and watermarks, that no rule defines."""
    policy = spec.output_policy
    if policy is not None and isinstance(spec.window, Global | Count):
        raise value_error("UNBOUNDED_WINDOW", argument="output_policy", window=spec.window)
    for member in members_of(spec.window):
        if policy == "point_align_to_window_end" and isinstance(member, Snapshot):
            raise _conflict(
                "output_policy()", "Snapshot", "results of snapshots last as long as their windows"
            )
        is_grid = isinstance(member, Tumbling | Hopping | Cumulate | Calendar)
        if spec.watermarks and policy == "clip_to_window_end" and not is_grid:
            raise _conflict(
                "with_watermarks()",
                "output_policy('clip_to_window_end')",
                f"the start of the earliest open window is unknown for {type(member).__name__}",
            )


def _conflict(step: str, other: str, why: str) -> Exception:
    argument = step.removesuffix("()")
    return value_error("CONFLICT", argument=argument, step=step, other=other, why=why)
