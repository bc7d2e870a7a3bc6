"""Times of Spark as values of Python.

Spark has times and dates outside of the years 1 to 9999, which Python lacks. Such a time is the
first or the last one that Python has.
"""

from datetime import date, datetime, timedelta, tzinfo


def datetime_of(micros: int, zone: tzinfo | None) -> datetime:
    """Return the time that is a number of microseconds after 1970, in UTC or without a zone."""
    try:
        return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.max if micros > 0 else datetime.min).replace(tzinfo=zone)


def date_of(days: int) -> date:
    """Return the date that is a number of days after 1970-01-01."""
    try:
        return date(1970, 1, 1) + timedelta(days=days)
    except OverflowError:
        return date.max if days > 0 else date.min
