"""The window stages of Atlas."""

from datetime import timedelta
from typing import Literal

from pyspark.sql.types import StructType

from transom._base import checks
from transom._base.columns import field_of
from transom._base.errors import type_error, value_error
from transom._base.expressions import Col, check_column, text_of
from transom._base.hints import ATLAS_SESSION_KEYWORDS
from transom._base.misplaced import explained, keyword_hints
from transom.atlas import durations
from transom.atlas.durations import JsonDuration
from transom.spec.firing.end_triggers import AfterLateness
from transom.spec.times.time_policies import ProcessingTime
from transom.spec.windows.assigners import Window
from transom.spec.windows.grids import Hopping, Tumbling
from transom.spec.windows.sessions import Session
from transom.stream import Stream
from transom.stream import stream as transom_stream
from transom.windowed import Windowed

Boundary = Literal["eventTime", "processingTime"]

_SYSTEM = "Atlas Stream Processing"
_DEFAULT_LATENESS: JsonDuration = {"size": 3, "unit": "second"}
# Stands for an idle timeout of 0, because the step idle_timeout needs a positive timeout.
_SHORTEST_TIMEOUT = timedelta(microseconds=1)


@explained
def tumblingWindow(
    stream: Stream,
    *,
    interval: JsonDuration,
    offset: JsonDuration | None = None,
    boundary: Boundary = "eventTime",
    idleTimeout: JsonDuration | None = None,
    allowedLateness: JsonDuration | None = None,
) -> Windowed:
    """Assign rows to windows as ``$tumblingWindow`` does.

    A window gives one result. It closes when the watermark has reached its end plus the lateness.
    Rows that come later are late. `transom.Windowed.with_late_rows` delivers them, as the
    dead-letter queue of Atlas does.

    Parameters
    ----------
    stream : Stream
        The result of `stream`. Keys of `transom.Stream.key_by` stand for the ``_id`` of ``$group``.
    interval : dict
        Length of a window, with the unit "ms", "second", "minute", "hour" or "day".
    offset : dict, optional
        Moves the start of all windows, as in ``{"offsetFromUtc": 8, "unit": "hour"}``. The unit
        "day" is not allowed.
    boundary : {"eventTime", "processingTime"}
        Whether event time or the wall clock assigns and closes windows. With "processingTime" no
        row is late, and the two last parameters are not allowed.
    idleTimeout : dict or 0, optional
        How long the source must be silent after its last row, and after the end of a window, before
        the window closes without a watermark. Without it, windows wait for rows.
    allowedLateness : dict or 0, optional
        How long a window waits for late rows. Without it, 3 seconds.

    Returns
    -------
    Windowed
        A builder that computes results, and has further steps.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_PRESET_LIMIT`` for ``idleTimeout`` or ``allowedLateness`` in processing time.
        ``TRANSOM_BAD_CHOICE``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NEGATIVE``, and the conditions
        of `transom.Stream.window` and of the steps that this function takes.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    See Also
    --------
    transom.Tumbling : The windows without a preset.
    transom.AfterLateness : The trigger of these windows.

    Examples
    --------
    The row of 00:03:02 moves the watermark less than 3 seconds past the end of the first window. So
    the row of 00:02:59, which comes after it, is still in time.

    >>> rows = [(1, "00:01:00"), (2, "00:03:02"), (3, "00:02:59")]
    >>> readings = spark.createDataFrame(rows, "n int, at string").select(
    ...     F.to_timestamp(F.concat(F.lit("2024-01-01 "), "at")).alias("at"),
    ...     F.timestamp_seconds("n").alias("known"),
    ... )
    >>> by_time = transom.atlas.stream(readings, timeField="at", arrival="known")
    >>> threes = transom.atlas.tumblingWindow(by_time, interval={"size": 3, "unit": "minute"})
    >>> threes.agg(F.count("*").alias("n")).select("window.end", "n").orderBy("end").show()
    +-------------------+---+
    |                end|  n|
    +-------------------+---+
    |2024-01-01 00:03:00|  2|
    |2024-01-01 00:06:00|  1|
    +-------------------+---+
    """
    size = durations.positive("interval", interval)
    # An offset of a whole interval or more gives the same windows as its remainder.
    window = Tumbling(size=size, offset=durations.offset("offset", offset) % size)
    return _assign(stream, window, boundary, idleTimeout, allowedLateness)


@explained
def hoppingWindow(
    stream: Stream,
    *,
    interval: JsonDuration,
    hopSize: JsonDuration,
    offset: JsonDuration | None = None,
    boundary: Boundary = "eventTime",
    idleTimeout: JsonDuration | None = None,
    allowedLateness: JsonDuration | None = None,
) -> Windowed:
    """Assign rows to windows as ``$hoppingWindow`` does.

    Parameters
    ----------
    stream : Stream
        The result of `stream`.
    interval : dict
        Length of a window.
    hopSize : dict
        Time from the start of one window to the start of the next. Above ``interval``, it leaves
        gaps, whose rows belong to no window.
    offset : dict, optional
        As in `tumblingWindow`.
    boundary : {"eventTime", "processingTime"}
        As in `tumblingWindow`.
    idleTimeout : dict or 0, optional
        As in `tumblingWindow`.
    allowedLateness : dict or 0, optional
        As in `tumblingWindow`. A row that is late for some of its windows counts in the others.

    Returns
    -------
    Windowed
        A builder that computes results, and has further steps.

    Raises
    ------
    PySparkValueError
        The conditions of `tumblingWindow`. ``TRANSOM_TOO_MANY_WINDOWS`` if a row would be in more
        than 10,000,000 windows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    See Also
    --------
    transom.Hopping : The windows without a preset.

    Examples
    --------
    >>> readings = spark.createDataFrame([("2024-01-01 00:00:07",)], "at string")
    >>> by_time = transom.atlas.stream(readings, timeField=F.to_timestamp("at"))
    >>> windows = transom.atlas.hoppingWindow(
    ...     by_time, interval={"size": 20, "unit": "second"}, hopSize={"size": 10, "unit": "second"}
    ... )
    >>> windows.agg(F.count("*").alias("n")).select("window.start", "n").orderBy("start").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2023-12-31 23:59:50|  1|
    |2024-01-01 00:00:00|  1|
    +-------------------+---+
    """
    slide = durations.positive("hopSize", hopSize)
    window = Hopping(
        size=durations.positive("interval", interval),
        slide=slide,
        offset=durations.offset("offset", offset) % slide,
    )
    return _assign(stream, window, boundary, idleTimeout, allowedLateness)


