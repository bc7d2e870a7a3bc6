"""Checks of arguments, each named in the error if it is wrong."""

import math
import re
from collections.abc import Collection
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from transom._errors import type_error, value_error

# What the JVM takes beside the names of regions: offsets, and short names that it has kept.
_OFFSET = re.compile(r"Z|(UTC|GMT|UT)?([+-](\d{1,2}|\d\d:\d\d(:\d\d)?|\d{4}|\d{6}))?", re.ASCII)
_SHORT_NAMES = re.compile(
    "A(CT|ET|GT|RT|ST)|B[ES]T|C(AT|NT|ST|TT)|E(AT|CT|ST)|HST|I[ES]T|JST|M[IS]T|N[ES]T|P(LT|NT|RT|ST)"
    "|SST|VST"
)
_LARGEST_INT = 2**31 - 1


def choice(argument: str, value: object, choices: Collection[object]) -> None:
    """One of some words."""
    text(argument, value)
    if value not in choices:
        shown = ", ".join(repr(word) for word in choices)
        raise value_error("BAD_CHOICE", argument=argument, value=repr(value), choices=shown)


def text(argument: str, value: object) -> None:
    """Text."""
    if not isinstance(value, str):
        raise type_error(argument, value, "text")


def flag(argument: str, value: object) -> None:
    """True or False."""
    if not isinstance(value, bool):
        raise type_error(argument, value, "True or False")


def whole_number(argument: str, value: object, *, least: int, most: int = _LARGEST_INT) -> None:
    """A whole number between two others, the lower of which is 0 or 1."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise type_error(argument, value, "a whole number")
    if value < least:
        condition = "NOT_POSITIVE" if least else "NEGATIVE"
        raise value_error(condition, argument=argument, value=value)
    if value > most:
        choices = f"the whole numbers up to {most}"
        raise value_error("BAD_CHOICE", argument=argument, value=value, choices=choices)


def number(argument: str, value: object) -> float:
    """A finite number, as a float."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise type_error(argument, value, "a number")
    if not math.isfinite(value):
        choices = "the finite numbers"
        raise value_error("BAD_CHOICE", argument=argument, value=value, choices=choices)
    return float(value)


def time_zone(argument: str, value: object) -> None:
    """The name of a time zone."""
    text(argument, value)
    if not _is_zone(str(value)):
        raise value_error("UNKNOWN_TIME_ZONE", argument=argument, value=repr(value))


@cache
def _is_zone(name: str) -> bool:
    if name and (_SHORT_NAMES.fullmatch(name) or _OFFSET.fullmatch(name)):
        return True
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # Some machines have no list of zones: there only the JVM can tell, which has its own.
        return not available_timezones()
    return True
