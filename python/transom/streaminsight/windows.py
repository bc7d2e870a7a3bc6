"""The windows of StreamInsight, with their output policies."""

from datetime import UTC, datetime, timedelta
from typing import Literal

from transom._base import checks
from transom._base.durations import Duration, positive
from transom._base.errors import type_error
from transom._base.misplaced import explained
from transom.spec.window_spec import OutputPolicy
from transom.spec.windows.grids import Hopping
from transom.spec.windows.lifetimes import CountByStart, Snapshot
from transom.stream import Stream
from transom.windowed import Windowed

StreamInsightPolicy = Literal["PointAlignToWindowEnd", "ClipToWindowEnd"]
_POLICIES: dict[str, OutputPolicy] = {
    "PointAlignToWindowEnd": "point_align_to_window_end",
    "ClipToWindowEnd": "clip_to_window_end",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@explained
def hoppingWindow(
    stream: Stream,
    windowSize: Duration,
    hopSize: Duration,
    alignment: datetime | None = None,
    outputPolicy: StreamInsightPolicy = "PointAlignToWindowEnd",
) -> Windowed:
    """Return the windows of ``HoppingWindow(windowSize, hopSize, alignment, ...)``.

    Parameters
    ----------
    stream : Stream
        The events, see `transom.streaminsight.stream`.
    windowSize : str or timedelta
        Length of a window.
    hopSize : str or timedelta
        Distance from the start of one window to the start of the next.
    alignment : datetime, optional
        An instant at which a window starts. Without a time zone it is in UTC. None means 1970, so
        windows of a day start at midnight in UTC.
    outputPolicy : {"PointAlignToWindowEnd", "ClipToWindowEnd"}
        The lifetime of a result: a point at the end of its window, or the window.

    Returns
    -------
    Windowed
        Call `transom.Windowed.agg`, `transom.Windowed.top` or `transom.Windowed.apply` on it.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE`` and the conditions of `transom.Hopping`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = spark.createDataFrame([["2024-01-01 00:00:08"]], "at string")
    >>> readings = rows.select(F.to_timestamp("at").alias("at"))
    >>> events = transom.streaminsight.stream(readings, start="at")
    >>> windows = transom.streaminsight.hoppingWindow(events, "10 seconds", "5 seconds")
    >>> counts = windows.agg(F.count("*").alias("n"))
    >>> counts.select("lifetime.start", "n").orderBy("start").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2024-01-01 00:00:10|  1|
    |2024-01-01 00:00:15|  1|
    +-------------------+---+
    """
    _check_stream(stream)
    checks.choice("outputPolicy", outputPolicy, tuple(_POLICIES))
    size, slide = positive("windowSize", windowSize), positive("hopSize", hopSize)
    window = Hopping(size=size, slide=slide, offset=_offset(alignment, slide))
    return stream.window(window).output_policy(_POLICIES[outputPolicy])


@explained
def tumblingWindow(
    stream: Stream,
    windowSize: Duration,
    alignment: datetime | None = None,
    outputPolicy: StreamInsightPolicy = "PointAlignToWindowEnd",
) -> Windowed:
    """Return the windows of ``TumblingWindow(windowSize, alignment, ...)``.

    They are hopping windows whose hop is their size.

    Parameters
    ----------
    stream : Stream
        The events, see `transom.streaminsight.stream`.
    windowSize : str or timedelta
        Length of a window.
    alignment : datetime, optional
        An instant at which a window starts, see `hoppingWindow`.
    outputPolicy : {"PointAlignToWindowEnd", "ClipToWindowEnd"}
        The lifetime of a result: a point at the end of its window, or the window.

    Returns
    -------
    Windowed
        Call `transom.Windowed.agg`, `transom.Windowed.top` or `transom.Windowed.apply` on it.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE`` and the conditions of `transom.Tumbling`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = spark.createDataFrame([["2024-01-01 00:00:08"]], "at string")
    >>> readings = rows.select(F.to_timestamp("at").alias("at"))
    >>> events = transom.streaminsight.stream(readings, start="at")
    >>> counts = transom.streaminsight.tumblingWindow(events, "10 seconds").agg(F.count("*"))
    >>> counts.select("lifetime.start").show()
    +-------------------+
    |              start|
    +-------------------+
    |2024-01-01 00:00:10|
    +-------------------+
    """
    return hoppingWindow(stream, windowSize, windowSize, alignment, outputPolicy)


@explained
def snapshotWindow(stream: Stream) -> Windowed:
    """Return the windows of ``SnapshotWindow()``.

    They lie between neighbouring starts and ends of events, and a result lasts as long as its
    window.

    Parameters
    ----------
    stream : Stream
        The events, see `transom.streaminsight.stream`.

    Returns
    -------
    Windowed
        Call `transom.Windowed.agg`, `transom.Windowed.top` or `transom.Windowed.apply` on it.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = [["2024-01-01 00:00:08", "2024-01-01 00:00:09"]]
    >>> readings = spark.createDataFrame(rows, "a string, b string")
    >>> readings = readings.select(F.to_timestamp("a").alias("a"), F.to_timestamp("b").alias("b"))
    >>> events = transom.streaminsight.stream(readings, start="a", end="b")
    >>> counts = transom.streaminsight.snapshotWindow(events).agg(F.count("*").alias("n"))
    >>> counts.select("lifetime.start", "lifetime.end", "n").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2024-01-01 00:00:08|2024-01-01 00:00:09|  1|
    +-------------------+-------------------+---+
    """
    _check_stream(stream)
    return stream.window(Snapshot()).output_policy("clip_to_window_end")


@explained
def countByStartTimeWindow(stream: Stream, count: int) -> Windowed:
    """Return the windows of ``CountByStartTimeWindow(count)``.

    A window starts at each distinct start of an event, and covers ``count`` distinct starts. A
    result is a point on the last start of its window.

    Parameters
    ----------
    stream : Stream
        The events, see `transom.streaminsight.stream`.
    count : int
        The number of distinct starts in a window.

    Returns
    -------
    Windowed
        Call `transom.Windowed.agg`, `transom.Windowed.top` or `transom.Windowed.apply` on it.
        StreamInsight has no built-in aggregates here, and transom has.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> times = ["2024-01-01 00:00:01", "2024-01-01 00:00:04", "2024-01-01 00:00:04"]
    >>> rows = spark.createDataFrame([[time] for time in times], "at string").coalesce(1)
    >>> rows = rows.select(F.to_timestamp("at").alias("at"))
    >>> events = transom.streaminsight.stream(rows, start="at")
    >>> windows = transom.streaminsight.countByStartTimeWindow(events, 2)
    >>> windows.agg(F.count("*").alias("n")).select("window.start", "n").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2024-01-01 00:00:01|  3|
    +-------------------+---+
    """
    _check_stream(stream)
    checks.whole_number("count", count, least=1)
    return stream.window(CountByStart(count)).output_policy("point_align_to_window_end")


def _check_stream(stream: Stream) -> None:
    if not isinstance(stream, Stream):
        raise type_error("stream", stream, "the result of transom.streaminsight.stream(...)")


def _offset(alignment: datetime | None, slide: timedelta) -> timedelta:
    if alignment is None:
        return timedelta()
    if not isinstance(alignment, datetime):
        raise type_error("alignment", alignment, "a datetime, such as datetime(2013, 1, 1, 9)")
    aware = alignment if alignment.tzinfo is not None else alignment.replace(tzinfo=UTC)
    return (aware - _EPOCH) % slide