@explained
@keyword_hints(ATLAS_SESSION_KEYWORDS, system=_SYSTEM)
def sessionWindow(
    stream: Stream,
    *,
    partitionBy: Col,
    gap: JsonDuration,
    boundary: Boundary = "eventTime",
    allowedLateness: JsonDuration | None = None,
) -> Windowed:
    """Assign rows to sessions as ``$sessionWindow`` does.

    Two rows of a partition share a session if less than ``gap`` lies between them. A session closes
    when the watermark has reached its last row plus the gap plus the lateness. A row before the
    watermark may join an open session. If it touches none, it is late.

    Parameters
    ----------
    stream : Stream
        The result of `stream`, without keys.
    partitionBy : str or Column
        The key of a session. A struct with several fields is not allowed.
    gap : dict
        The quiet time that ends a session.
    boundary : {"eventTime", "processingTime"}
        As in `tumblingWindow`.
    allowedLateness : dict or 0, optional
        As in `tumblingWindow`. Sessions have neither an offset nor an idle timeout in Atlas.

    Returns
    -------
    Windowed
        A builder that computes results, and has further steps.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_PRESET_LIMIT`` for ``idleTimeout``, ``offset`` and a struct with several fields.
        ``TRANSOM_SET_TWICE`` for a stream with keys. The other conditions of `tumblingWindow`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    See Also
    --------
    transom.Session : The windows without a preset.

    Examples
    --------
    The rows of 00:01 and 00:06 are exactly one gap apart, so they are in different sessions.

    >>> rows = [("a", "00:01"), ("a", "00:06"), ("a", "00:08")]
    >>> readings = spark.createDataFrame(rows, "sensor string, at string")
    >>> at = F.to_timestamp(F.concat(F.lit("2024-01-01 "), "at"))
    >>> by_time = transom.atlas.stream(readings, timeField=at)
    >>> sessions = transom.atlas.sessionWindow(
    ...     by_time, partitionBy="sensor", gap={"size": 5, "unit": "minute"}
    ... )
    >>> counts = sessions.agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("start").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2024-01-01 00:01:00|2024-01-01 00:06:00|  1|
    |2024-01-01 00:06:00|2024-01-01 00:13:00|  2|
    +-------------------+-------------------+---+
    """
    _check_stream(stream)
    check_column("partitionBy", partitionBy)
    key = field_of(stream._df, "partitionBy", partitionBy)
    if isinstance(key.dataType, StructType) and len(key.dataType.fields) > 1:
        why = "it is a document with several fields"
        fix = "Use one of its fields, or transom.Session(...) after key_by(...)"
        raise _limit("partitionBy", repr(text_of(partitionBy)), why, fix)
    window = Session(gap=durations.positive("gap", gap), inclusive=False, late_start="reject")
    return _assign(stream.key_by(partitionBy), window, boundary, None, allowedLateness)


def _assign(
    stream: Stream,
    window: Window,
    boundary: Boundary,
    idle_timeout: JsonDuration | None,
    lateness: JsonDuration | None,
) -> Windowed:
    _check_stream(stream)
    checks.choice("boundary", boundary, ("eventTime", "processingTime"))
    if boundary == "processingTime":
        for argument, value in (("idleTimeout", idle_timeout), ("allowedLateness", lateness)):
            if value is not None:
                why = "with boundary='processingTime' the wall clock alone closes windows"
                fix = f"Remove {argument}, or use boundary='eventTime'"
                raise _limit(argument, value, why, fix)
        return _in_processing_time(stream).window(window)
    lateness = _DEFAULT_LATENESS if lateness is None else lateness
    length = durations.not_negative("allowedLateness", lateness)
    windowed = stream.window(window).allowed_lateness(length).trigger(AfterLateness())
    if idle_timeout is None:
        return windowed
    after = durations.not_negative("idleTimeout", idle_timeout)
    return windowed.idle_timeout(max(after, _SHORTEST_TIMEOUT))


def _limit(argument: str, value: object, why: str, fix: str) -> Exception:
    return value_error(
        "PRESET_LIMIT", argument=argument, value=value, system=_SYSTEM, why=why, fix=fix
    )


def _check_stream(stream: Stream) -> None:
    if not isinstance(stream, Stream):
        raise type_error("stream", stream, "the result of transom.atlas.stream(...)")


def _in_processing_time(stream: Stream) -> Stream:
    """Return a stream with the same rows and keys, whose time is the wall clock."""
    by_clock = transom_stream(stream._df, time=ProcessingTime(), order=stream._order)
    return by_clock if stream._keys is None else by_clock.key_by(*stream._keys)
