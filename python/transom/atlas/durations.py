"""Durations as in the JSON of Atlas: a size and a unit."""

from collections.abc import Mapping
from datetime import timedelta

from transom._base import checks
from transom._base.errors import type_error, value_error

# {"size": 3, "unit": "minute"}, or 0 where Atlas allows it.
JsonDuration = Mapping[str, object] | int

_UNITS = {
    "ms": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_OFFSET_UNITS = ("ms", "second", "minute", "hour")


def positive(argument: str, value: JsonDuration) -> timedelta:
    """Return a length that must not be 0."""
    return _length(argument, value, "size", least=1)


def not_negative(argument: str, value: JsonDuration) -> timedelta:
    """Return a length that may be 0. The number 0 needs no unit."""
    if value == 0 and not isinstance(value, bool):
        return timedelta()
    return _length(argument, value, "size", least=0)


def offset(argument: str, value: JsonDuration | None) -> timedelta:
    """Return an offset from UTC, or 0 for None."""
    if value is None:
        return timedelta()
    length = _length(argument, value, "offsetFromUtc", least=1)
    assert isinstance(value, Mapping)
    checks.choice(f"{argument}.unit", value["unit"], _OFFSET_UNITS)
    return length


def _length(argument: str, value: JsonDuration, size: str, *, least: int) -> timedelta:
    """Check a size and a unit, and raise an error that names the field at fault.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    """
    if not isinstance(value, Mapping) or set(value) != {size, "unit"}:
        raise type_error(argument, value, f"a duration such as {{'{size}': 3, 'unit': 'minute'}}")
    count, unit = value[size], value["unit"]
    checks.whole_number(f"{argument}.{size}", count, least=least)
    checks.choice(f"{argument}.unit", unit, _UNITS)
    assert isinstance(count, int)
    try:
        return count * _UNITS[str(unit)]
    except OverflowError:
        raise value_error(
            "BAD_DURATION", argument=argument, value=value, why="it is too long"
        ) from None
