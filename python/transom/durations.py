"""Durations: text as Spark writes intervals, or timedelta, to whole microseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from transom.errors import type_error, value_error

Duration = str | timedelta

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_CALENDAR_UNITS = ("month", "quarter", "year")
_LONGEST = 2**63 - 1
_PART = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*")


def micros(arg: str, value: Duration) -> int:
    """Whole microseconds of a duration.

    Parameters
    ----------
    arg : str
        Name of the argument, for errors.
    value : str or timedelta
        As Spark writes intervals, "1 hour 30 minutes", "-5 minutes", "1.5 seconds".

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if it is neither text nor a timedelta.
    PySparkValueError
        ``TRANSOM_BAD_DURATION`` if the text is no duration, or finer or longer than Spark's.

    Examples
    --------
    >>> micros("size", "1 hour 30 minutes")
    5400000000
    >>> micros("offset", timedelta(milliseconds=-1))
    -1000
    """
    if isinstance(value, timedelta):
        found = value // timedelta(microseconds=1)
    elif isinstance(value, str):
        found = _parse(arg, value)
    else:
        raise type_error(arg, "a timedelta or text", value)
    if abs(found) > _LONGEST:
        raise value_error("BAD_DURATION", arg=arg, value=repr(value), why="it is too long")
    return found


def positive_micros(arg: str, value: Duration) -> int:
    """As `micros`; ``TRANSOM_NOT_POSITIVE`` unless it is more than 0."""
    found = micros(arg, value)
    if found <= 0:
        raise value_error("NOT_POSITIVE", arg=arg, value=repr(value))
    return found


def natural_micros(arg: str, value: Duration) -> int:
    """As `micros`; ``TRANSOM_NEGATIVE`` if it is less than 0."""
    found = micros(arg, value)
    if found < 0:
        raise value_error("NEGATIVE", arg=arg, value=repr(value))
    return found


def _parse(arg: str, text: str) -> int:
    def bad(why: str) -> Exception:
        return value_error("BAD_DURATION", arg=arg, value=repr(text), why=why)

    rest = text.strip().lower()
    if rest.startswith("interval "):
        rest = rest.removeprefix("interval ").strip()
    if not rest:
        raise bad("it is empty")
    total = Decimal(0)
    at = 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            raise bad(f"{rest[at:]!r} is not a number and a unit")
        sign, number, unit = part.groups()
        unit = unit.removesuffix("s")
        if unit in _CALENDAR_UNITS:
            raise bad(f"a {unit} has no fixed length")
        if unit not in _UNITS:
            raise bad(f"the unit {part.group(3)!r} is unknown")
        total += Decimal(f"{sign}{number}") * _UNITS[unit]
        at = part.end()
    if total != total.to_integral_value():
        raise bad("it is finer than a microsecond")
    return int(total)
