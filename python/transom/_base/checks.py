"""Checks of arguments. Each error names the argument."""

import math
import re
from collections.abc import Collection, Sequence
from functools import cache
from zoneinfo import available_timezones

from transom._base.errors import type_error, value_error

# Time zones that the JVM accepts besides names of regions: offsets, and old short names.
_MINUTES = r"(:[0-5]\d(:[0-5]\d)?|[0-5]\d([0-5]\d)?)"
_OFFSET = re.compile(
    rf"Z|(UTC|GMT|UT)?([+-](0?\d|1[0-8]|(0\d|1[0-7]){_MINUTES}|18(:00(:00)?|00(00)?)))?", re.ASCII
)
# Names of Python's database that the JVM's database does not have.
_NOT_IN_JVM = ("localtime", "Factory")
_SHORT_NAMES = re.compile(
    "A(CT|ET|GT|RT|ST)|B[ES]T|C(AT|NT|ST|TT)|E(AT|CT|ST)|HST|I[ES]T|JST|M[IS]T|N[ES]T|P(LT|NT|RT|ST)"
    "|SST|VST"
)
_LARGEST_INT = 2**31 - 1


def choice(argument: str, value: object, choices: Collection[object]) -> None:
    """Raise ``TRANSOM_BAD_CHOICE`` if the value is not one of the choices."""
    text(argument, value)
    if value not in choices:
        choice_list = ", ".join(repr(word) for word in choices)
        raise value_error(
            "BAD_CHOICE", argument=argument, value=repr(value), choices=f"one of {choice_list}"
        )


def text(argument: str, value: object) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is no string."""
    if not isinstance(value, str):
        raise type_error(argument, value, "a string")


def flag(argument: str, value: object) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` if the value is no bool."""
    if not isinstance(value, bool):
        raise type_error(argument, value, "True or False")


def sequence(argument: str, values: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raise ``TRANSOM_BAD_TYPE`` unless `values` is a sequence of one kind, and no string."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise type_error(argument, values, expected)
    for value in values:
        if not isinstance(value, kind):
            raise type_error(argument, value, expected)


def whole_number(argument: str, value: object, *, least: int, most: int = _LARGEST_INT) -> None:
    """Check that the value is an integer from `least`, which is 0 or 1, to `most`.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE`` or ``TRANSOM_NEGATIVE`` below `least`, ``TRANSOM_BAD_CHOICE`` above
        `most`.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        is_of_a_library = hasattr(value, "__index__") and not isinstance(value, bool)
        expected = f"an int, such as int({argument})" if is_of_a_library else "a whole number"
        raise type_error(argument, value, expected)
    if value < least:
        condition = "NOT_POSITIVE" if least else "NEGATIVE"
        raise value_error(condition, argument=argument, value=value, instead=f"{least} or more")
    if value > most:
        choices = f"a whole number of at most {most:,}"
        raise value_error("BAD_CHOICE", argument=argument, value=value, choices=choices)


def number(argument: str, value: object) -> float:
    """Check that the value is a finite number, and return it as a float."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        is_of_a_library = hasattr(value, "__float__") and not isinstance(value, bool)
        expected = f"a float, such as float({argument})" if is_of_a_library else "a number"
        raise type_error(argument, value, expected)
    try:
        is_finite = math.isfinite(value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        choices = "a finite number"
        raise value_error("BAD_CHOICE", argument=argument, value=value, choices=choices)
    return float(value)


def time_zone(argument: str, value: object) -> None:
    """Raise ``TRANSOM_UNKNOWN_TIME_ZONE`` if the JVM knows no time zone of this name."""
    text(argument, value)
    if not _is_zone(str(value)):
        raise value_error("UNKNOWN_TIME_ZONE", argument=argument, value=repr(value))


@cache
def _is_zone(name: str) -> bool:
    if name and (_SHORT_NAMES.fullmatch(name) or _OFFSET.fullmatch(name)):
        return True
    known = available_timezones()
    # Without a time zone database Python cannot check the name. The JVM has its own database.
    return not known or (name in known and name not in _NOT_IN_JVM)
