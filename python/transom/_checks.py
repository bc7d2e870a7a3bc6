"""Checks that several values share; each names the argument at fault."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from transom.durations import Duration, micros
from transom.errors import type_error, value_error


def check_choice(arg: str, value: object, choices: Sequence[str]) -> None:
    """``TRANSOM_BAD_CHOICE`` unless the value is one of the choices."""
    if not isinstance(value, str):
        raise type_error(arg, "text", value)
    if value not in choices:
        shown = ", ".join(repr(choice) for choice in choices)
        raise value_error("BAD_CHOICE", arg=arg, value=repr(value), choices=shown)


def check_count(arg: str, value: object) -> None:
    """``TRANSOM_NOT_POSITIVE`` unless the value is a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise type_error(arg, "a whole number", value)
    if value <= 0:
        raise value_error("NOT_POSITIVE", arg=arg, value=value)


def check_flag(arg: str, value: object) -> None:
    """``TRANSOM_BAD_TYPE`` unless the value is True or False."""
    if not isinstance(value, bool):
        raise type_error(arg, "True or False", value)


def check_grid(closed: object, time_zone: object) -> None:
    """Checks what all windows on a grid have."""
    check_choice("closed", closed, ("left", "right"))
    if not isinstance(time_zone, str):
        raise type_error("time_zone", "text", time_zone)
    try:
        ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError):
        raise value_error("UNKNOWN_TIME_ZONE", value=repr(time_zone)) from None


def check_offset(offset: Duration, period: str, length: object, period_us: int) -> int:
    """Microseconds of an offset; ``TRANSOM_OFFSET_TOO_LARGE`` unless shorter than the period."""
    found = micros("offset", offset)
    if abs(found) >= period_us:
        raise value_error(
            "OFFSET_TOO_LARGE", value=repr(offset), period=period, length=repr(length)
        )
    return found
