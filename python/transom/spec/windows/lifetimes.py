"""Lifetimes of rows, and the windows between their starts and ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column

from transom._base import checks
from transom._base.durations import Duration
from transom._base.errors import value_error
from transom._base.expressions import Col, check_column
from transom._base.values import Value, keywords_after
from transom.spec.windows.assigners import Closed, Window, check_closed, keep_positive
from transom.spec.windows.sessions import Gap


@keywords_after(1, example="Lifetime(duration='5 minutes')")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lifetime(Value):
    """How long a row lasts, from its time on.

    A row with a lifetime is in every window that its lifetime overlaps. A lifetime includes its
    start and excludes its end. Rows without a lifetime last one microsecond.

    With ``id``, the end comes in a later row: these rows are edges. A row whose end is null starts
    a lifetime. A row with an end ends the lifetime with the same keys, id and time, and it is in no
    window itself. Functions see the row that started the lifetime.

    Parameters
    ----------
    end : str or Column, optional
        The end of a row, a timestamp. A row whose end is null has no end. Without ``id``, such a
        row stays in the state of its key until the query ends, and it is in all later windows.
    duration : str, timedelta or Column, optional
        The duration instead of the end. A Column of type ``INTERVAL DAY TO SECOND`` sets a duration
        for each row. A day is 24 hours, also where clocks change.
    id : sequence of str or Column
        The columns that, with the keys and the time, are the same in the row that starts a lifetime
        and in the row that ends it. Null is a value like any other. Empty means that each row has
        its own end.
    timeout : str or timedelta, optional
        How long a row with ``id`` waits for its end. It ends then, so that the state is bounded.
        Without a timeout a row waits until the query ends.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_LIFETIME_CHOICE`` without end and duration, and with both. ``TRANSOM_CONFLICT``
        for ``id`` with a duration, ``TRANSOM_NEEDS_ID`` for ``timeout`` without ``id``.
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``, also for a second argument without a keyword.

    Notes
    -----
    A row whose lifetime does not end after its start is in no window. It is a dead letter with the
    reason "bad_lifetime", see `Windowed.with_dead_letters`. So is a row whose end or duration
    fails, and a row whose duration is null. With windows on a grid, a row whose lifetime overlaps
    more than 10,000,000 windows is a dead letter with the reason "too_many_windows". So write null
    for an unknown end, and not a date in the far future.

    A row that starts before the watermark counts from the watermark on. A row is late if its
    lifetime has ended by then. With windows on a grid, it is late if all of its windows have fired.

    With ``id``, an end without a start is a dead letter with the reason "bad_lifetime". So are a
    second end, an end after the timeout, and a second start while the first row waits. An end
    before the watermark counts from the watermark on. See the page Lifetimes of the documentation.

    Examples
    --------
    The flight is in the air in both hours.

    >>> rows = [("N1", "2013-01-01 05:40", "2013-01-01 06:10")]
    >>> flights = spark.createDataFrame(rows, "tail string, departed string, landed string")
    >>> times = [F.to_timestamp(name).alias(name) for name in ("departed", "landed")]
    >>> flights = flights.select("tail", *times)
    >>> in_air = transom.stream(flights, time="departed", lifetime=transom.Lifetime("landed"))
    >>> hours = in_air.window_all(transom.Tumbling(size="1 hour"))
    >>> counts = hours.agg(F.count("*").alias("planes"))
    >>> counts.select("window.start", "planes").orderBy("start").show()
    +-------------------+------+
    |              start|planes|
    +-------------------+------+
    |2013-01-01 05:00:00|     1|
    |2013-01-01 06:00:00|     1|
    +-------------------+------+

    The second row says when the flight has landed.

    >>> rows = [("N1", "2013-01-01 05:40", None), ("N1", "2013-01-01 05:40", "2013-01-01 06:10")]
    >>> edges = spark.createDataFrame(rows, "tail string, departed string, landed string")
    >>> edges = edges.select("tail", *times)
    >>> flight = transom.Lifetime("landed", id=["tail"], timeout="1 day")
    >>> in_air = transom.stream(edges, time="departed", lifetime=flight)
    >>> planes = in_air.window_all(transom.Snapshot()).agg(F.count("*").alias("planes"))
    >>> planes.select("window.start", "window.end", "planes").show()
    +-------------------+-------------------+------+
    |              start|                end|planes|
    +-------------------+-------------------+------+
    |2013-01-01 05:40:00|2013-01-01 06:10:00|     1|
    +-------------------+-------------------+------+
    """

    end: Col | None = None
    duration: Gap | None = field(default=None, kw_only=True)
    id: Sequence[Col] = field(default=(), kw_only=True)
    timeout: Duration | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.end is None) == (self.duration is None):
            given = "neither" if self.end is None else "both"
            raise value_error("LIFETIME_CHOICE", argument="lifetime", given=given)
        if self.end is not None:
            check_column("end", self.end)
        elif not isinstance(self.duration, Column):
            keep_positive(self, "duration")
        checks.sequence("id", self.id, (str, Column), "a list of Columns or column names")
        object.__setattr__(self, "id", tuple(self.id))
        if self.id and self.end is None:
            raise value_error(
                "CONFLICT",
                argument="id",
                step="Lifetime(id=)",
                other="Lifetime(duration=)",
                why="a row with a duration does not wait for another row with its end",
            )
        if self.timeout is not None:
            keep_positive(self, "timeout")
            if not self.id:
                raise value_error("NEEDS_ID", argument="timeout")


@keywords_after(0, example="Snapshot(closed='right')")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Snapshot(Window):
    """The windows between neighbouring starts and ends of lifetimes.

    The rows of a window are the same at each of its instants. A window without rows has no result.
    Neighbouring windows with equal results stay separate. This is StreamInsight's snapshot window.
    A row without a lifetime lasts one microsecond, so its window holds the rows with the same time.
    With ``closed="right"`` this window ends at that time, as in Azure's snapshot window.

    Parameters
    ----------
    closed : {"left", "right"}
        The end that belongs to the window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The second flight departs while the first one is in the air.

    >>> rows = [("05:40", "06:10"), ("06:00", "06:30")]
    >>> flights = spark.createDataFrame(rows, "departed string, landed string")
    >>> times = [F.to_timestamp(F.concat(F.lit("2013-01-01 "), name)).alias(name)
    ...          for name in ("departed", "landed")]
    >>> in_air = transom.stream(flights.select(*times), time="departed", lifetime="landed")
    >>> planes = in_air.window_all(transom.Snapshot()).agg(F.count("*").alias("planes"))
    >>> planes.select("window.start", "window.end", "planes").orderBy("start").show()
    +-------------------+-------------------+------+
    |              start|                end|planes|
    +-------------------+-------------------+------+
    |2013-01-01 05:40:00|2013-01-01 06:00:00|     1|
    |2013-01-01 06:00:00|2013-01-01 06:10:00|     2|
    |2013-01-01 06:10:00|2013-01-01 06:30:00|     1|
    +-------------------+-------------------+------+
    """

    closed: Closed = "left"

    def __post_init__(self) -> None:
        check_closed(self.closed)


@keywords_after(1, example="Rolling('1 minute')")
@dataclass(frozen=True, slots=True, repr=False)
class Rolling(Window):
    """The last rows of a key, whenever they change.

    A result covers the rows of ``(end - size, end]``. There is a result for each instant at which a
    row arrives, and for each instant at which a row leaves, unless no row is left. Several changes
    at one instant give one result. This is the sliding window of Azure Stream Analytics. A result
    is emitted when the watermark is past the end of its window.

    Parameters
    ----------
    size : str or timedelta
        Length of a window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The first row leaves at 05:50, the second one at 05:55. No row is left then.

    >>> rows = spark.createDataFrame([["2013-01-01 05:40"], ["2013-01-01 05:45"]], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(transom.Rolling("10 minutes")).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:30:00|2013-01-01 05:40:00|  1|
    |2013-01-01 05:35:00|2013-01-01 05:45:00|  2|
    |2013-01-01 05:40:00|2013-01-01 05:50:00|  1|
    +-------------------+-------------------+---+
    """

    size: Duration

    def __post_init__(self) -> None:
        keep_positive(self, "size")


@keywords_after(1, example="CountByStart(3)")
@dataclass(frozen=True, slots=True, repr=False)
class CountByStart(Window):
    """Windows over a number of distinct times of rows.

    A window starts at each distinct time of a key, and covers ``size`` distinct times. It ends one
    microsecond after the last one. Rows with the same time count as one, so a window may hold more
    rows than ``size``. There is no window before a key has that many times. This is StreamInsight's
    count window.

    Parameters
    ----------
    size : int
        The number of distinct times in a window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> times = ["2013-01-01 05:40", "2013-01-01 05:45", "2013-01-01 05:45", "2013-01-01 06:10"]
    >>> rows = spark.createDataFrame([[time] for time in times], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(transom.CountByStart(2)).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "n").orderBy("start").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2013-01-01 05:40:00|  3|
    |2013-01-01 05:45:00|  3|
    +-------------------+---+
    """

    size: int

    def __post_init__(self) -> None:
        checks.whole_number("size", self.size, least=1)


SWEPT = (Snapshot, Rolling, CountByStart)
"""The windows that a sweep over starts and ends finds."""
