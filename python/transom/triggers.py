"""Triggers: frozen values that say when a window gives its result.

All but `Purging` keep what a window holds when it fires, so that its next result is of all rows.
"""

from dataclasses import dataclass, field
from typing import Literal

from transom import _checks
from transom._columns import Condition, Delta, check_delta, condition_of
from transom._durations import Duration, positive
from transom._errors import type_error
from transom._values import Value

Clock = Literal["event", "processing"]


class Trigger(Value):
    """Any of the triggers below; it has no use of its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AfterCount(Trigger):
    """Each time so many rows have come into the window, counted anew after each firing.

    Sessions that merge add up their counts.

    Parameters
    ----------
    rows : int
        How many rows.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE`` for more than 2,147,483,647.

    Examples
    --------
    >>> import transom
    >>> transom.AfterCount(100)
    AfterCount(rows=100)
    """

    rows: int

    def __post_init__(self) -> None:
        _checks.whole_number("rows", self.rows, least=1)


@dataclass(frozen=True, slots=True)
class AfterClock(Trigger):
    """When the wall clock passes the end of the window, as windows of `ProcessingTime` do.

    A window in event time that the watermark closes before that gives no result, unless the input
    has ended.

    Examples
    --------
    >>> import transom
    >>> transom.AfterClock()
    AfterClock()
    """


@dataclass(frozen=True, slots=True)
class AfterDelta(Trigger):
    """When a row is more than a threshold away from the row of the last firing.

    At first that is the window's first row. Windows that merge cannot have it.

    Parameters
    ----------
    delta : function
        Makes a numeric Column of two rows, the older one and the new one, which it is given as
        struct Columns. It is called once, and runs in the JVM.
    threshold : float
        The distance that a row must exceed, which null does not.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE`` for a threshold that is not finite.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> far = transom.AfterDelta(lambda old, new: new["distance"] - old["distance"], threshold=500)
    >>> far.threshold
    500.0
    """

    delta: Delta
    threshold: float = field(kw_only=True)

    def __post_init__(self) -> None:
        check_delta("delta", self.delta)
        object.__setattr__(self, "threshold", _checks.number("threshold", self.threshold))


@dataclass(frozen=True, slots=True)
class Every(Trigger):
    """At regular times as long as rows come, and at the end of the window.

    Parameters
    ----------
    interval : str or timedelta
        From one time to the next.
    clock : {"event", "processing"}
        Whether the watermark or the wall clock tells the time.
    aligned : bool
        Whether the times are multiples of the interval since 1970; if not, the window's first row
        starts them.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.

    Examples
    --------
    >>> import transom
    >>> transom.Every("60 seconds") == transom.Every("1 minute", clock="event")
    True
    """

    interval: Duration
    clock: Clock = field(default="event", kw_only=True)
    aligned: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "interval", positive("interval", self.interval))
        _checks.choice("clock", self.clock, ("event", "processing"))
        _checks.flag("aligned", self.aligned)


@dataclass(frozen=True, slots=True, eq=False)
class When(Trigger):
    """When a condition of your own holds for a new row and its window so far.

    Parameters
    ----------
    condition : str or Column
        True or false, as which null counts; a text is SQL. In it, columns are those of the new
        row, aggregates are over the window's rows, the new one among them. It runs in the JVM.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.When("delay > 60 AND count(*) >= 3")
    When(condition='delay > 60 AND count(*) >= 3')
    """

    condition: Condition

    def __post_init__(self) -> None:
        object.__setattr__(self, "condition", condition_of("condition", self.condition))


@dataclass(frozen=True, slots=True)
class EveryBatch(Trigger):
    """At the end of each micro-batch that brought the window rows: Spark's update mode.

    It cannot be inside another trigger.

    Examples
    --------
    >>> import transom
    >>> transom.EveryBatch()
    EveryBatch()
    """


@dataclass(frozen=True, slots=True)
class EndOfStream(Trigger):
    """When the input ends: after a static DataFrame, or when a stream is drained.

    Examples
    --------
    >>> import transom
    >>> transom.EndOfStream()
    EndOfStream()
    """


@dataclass(frozen=True, slots=True)
class Never(Trigger):
    """Never: rows are taken in, and no result is given.

    Examples
    --------
    >>> import transom
    >>> transom.Never()
    Never()
    """


def check_trigger(argument: str, value: object) -> None:
    """One of the triggers."""
    if not isinstance(value, Trigger):
        raise type_error(argument, value, "a trigger such as transom.AfterCount(100)")
