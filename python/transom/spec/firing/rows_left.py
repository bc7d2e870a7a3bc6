"""Which triggers leave rows of a window without a result, or give none before the input ends."""

from collections.abc import Callable

from transom.spec.firing.end_triggers import AfterClock, AfterLateness, EndOfStream
from transom.spec.firing.triggers import AfterCount, AfterDelta, Trigger, When
from transom.spec.firing.wrapping_triggers import AfterWatermark, Purging
from transom.spec.times.time_policies import Clock, ProcessingTime
from transom.spec.windows.assigners import Count, Global, Window
from transom.spec.windows.several import is_merging


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


def _inner(trigger: Trigger) -> Trigger:
    return trigger.trigger if isinstance(trigger, Purging) else trigger


def with_end(trigger: Trigger, window: Window, time: Clock | None) -> str:
    """Return the text of a trigger that fires as another one does, and at the end of windows."""
    shown = repr(trigger)
    if "<" in shown:  # a Column, or a function
        shown = f"{type(trigger).__name__}(...)"
    if not isinstance(time, ProcessingTime):
        fires_once = isinstance(_inner(trigger), AfterClock | EndOfStream)
        early = "" if fires_once else f"early={shown}"
        return f"AfterWatermark({early})"
    if isinstance(trigger, EndOfStream) or is_merging(window):
        return "AfterClock()"
    return f"ProcessingTimeout({shown}, after='1 minute')"
