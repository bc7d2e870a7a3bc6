"""The windows of Azure Stream Analytics: they include their end, and fire when time is past it."""

from datetime import timedelta

from transom._base import checks
from transom._base.durations import duration, duration_text, positive
from transom._base.errors import value_error
from transom._base.misplaced import explained
from transom.azure.limits import limit_error
from transom.spec.windows.grids import Hopping, Tumbling
from transom.spec.windows.lifetimes import Rolling, Snapshot
from transom.spec.windows.sessions import Session

_UNITS = {
    ("day", "dd", "d"): timedelta(days=1),
    ("hour", "hh"): timedelta(hours=1),
    ("minute", "mi", "n"): timedelta(minutes=1),
    ("second", "ss", "s"): timedelta(seconds=1),
    ("millisecond", "ms"): timedelta(milliseconds=1),
    ("microsecond", "mcs"): timedelta(microseconds=1),
}
_LENGTHS = {name: length for names, length in _UNITS.items() for name in names}
_LONGEST = timedelta(days=7)


@explained
def TumblingWindow(unit: str, size: float, offset: float | timedelta | None = None) -> Tumbling:
    """Return the windows of ``TumblingWindow(unit, size, offset)``.

    Windows are ``(start, end]``, and their ends are multiples of the size since 1970 in UTC. A
    window fires when the watermark is past its end.

    Parameters
    ----------
    unit : str
        "day", "hour", "minute", "second", "millisecond" or "microsecond", or an abbreviation of
        Azure such as "mi". Case does not matter.
    size : float
        Length of a window in this unit. At most 7 days.
    offset : float or timedelta, optional
        Moves all windows. A number is in the unit of the size. A timedelta stands for a unit of its
        own: ``timedelta(milliseconds=-1)`` is ``Offset(millisecond, -1)``.

    Returns
    -------
    Tumbling
        The argument of `transom.Stream.window`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_PRESET_LIMIT`` above 7 days. ``TRANSOM_BAD_CHOICE``, ``TRANSOM_NOT_POSITIVE``,
        ``TRANSOM_BAD_DURATION``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The row at 00:00:10 is in the window that ends then.

    >>> rows = [("2024-01-01 00:00:10",), ("2024-01-01 00:00:11",)]
    >>> readings = spark.createDataFrame(rows, "at string").select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> tens = events.window(transom.azure.TumblingWindow("second", 10))
    >>> counts = tens.agg(F.count("*").alias("n"))
    >>> counts.select(F.col("window.end").alias("timestamp"), "n").orderBy("timestamp").show()
    +-------------------+---+
    |          timestamp|  n|
    +-------------------+---+
    |2024-01-01 00:00:10|  1|
    |2024-01-01 00:00:20|  1|
    +-------------------+---+
    """
    length = _fixed_size(unit, size)
    return Tumbling(size=length, offset=_start(unit, offset, length, length), closed="right")


@explained
def HoppingWindow(
    unit: str, size: float, hop: float, offset: float | timedelta | None = None
) -> Hopping:
    """Return the windows of ``HoppingWindow(unit, size, hop, offset)``.

    Windows are ``(start, end]``. Their ends are multiples of the hop since 1970 in UTC, even if the
    hop does not divide the size.

    Parameters
    ----------
    unit : str
        As in `TumblingWindow`.
    size : float
        Length of a window in this unit. At most 7 days.
    hop : float
        Time from the end of one window to the end of the next, in this unit.
    offset : float or timedelta, optional
        As in `TumblingWindow`.

    Returns
    -------
    Hopping
        The argument of `transom.Stream.window`.

    Raises
    ------
    PySparkValueError
        The conditions of `TumblingWindow`. ``TRANSOM_TOO_MANY_WINDOWS`` if a row would be in more
        than 10,000,000 windows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = [("2024-01-01 00:00:08",)]
    >>> readings = spark.createDataFrame(rows, "at string").select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> windows = events.window(transom.azure.HoppingWindow("second", 7, 5))
    >>> counts = windows.agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2024-01-01 00:00:03|2024-01-01 00:00:10|  1|
    +-------------------+-------------------+---+
    """
    length, slide = _fixed_size(unit, size), _length("hop", unit, hop)
    start = _start(unit, offset, length, slide)
    return Hopping(size=length, slide=slide, offset=start, closed="right")


