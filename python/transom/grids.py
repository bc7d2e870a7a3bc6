"""Windows on a fixed grid, the same for every key."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from transom import _checks
from transom._durations import Duration, duration, shown
from transom._errors import value_error
from transom.assigners import Closed, Window, check_closed, check_windows_per_row, keep_positive

Stagger = Literal["aligned", "random", "natural"]
Unit = Literal["day", "week", "month", "quarter", "year"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST_DAYS = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
_MOST_UNITS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tumbling(Window):
    """Windows of one size, side by side: every row is in one.

    Windows start at ``k * size + offset`` since 1970 on the clocks of the time zone, so a window of
    4 hours lasts 3 or 5 when they change. A start that clocks show twice is the first one, an end
    the second one, unless clocks go back to just this end: then it is the first one too.

    Parameters
    ----------
    size : str or timedelta
        Length of a window.
    offset : str or timedelta
        Moves all starts; may be negative, but must be shorter than ``size``.
    closed : {"left", "right"}
        Which end belongs to a window. With "right" windows are ``(start, end]``, and they fire when
        the watermark is past their end.
    time_zone : str
        Place on whose clocks windows start.
    stagger : {"aligned", "random", "natural"}
        How far windows are moved beyond their offset, so that not all fire at once: not at all; by
        a length drawn for each key group; or by as much as the first row of the key group came
        after the start of its window on the wall clock. A key group, of which ``options`` sets
        the number, stands where Flink has a parallel task; it keeps its length for good.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_OFFSET_TOO_LARGE``,
        ``TRANSOM_BAD_CHOICE``, ``TRANSOM_UNKNOWN_TIME_ZONE``.

    Examples
    --------
    >>> import transom
    >>> transom.Tumbling(size="60 seconds") == transom.Tumbling(size="1 minute")
    True
    """

    size: Duration
    offset: Duration = "0 seconds"
    closed: Closed = "left"
    time_zone: str = "UTC"
    stagger: Stagger = "aligned"

    def __post_init__(self) -> None:
        size = keep_positive(self, "size")
        _keep_offset(self, size)
        _check_ends(self.closed, self.time_zone)
        _checks.choice("stagger", self.stagger, ("aligned", "random", "natural"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hopping(Window):
    """Windows of one size that start one ``slide`` after another: a row is in all that hold it.

    A slide above the size leaves gaps, whose rows are in no window. It need not divide the size.

    Parameters
    ----------
    size : str or timedelta
        Length of a window.
    slide : str or timedelta
        From the start of one window to the next.
    offset : str or timedelta
        Moves all starts; may be negative, but must be shorter than ``slide``.
    closed : {"left", "right"}
        Which end belongs to a window, as in `Tumbling`.
    time_zone : str
        Place on whose clocks windows start.

    Raises
    ------
    PySparkValueError
        As `Tumbling`, and ``TRANSOM_TOO_MANY_WINDOWS`` for more than 10,000,000 windows a row.

    Examples
    --------
    >>> import transom
    >>> transom.Hopping(size="1 hour", slide="5 minutes").closed
    'left'
    """

    size: Duration
    slide: Duration
    offset: Duration = "0 seconds"
    closed: Closed = "left"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        size = keep_positive(self, "size")
        slide = keep_positive(self, "slide")
        check_windows_per_row(size // slide, "slide", shown(slide))
        _keep_offset(self, slide)
        _check_ends(self.closed, self.time_zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulate(Window):
    """Windows that share a start and grow step by step to their full size, over and over.

    Parameters
    ----------
    size : str or timedelta
        Length of the largest window; a multiple of ``step``.
    step : str or timedelta
        From the end of one window to the next.
    offset : str or timedelta
        Moves all starts; may be negative, but must be shorter than ``size``.
    closed : {"left", "right"}
        Which end belongs to a window, as in `Tumbling`.
    time_zone : str
        Place on whose clocks windows start.

    Raises
    ------
    PySparkValueError
        As `Tumbling`, and ``TRANSOM_NOT_A_MULTIPLE``.

    Examples
    --------
    >>> import transom
    >>> so_far_today = transom.Cumulate(size="1 day", step="1 hour", time_zone="Europe/Rome")
    """

    size: Duration
    step: Duration
    offset: Duration = "0 seconds"
    closed: Closed = "left"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        size = keep_positive(self, "size")
        step = keep_positive(self, "step")
        if size % step:
            raise value_error(
                "NOT_A_MULTIPLE", argument="size", value=shown(size), of="step", step=shown(step)
            )
        _keep_offset(self, size)
        _check_ends(self.closed, self.time_zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar(Window):
    """Days, weeks, months, quarters or years of a place, however long they are there.

    Parameters
    ----------
    unit : {"day", "week", "month", "quarter", "year"}
        What a window is.
    time_zone : str
        Place on whose calendar windows start.
    every : int
        How many units a window lasts, counted from 1970.
    first_day : str
        Day on which weeks start, such as "sunday".
    offset : str or timedelta
        Moves all starts; may be negative, but must be shorter than the shortest window.
    closed : {"left", "right"}
        Which end belongs to a window, as in `Tumbling`.

    Raises
    ------
    PySparkValueError
        As `Tumbling`.

    Examples
    --------
    >>> import transom
    >>> weeks = transom.Calendar(unit="week", time_zone="America/New_York", first_day="sunday")
    """

    unit: Unit
    time_zone: str
    every: int = 1
    first_day: Weekday = "monday"
    offset: Duration = "0 seconds"
    closed: Closed = "left"

    def __post_init__(self) -> None:
        _checks.choice("unit", self.unit, _SHORTEST_DAYS)
        _checks.whole_number("every", self.every, least=1, most=_MOST_UNITS)
        _checks.choice("first_day", self.first_day, _WEEKDAYS)
        _keep_offset(self, timedelta(days=self.every * _SHORTEST_DAYS[self.unit]))
        _check_ends(self.closed, self.time_zone)


def _keep_offset(value: Tumbling | Hopping | Cumulate | Calendar, period: timedelta) -> None:
    offset = duration("offset", value.offset)
    object.__setattr__(value, "offset", offset)
    if abs(offset) >= period:
        raise value_error(
            "OFFSET_TOO_LARGE", argument="offset", value=shown(offset), period=shown(period)
        )


def _check_ends(closed: str, time_zone: str) -> None:
    check_closed(closed)
    _checks.time_zone("time_zone", time_zone)
