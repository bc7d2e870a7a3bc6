"""Which triggers leave rows of a window without a result, or give none before the input ends."""

import re
from collections.abc import Callable
from typing import NamedTuple

from transom.spec.firing.end_triggers import AfterClock, AfterLateness, EndOfStream
from transom.spec.firing.triggers import AfterCount, AfterDelta, Every, Never, Trigger, When
from transom.spec.firing.wrapping_triggers import AfterWatermark, ProcessingTimeout, Purging
from transom.spec.times.time_policies import Clock, EventClock, ProcessingTime, TimePolicy
from transom.spec.windows.assigners import Count, Global, Window
from transom.spec.windows.several import is_merging

# A name of a class before a parenthesis, or a text in quotes.
_CLASS = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])[A-Z]\w*(?=\()""")


class RowsLeft(NamedTuple):
    """Why rows of a window are in no result, and what to write instead."""

    reason: str
    instead: str


def may_leave_rows(
    trigger: Trigger, window: Window, time: Clock | None, is_streaming: Callable[[], bool]
) -> bool:
    """Return whether a window may end with rows that no result has.

    A static DataFrame ends with its windows, so `EndOfStream` fires them all, and so does
    `AfterClock`. `Never` says itself that there are no results. In a Connect session,
    `is_streaming` asks the server.
    """
    if isinstance(window, Count | Global):
        return False
    inner = _inner(trigger)
    if isinstance(inner, AfterCount):
        return inner.rows > 1
    if isinstance(inner, AfterClock):
        return not isinstance(time, ProcessingTime) and is_streaming()
    return isinstance(inner, AfterDelta | When) or (
        isinstance(inner, EndOfStream) and is_streaming()
    )


def waits_for_end(trigger: Trigger, window: Window, is_streaming: Callable[[], bool]) -> bool:
    """Return whether the windows have no end, and the trigger fires only at the end of windows."""
    inner = _inner(trigger)
    fires_once = isinstance(inner, AfterLateness) or (
        isinstance(inner, AfterWatermark) and inner.early is None
    )
    return isinstance(window, Global) and fires_once and is_streaming()


def may_leave_late_rows(
    trigger: Trigger, window: Window, time: Clock | None, is_streaming: Callable[[], bool]
) -> bool:
    """Return whether an allowed lateness may keep rows that no result has.

    Without a `TimePolicy`, a static DataFrame has no late rows.
    """
    if isinstance(window, Count | Global):
        return False
    inner = _inner(trigger)
    if isinstance(inner, AfterWatermark):
        late = None if inner.late is None else _inner(inner.late)
    elif isinstance(inner, Every):
        late = inner
    else:
        return False
    leaves = (
        late is None
        or isinstance(late, AfterDelta | Never | When)
        or (isinstance(late, AfterCount) and late.rows > 1)
        or (isinstance(late, Every) and late.clock == "processing")
    )
    return leaves and (isinstance(time, TimePolicy) or is_streaming())


def rows_left(trigger: Trigger, window: Window, time: Clock | None) -> RowsLeft:
    """Return why a trigger leaves rows, and the text of a trigger that fires at the end too."""
    kind, windows = type(trigger).__name__, type(window).__name__
    reason = f"{kind} does not fire at the end of {windows} windows"
    return RowsLeft(reason, _with_end(trigger, window, time))


def drain_leaves_rows(
    trigger: Trigger | None, window: Window, time: Clock | None
) -> RowsLeft | None:
    """Return why windows without an end leave rows when a stream is drained, or None."""
    if isinstance(window, Count):
        if window.size == 1 or (window.partial and window.step == 1):
            return None
        reason = "drain() does not fire Count windows that are not full"
        return RowsLeft(reason, _instead_of(window, time))
    if not isinstance(window, Global) or trigger is None:
        return None
    inner = _inner(trigger)
    if isinstance(inner, ProcessingTimeout):
        inner = inner.trigger
    if isinstance(inner, AfterCount) and inner.rows == 1:
        return None
    if not isinstance(inner, AfterCount | AfterDelta | When):
        return None
    return rows_left(trigger, window, time)


def _instead_of(window: Count, time: Clock | None) -> str:
    """Return the text of windows that also have the rows of `Count` windows that are not full."""
    if window.step != window.size or not isinstance(time, EventClock):
        return f"transom.Count({window.size}, 1, partial=True), which gives a result at each row,"
    trigger = _qualified(f"AfterWatermark(early=Purging(AfterCount({window.size})))")
    return f"window(transom.Global()).trigger({trigger})"


def _inner(trigger: Trigger) -> Trigger:
    return trigger.trigger if isinstance(trigger, Purging) else trigger


def _with_end(trigger: Trigger, window: Window, time: Clock | None) -> str:
    """Return the text of a trigger that fires as another one does, and at the end of windows."""
    shown = _shown(trigger)
    if isinstance(window, Global) and not isinstance(time, EventClock):
        return _qualified("EndOfStream()")
    if not isinstance(time, ProcessingTime):
        fires_once = isinstance(_inner(trigger), AfterClock | EndOfStream)
        early = "" if fires_once else f"early={shown}"
        return _qualified(f"AfterWatermark({early})")
    if isinstance(trigger, EndOfStream) or is_merging(window):
        return _qualified("AfterClock()")
    return _qualified(f"ProcessingTimeout({shown}, after='1 minute')")


def with_late(trigger: Trigger) -> str:
    """Return the text of a trigger that fires as another one does, and for each late row."""
    inner = _inner(trigger)
    early = inner.early if isinstance(inner, AfterWatermark) else inner
    whole = f"AfterWatermark({'' if early is None else f'early={_shown(early)}'})"
    return _qualified(f"Purging({whole})" if isinstance(trigger, Purging) else whole)


def _shown(trigger: Trigger) -> str:
    shown = repr(trigger)
    # The text of a Column or of a lambda is no code.
    return f"{type(trigger).__name__}(...)" if "<" in shown else shown


def _qualified(text: str) -> str:
    """Return a call as users write it who import only transom."""
    return _CLASS.sub(lambda found: ("" if found[0][0] in "'\"" else "transom.") + found[0], text)