@explained
def SessionWindow(unit: str, timeout: float, maxDuration: float) -> Session:
    """Return the windows of ``SessionWindow(unit, timeout, maxDuration)``.

    ``OVER (PARTITION BY ...)`` is `transom.Stream.key_by`. Rows exactly one timeout apart share a
    session. The checks of the maximum duration lie on its multiples since 1970, so a session may
    last up to twice as long.

    Parameters
    ----------
    unit : str
        As in `TumblingWindow`.
    timeout : float
        The quiet time that ends a session, in this unit.
    maxDuration : float
        The duration at which a check closes a session, in this unit.

    Returns
    -------
    Session
        The argument of `transom.Stream.window`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_DURATION``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = [("2024-01-01 00:01",), ("2024-01-01 00:06",), ("2024-01-01 00:12",)]
    >>> readings = spark.createDataFrame(rows, "at string").select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> sessions = events.window(transom.azure.SessionWindow("minute", 5, 60))
    >>> counts = sessions.agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2024-01-01 00:01:00|2024-01-01 00:11:00|  2|
    |2024-01-01 00:12:00|2024-01-01 00:17:00|  1|
    +-------------------+-------------------+---+
    """
    return Session(
        gap=_length("timeout", unit, timeout),
        closed="right",
        max_duration=_length("maxDuration", unit, maxDuration),
    )


@explained
def SlidingWindow(unit: str, size: float) -> Rolling:
    """Return the windows of ``SlidingWindow(unit, size)``.

    There is a result for each instant at which a row enters or leaves ``(end - size, end]``, unless
    no row is left. It fires when the watermark is past this instant.

    Parameters
    ----------
    unit : str
        As in `TumblingWindow`.
    size : float
        Length of a window in this unit. At most 7 days.

    Returns
    -------
    Rolling
        The argument of `transom.Stream.window`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_PRESET_LIMIT`` above 7 days. ``TRANSOM_BAD_CHOICE``, ``TRANSOM_NOT_POSITIVE``,
        ``TRANSOM_BAD_DURATION``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The rows leave at 00:00:11 and 00:00:14. No row is left then.

    >>> rows = [("2024-01-01 00:00:01",), ("2024-01-01 00:00:04",)]
    >>> readings = spark.createDataFrame(rows, "at string").select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> windows = events.window(transom.azure.SlidingWindow("second", 10))
    >>> counts = windows.agg(F.count("*").alias("n"))
    >>> counts.select(F.col("window.end").alias("timestamp"), "n").orderBy("timestamp").show()
    +-------------------+---+
    |          timestamp|  n|
    +-------------------+---+
    |2024-01-01 00:00:01|  1|
    |2024-01-01 00:00:04|  2|
    |2024-01-01 00:00:11|  1|
    +-------------------+---+
    """
    return Rolling(_fixed_size(unit, size))


@explained
def SnapshotWindow() -> Snapshot:
    """Return the windows of ``GROUP BY System.Timestamp()``: all rows with the same time.

    The end of a window is this time.

    Returns
    -------
    Snapshot
        The argument of `transom.Stream.window`.

    Examples
    --------
    >>> rows = [("2024-01-01 00:00:01",), ("2024-01-01 00:00:01",), ("2024-01-01 00:00:04",)]
    >>> readings = spark.createDataFrame(rows, "at string").select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> counts = events.window(transom.azure.SnapshotWindow()).agg(F.count("*").alias("n"))
    >>> counts.select(F.col("window.end").alias("timestamp"), "n").orderBy("timestamp").show()
    +-------------------+---+
    |          timestamp|  n|
    +-------------------+---+
    |2024-01-01 00:00:01|  2|
    |2024-01-01 00:00:04|  1|
    +-------------------+---+
    """
    return Snapshot(closed="right")


def _fixed_size(unit: str, size: float) -> timedelta:
    length = _length("size", unit, size)
    if length > _LONGEST:
        raise limit_error(
            "size",
            duration_text(length),
            why="a window lasts at most 7 days",
            fix="Use transom.Tumbling(...) or transom.Hopping(...) with closed='right', or "
            "transom.Rolling(...)",
        )
    return length


def _length(argument: str, unit: str, value: float) -> timedelta:
    return positive(argument, _times(argument, unit, value))


def _times(argument: str, unit: str, value: float) -> timedelta:
    """Return a number of units. A length that no timedelta holds becomes the longest one."""
    checks.text("unit", unit)
    if unit.lower() not in _LENGTHS:
        choices = ", ".join("|".join(names) for names in _UNITS)
        raise value_error("BAD_CHOICE", argument="unit", value=repr(unit), choices=choices)
    checks.number(argument, value)
    try:
        return _LENGTHS[unit.lower()] * value
    except OverflowError:
        return timedelta.max if value > 0 else timedelta.min


def _start(
    unit: str, offset: float | timedelta | None, size: timedelta, slide: timedelta
) -> timedelta:
    """Return the offset of the starts of windows that end at multiples of the slide + offset."""
    if offset is None:
        moved = timedelta()
    elif isinstance(offset, timedelta):
        moved = offset
    else:
        moved = _times("offset", unit, offset)
    return (duration("offset", moved) - size) % slide
