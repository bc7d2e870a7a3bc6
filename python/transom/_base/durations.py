"""Durations in Spark's interval text, with microseconds as the smallest unit and without months."""

import re
from datetime import timedelta

from pyspark.errors import PySparkValueError

from transom._base.constants import LONGEST_DURATION_DAYS
from transom._base.errors import type_error, value_error

Duration = str | timedelta

_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
_MONTHS = ("month", "quarter", "year")
_MICROSECOND = timedelta(microseconds=1)
# With this limit, all windows of rows up to the year 9999 end before the instant at which a drain
# fires all windows.
_LONGEST = timedelta(days=LONGEST_DURATION_DAYS)

# Python does not convert a text of thousands of digits to a number.
_MOST_DIGITS = 100

# Space is optional after the sign, and required between the number and the unit.
_PART = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<whole>\d*)(?P<point>\.?)(?P<part>\d*)\s+(?P<unit>[a-z]+)", re.ASCII
)
_NO_SPACE = re.compile(r"[+-]?[\d.]+[a-z]", re.ASCII)


class Length(timedelta):
    """A checked duration, which prints as the user wrote it. It equals any timedelta as long."""

    __slots__ = ("_text",)
    _text: str

    def __new__(cls, length: timedelta, text: str) -> "Length":
        """Return a length with its text, such as "60 seconds"."""
        made = super().__new__(cls, length.days, length.seconds, length.microseconds)
        made._text = text
        return made

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return repr(self._text)

    def __reduce__(self) -> tuple[type["Length"], tuple[timedelta, str]]:
        return Length, (+self, self._text)


def duration(argument: str, value: Duration) -> Length:
    """Return the length of a duration.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkValueError
        ``TRANSOM_BAD_DURATION`` for text that is no duration, and above 10,000,000 days.

    Examples
    --------
    >>> duration("size", "1 hour 30 minutes")
    '1 hour 30 minutes'
    >>> duration("size", "1 hour 30 minutes") == timedelta(minutes=90)
    True
    >>> duration("offset", "-1.5 seconds") == timedelta(milliseconds=-1500)
    True
    """
    if isinstance(value, Length):
        return value
    if isinstance(value, str):
        length = Length(_parse(argument, value), value)
    elif isinstance(value, timedelta):
        length = Length(value, duration_text(value))
    else:
        raise _no_duration(argument, value)
    if abs(length) > _LONGEST:
        raise _bad(argument, value, f"it is longer than {_LONGEST.days:,} days")
    return length


def is_duration(value: object) -> bool:
    """Return whether a value is a duration that `duration` accepts.

    Examples
    --------
    >>> is_duration("5 minutes"), is_duration("landed")
    (True, False)
    """
    if not isinstance(value, str | timedelta):
        return False
    try:
        duration("", value)
    except PySparkValueError:
        return False
    return True


def positive(argument: str, value: Duration) -> Length:
    """Return the length of a duration, and raise ``TRANSOM_NOT_POSITIVE`` if it is 0 or less."""
    length = duration(argument, value)
    if length <= timedelta():
        raise value_error(
            "NOT_POSITIVE",
            argument=argument,
            value=length,
            instead="a duration such as '1 minute'",
        )
    return length


def not_negative(argument: str, value: Duration) -> Length:
    """Return the length of a duration, and raise ``TRANSOM_NEGATIVE`` if it is less than 0."""
    length = duration(argument, value)
    if length < timedelta():
        raise value_error(
            "NEGATIVE", argument=argument, value=length, instead="'0 seconds' or more"
        )
    return length


def micros(length: Duration) -> int:
    """Return the microseconds of a checked duration.

    Examples
    --------
    >>> micros(timedelta(hours=1))
    3600000000
    """
    return duration("duration", length) // _MICROSECOND


def duration_text(length: timedelta) -> str:
    """Return a length as interval text, which Spark parses and people read.

    Examples
    --------
    >>> duration_text(timedelta(hours=25, milliseconds=-1))
    '1 day 59 minutes 59 seconds 999 milliseconds'
    >>> duration_text(timedelta())
    '0 seconds'
    """
    sign, rest = ("-", -length) if length < timedelta() else ("", length)
    parts = []
    for unit, one in _UNITS.items():
        count, rest = divmod(rest, one)
        if count:
            parts.append(f"{sign}{count} {unit}{'s' if count != 1 else ''}")
    return " ".join(parts) or "0 seconds"


def _parse(argument: str, text: str) -> timedelta:
    rest = re.sub(r"^interval\s+", "", text.strip().lower())
    if not rest:
        raise _bad(argument, text, "it is empty")
    length = timedelta()
    while rest:
        part = _PART.match(rest)
        if part is None or not (part["whole"] or part["part"]):
            if _NO_SPACE.match(rest):
                raise _bad(argument, text, f"there is no space between number and unit in {rest!r}")
            raise _bad(argument, text, f"{rest!r} does not start with a number and a unit")
        try:
            length += _length(argument, text, part)
        except OverflowError:
            raise _bad(argument, text, f"it is longer than {_LONGEST.days:,} days") from None
        rest = rest[part.end() :]
        if rest and not rest[0].isspace():
            raise _bad(argument, text, f"there is no space before {rest!r}")
        rest = rest.lstrip()
    return length


def _length(argument: str, text: str, part: re.Match[str]) -> timedelta:
    unit = part["unit"].removesuffix("s")
    if unit in _MONTHS:
        raise _bad(
            argument, text, f"a {unit} has no fixed length; transom.Calendar has such windows"
        )
    if unit not in _UNITS:
        raise _bad(argument, text, f"{part['unit']!r} is not a unit of time")
    if part["point"] and unit != "second":
        raise _bad(argument, text, "only seconds can have a fraction")
    if part["part"][6:].strip("0"):
        raise _bad(argument, text, "the shortest unit is a microsecond")
    if len(part["whole"]) > _MOST_DIGITS:
        raise OverflowError
    length = int(part["whole"] or 0) * _UNITS[unit]
    length += int(part["part"][:6].ljust(6, "0")) * _MICROSECOND
    return -length if part["sign"] == "-" else length


def _no_duration(argument: str, value: object) -> Exception:
    number: float = 60
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
        number = value
    return type_error(argument, value, f"a string such as '{number} seconds', or a timedelta")


def _bad(argument: str, value: Duration, why: str) -> Exception:
    return value_error("BAD_DURATION", argument=argument, value=repr(value), why=why)
