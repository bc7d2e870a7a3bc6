"""Triggers with others inside of them: frozen values too."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from transom import _checks
from transom._durations import Duration, positive
from transom._errors import value_error
from transom.triggers import AfterClock, AfterCount, EveryBatch, Trigger, check_trigger

_EACH_LATE_ROW = AfterCount(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterWatermark(Trigger):
    """When the watermark reaches the end of the window, as windows in event time do by themselves.

    Parameters
    ----------
    early : Trigger, optional
        What fires the window before its end.
    late : Trigger, optional
        What fires it after its end, as long as `Windowed.allowed_lateness` keeps it: each late row
        if it is not said, nothing if it is None.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_IN_PLACE`` for `EveryBatch` as ``early`` or ``late``, and for triggers that
        fire at the end of windows themselves, `AfterWatermark` and `AfterClock`; so too if they are
        inside of these.

    Examples
    --------
    >>> import transom
    >>> each_minute = transom.Every("1 minute", clock="processing", aligned=False)
    >>> transom.AfterWatermark(early=each_minute).late
    AfterCount(rows=1)
    """

    early: Trigger | None = None
    late: Trigger | None = _EACH_LATE_ROW

    def __post_init__(self) -> None:
        for argument, inner in (("early", self.early), ("late", self.late)):
            if inner is not None:
                _check_inner(argument, inner, self, EveryBatch, AfterWatermark, AfterClock)


@dataclass(frozen=True, slots=True)
class Purging(Trigger):
    """As another trigger, and what the window holds goes after each firing.

    Parameters
    ----------
    trigger : Trigger
        What fires the window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_IN_PLACE`` for `EveryBatch`.

    Examples
    --------
    >>> import transom
    >>> transom.Purging(transom.AfterCount(100))
    Purging(trigger=AfterCount(rows=100))
    """

    trigger: Trigger

    def __post_init__(self) -> None:
        _check_inner("trigger", self.trigger, self, EveryBatch)


@dataclass(frozen=True, slots=True)
class ProcessingTimeout(Trigger):
    """As another trigger, and also some time after a row on the wall clock.

    Windows that merge cannot have it.

    Parameters
    ----------
    trigger : Trigger
        What else fires the window.
    after : str or timedelta
        How long after the first row since the last firing.
    reset : bool
        Whether it is counted from the newest row instead.
    clear : bool
        Whether ``trigger`` starts anew when the time is over. Then a window that has timed out
        fires at its end only if more rows have come since; with an allowed lateness, it fires once
        more when the lateness is over. With False, it always fires at its end.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``; ``TRANSOM_NOT_IN_PLACE`` for
        `EveryBatch`.

    Notes
    -----
    As Flink's ``ProcessingTimeoutTrigger``, where ``clear`` is ``clearOnTimeout``. Flink keeps a
    window for good whose timers the timeout has removed; here it goes at its end.

    Examples
    --------
    >>> import transom
    >>> transom.ProcessingTimeout(transom.AfterCount(100), after="10 seconds").reset
    False
    """

    trigger: Trigger
    after: Duration = field(kw_only=True)
    reset: bool = field(default=False, kw_only=True)
    clear: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        _check_inner("trigger", self.trigger, self, EveryBatch)
        object.__setattr__(self, "after", positive("after", self.after))
        _checks.flag("reset", self.reset)
        _checks.flag("clear", self.clear)


def parts(trigger: Trigger) -> Iterator[Trigger]:
    """The trigger, and all inside of it.

    Examples
    --------
    >>> [type(part).__name__ for part in parts(Purging(AfterWatermark()))]
    ['Purging', 'AfterWatermark', 'AfterCount']
    """
    yield trigger
    for held in fields(trigger):  # type: ignore[arg-type]
        inner = getattr(trigger, held.name)
        if isinstance(inner, Trigger):
            yield from parts(inner)


def _check_inner(argument: str, inner: object, outer: Trigger, *misplaced: type[Trigger]) -> None:
    check_trigger(argument, inner)
    assert isinstance(inner, Trigger)
    for part in parts(inner):
        if isinstance(part, misplaced):
            raise value_error(
                "NOT_IN_PLACE",
                argument=argument,
                inner=type(part).__name__,
                outer=type(outer).__name__,
            )
