"""Windows: frozen values that say how rows are put into windows.

They need no session and are equal by meaning: ``Tumbling(size="60 seconds")`` is
``Tumbling(size="1 minute")``. What each means is told by its numbered rules in
``docs/semantics.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from transom._checks import check_choice, check_count, check_grid, check_offset
from transom.durations import Duration, positive_micros
from transom.errors import value_error

Closed = Literal["left", "right"]
Unit = Literal["day", "week", "month", "quarter", "year"]
Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_DAY_US = 86_400_000_000
_SHORTEST_DAYS = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MOST_WINDOWS = 10_000_000


class Window:
    """What a window is put together from; the classes of this module are all there are."""

    __slots__ = ()

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        raise NotImplementedError


def _computed() -> Any:
    return field(init=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tumbling(Window):
    """Windows of one size side by side: each row is in one.

    Starts are ``k * size + offset`` since 1970 on the wall clock of ``time_zone`` (flink.md 1.2,
    1.3).

    Parameters
    ----------
    size : str or timedelta
        Length of a window.
    offset : str or timedelta
        Moves all starts; may be negative, must be shorter than ``size``.
    closed : {"left", "right"}
        Which end belongs to a window: ``[start, end)``, or ``(start, end]``, which fires when the
        watermark is past the end.
    time_zone : str
        Whose wall clock the grid lies on; a window of 4 hours lasts 3 or 5 on days when clocks
        change.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_OFFSET_TOO_LARGE``, ``TRANSOM_BAD_CHOICE``,
        ``TRANSOM_UNKNOWN_TIME_ZONE``, ``TRANSOM_BAD_DURATION``.

    Examples
    --------
    >>> Tumbling(size="60 seconds") == Tumbling(size="1 minute")
    True
    """

    size: Duration = field(compare=False)
    offset: Duration = field(default="0 seconds", compare=False)
    closed: Closed = "left"
    time_zone: str = "UTC"
    _size_us: int = _computed()
    _offset_us: int = _computed()

    def __post_init__(self) -> None:
        size = positive_micros("size", self.size)
        object.__setattr__(self, "_size_us", size)
        object.__setattr__(self, "_offset_us", check_offset(self.offset, "size", self.size, size))
        check_grid(self.closed, self.time_zone)

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        return {
            "kind": "tumbling",
            "size_us": self._size_us,
            "offset_us": self._offset_us,
            "closed": self.closed,
            "time_zone": self.time_zone,
            "stagger": "aligned",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Hopping(Window):
    """Windows of one size that start at every ``slide``: a row is in each that covers it.

    ``slide`` may exceed ``size``, then rows between windows are in none, and need not divide it
    (flink.md 1.4).

    Parameters
    ----------
    size, slide : str or timedelta
        Length of a window, and the distance of their starts.
    offset : str or timedelta
        Moves all starts; may be negative, must be shorter than ``slide``.
    closed, time_zone
        As in `Tumbling`.

    Raises
    ------
    PySparkValueError
        As `Tumbling`, and ``TRANSOM_TOO_MANY_WINDOWS`` above 10,000,000 windows a row.

    Examples
    --------
    >>> Hopping(size="1 hour", slide="5 minutes").to_wire()["slide_us"]
    300000000
    """

    size: Duration = field(compare=False)
    slide: Duration = field(compare=False)
    offset: Duration = field(default="0 seconds", compare=False)
    closed: Closed = "left"
    time_zone: str = "UTC"
    _size_us: int = _computed()
    _slide_us: int = _computed()
    _offset_us: int = _computed()

    def __post_init__(self) -> None:
        size = positive_micros("size", self.size)
        slide = positive_micros("slide", self.slide)
        if size // slide > _MOST_WINDOWS:
            raise value_error(
                "TOO_MANY_WINDOWS", windows=f"{size // slide:,}", most=f"{_MOST_WINDOWS:,}"
            )
        object.__setattr__(self, "_size_us", size)
        object.__setattr__(self, "_slide_us", slide)
        offset = check_offset(self.offset, "slide", self.slide, slide)
        object.__setattr__(self, "_offset_us", offset)
        check_grid(self.closed, self.time_zone)

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        return {
            "kind": "hopping",
            "size_us": self._size_us,
            "slide_us": self._slide_us,
            "offset_us": self._offset_us,
            "closed": self.closed,
            "time_zone": self.time_zone,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulate(Window):
    """Windows that share a start and grow by ``step`` up to ``size``, then begin anew.

    A row is in every window of its cycle that ends after it (flink.md 1.9).

    Parameters
    ----------
    size : str or timedelta
        Length of the largest window; a whole multiple of ``step``.
    step : str or timedelta
        By how much each window is longer than the one before.
    offset, closed, time_zone
        As in `Tumbling`.

    Raises
    ------
    PySparkValueError
        As `Tumbling`, and ``TRANSOM_NOT_A_MULTIPLE``.

    Examples
    --------
    >>> Cumulate(size="1 day", step="1 hour").to_wire()["step_us"]
    3600000000
    """

    size: Duration = field(compare=False)
    step: Duration = field(compare=False)
    offset: Duration = field(default="0 seconds", compare=False)
    closed: Closed = "left"
    time_zone: str = "UTC"
    _size_us: int = _computed()
    _step_us: int = _computed()
    _offset_us: int = _computed()

    def __post_init__(self) -> None:
        size = positive_micros("size", self.size)
        step = positive_micros("step", self.step)
        if size % step:
            raise value_error(
                "NOT_A_MULTIPLE",
                arg="size",
                value=repr(self.size),
                of="step",
                length=repr(self.step),
            )
        object.__setattr__(self, "_size_us", size)
        object.__setattr__(self, "_step_us", step)
        object.__setattr__(self, "_offset_us", check_offset(self.offset, "size", self.size, size))
        check_grid(self.closed, self.time_zone)

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        return {
            "kind": "cumulate",
            "size_us": self._size_us,
            "step_us": self._step_us,
            "offset_us": self._offset_us,
            "closed": self.closed,
            "time_zone": self.time_zone,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar(Window):
    """Days, weeks, months, quarters or years of a time zone, right over changes of its clocks.

    Parameters
    ----------
    unit : {"day", "week", "month", "quarter", "year"}
        What a window is made of.
    time_zone : str
        Whose calendar it is, such as "Europe/Rome".
    every : int
        How many units a window has, counted from 1970.
    first_day : str
        The day on which weeks begin.
    offset, closed
        As in `Tumbling`; shorter than the shortest window.

    Raises
    ------
    PySparkValueError
        As `Tumbling`.

    Examples
    --------
    >>> Calendar(unit="week", time_zone="Europe/Rome", first_day="sunday").to_wire()["first_day"]
    'sunday'
    """

    unit: Unit
    time_zone: str
    every: int = 1
    first_day: Day = "monday"
    offset: Duration = field(default="0 seconds", compare=False)
    closed: Closed = "left"
    _offset_us: int = _computed()

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, tuple(_SHORTEST_DAYS))
        check_choice("first_day", self.first_day, _DAYS)
        check_count("every", self.every)
        shortest = self.every * _SHORTEST_DAYS[self.unit] * _DAY_US
        length = f"{self.every} {self.unit}"
        object.__setattr__(self, "_offset_us", check_offset(self.offset, "unit", length, shortest))
        check_grid(self.closed, self.time_zone)

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        return {
            "kind": "calendar",
            "unit": self.unit,
            "every": self.every,
            "time_zone": self.time_zone,
            "first_day": self.first_day,
            "offset_us": self._offset_us,
            "closed": self.closed,
        }
