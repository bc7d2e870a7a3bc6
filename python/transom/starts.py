"""Where a new query must begin to read, so that its first result is complete."""

from datetime import UTC, datetime, timedelta
from typing import cast

from pyspark.sql import Column

from transom._base.durations import Duration, duration
from transom._base.errors import type_error, value_error
from transom._base.misplaced import explained
from transom.spec.times.time_policies import TimePolicy
from transom.spec.windows.assigners import Window
from transom.spec.windows.calendar import Calendar
from transom.spec.windows.grids import Cumulate, Hopping, Tumbling
from transom.spec.windows.lifetimes import Rolling
from transom.spec.windows.sessions import Session
from transom.spec.windows.several import members_of

# The longest instance of each unit.
_LONGEST_DAYS = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
# How much longer a window may be if the clocks of its time zone change.
_CLOCK_CHANGES = timedelta(days=1)


@explained
def earliest_input(
    first_output: datetime, *windows: Window, time: TimePolicy | None = None
) -> datetime:
    """Return the arrival time of the first row that can count in the first result.

    A source that starts at this time, together with the step `Windowed.first_output`, gives
    complete results only. The time lies before ``first_output`` by the length of the largest
    window, and by the tolerance of ``TimePolicy.early``. It may be a little too early, for example
    for windows of a time zone. Rows with lifetimes count in windows that start after them: subtract
    the longest lifetime from the result.

    Parameters
    ----------
    first_output : datetime
        The end of the first window whose result is emitted.
    *windows : Tumbling, Hopping, Cumulate, Calendar, Rolling, Session or Windows
        The windows of the query, at least one. A session needs a ``max_duration`` and a fixed gap.
    time : TimePolicy, optional
        The time of the query. Without a rule for early rows, a row may arrive any time before its
        own time. The result then holds for rows that do not arrive before their time.

    Returns
    -------
    datetime
        In the time zone of ``first_output``. Without a time zone, both are in the local time of
        this machine.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNBOUNDED_WINDOW`` for windows without a largest length, and for a session with
        ``max_check=">"``, whose bounds may depend on any earlier row.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> from datetime import datetime
    >>> import transom
    >>> clock = transom.TimePolicy("departed", early=transom.Drop("5 minutes"))
    >>> transom.earliest_input(
    ...     datetime(2013, 1, 1, 12), transom.Tumbling(size="1 hour"), time=clock
    ... )
    datetime.datetime(2013, 1, 1, 10, 55)

    Kafka starts at a time in milliseconds since 1970. A partition without a row since then needs
    the second option.

    >>> start = transom.earliest_input(datetime(2013, 1, 1, 12), transom.Tumbling(size="1 hour"))
    >>> milliseconds = int(start.timestamp() * 1000)
    >>> reader = spark.readStream.format("kafka").option("startingTimestamp", milliseconds)
    >>> reader = reader.option("startingOffsetsByTimestampStrategy", "latest")
    """
    if not isinstance(first_output, datetime) or first_output != first_output:
        raise type_error("first_output", first_output, "a datetime, such as datetime(2013, 1, 1)")
    if time is not None and not isinstance(time, TimePolicy):
        raise type_error("time", time, "a transom.TimePolicy(...) or None")
    if not windows:
        raise type_error("windows", windows, "at least one window")
    early = timedelta()
    if time is not None and time.early is not None:
        early = duration("early", time.early.beyond)
    members = (member for window in windows for member in members_of(window))
    # A timestamp of pandas has conversions of its own.
    if hasattr(first_output, "to_pydatetime"):
        first_output = first_output.to_pydatetime()
    longest = max(map(_longest, members))
    try:
        # Days of a time zone differ in length, so the difference is taken between instants.
        start = first_output.astimezone(UTC) - longest - early
        if first_output.tzinfo is None:
            return start.astimezone().replace(tzinfo=None)
        return start.astimezone(first_output.tzinfo)
    except (OverflowError, ValueError):
        return datetime.min.replace(tzinfo=first_output.tzinfo)


def _longest(window: Window) -> timedelta:
    if isinstance(window, Calendar):
        return timedelta(days=window.every * _LONGEST_DAYS[window.unit]) + _CLOCK_CHANGES
    if isinstance(window, Tumbling | Hopping | Cumulate):
        size = duration("size", window.size)
        return size if window.time_zone == "UTC" else size + _CLOCK_CHANGES
    if isinstance(window, Rolling):
        return duration("size", window.size)
    if isinstance(window, Session):
        longest = _longest_session(window)
        if longest is not None:
            return longest
    if isinstance(window, Window):
        raise value_error("UNBOUNDED_WINDOW", argument="earliest_input", window=window)
    raise type_error("windows", window, "a window such as transom.Tumbling(size='1 hour')")


def _longest_session(window: Session) -> timedelta | None:
    """Return how much input decides the bounds of a session, or None if there is no limit.

    The first row that is read may lie in the middle of a session, at most a gap after the start of
    the input. A check closes this session within twice its maximum duration. From then on, a
    session starts at each check, as it would without the cut. With ``max_check=">"``, the bounds
    depend on which check came first.
    """
    gap: object = window.gap
    if window.max_duration is None or window.max_check != ">=" or isinstance(gap, Column):
        return None
    return 2 * duration("max_duration", window.max_duration) + duration(
        "gap", cast("Duration", gap)
    )
