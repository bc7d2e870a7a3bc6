"""Windows on a fixed grid, which is the same for every key."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from transom._base import checks
from transom._base.durations import Duration
from transom._base.errors import value_error
from transom._base.misplaced import Hints
from transom._base.values import keywords_after
from transom.spec.windows.assigners import (
    SPARK_TIME,
    Closed,
    Window,
    check_ends,
    check_windows_per_row,
    keep_offset,
    keep_positive,
)

_TUMBLING = "Tumbling('1 hour', offset='15 minutes')"
_HOPPING = "Hopping('1 hour', '5 minutes', offset='1 minute')"
# Spark's words for the arguments of windows, and arguments of the other kind.
_NOT_TUMBLING: Hints = {
    **SPARK_TIME,
    "windowDuration": ("Spark's windowDuration is the size", "Tumbling('1 hour')"),
    "startTime": ("Spark's startTime is the offset", _TUMBLING),
    **dict.fromkeys(
        ("slide", "slideDuration"),
        ("windows with a slide are Hopping", "Hopping('1 hour', '5 minutes')"),
    ),
}
_NOT_HOPPING: Hints = {
    **SPARK_TIME,
    "windowDuration": ("Spark's windowDuration is the size", "Hopping('1 hour', '5 minutes')"),
    "slideDuration": ("Spark's slideDuration is the slide", "Hopping('1 hour', '5 minutes')"),
    "startTime": ("Spark's startTime is the offset", _HOPPING),
    "step": ("the step of Hopping is the slide", "Hopping('1 hour', '5 minutes')"),
}
_CUMULATE = "Cumulate('1 day', '1 hour', offset='6 hours')"
_NOT_CUMULATE: Hints = {
    "slide": ("the slide of Cumulate is the step", "Cumulate('1 day', '1 hour')"),
    "max_size": ("Flink's max_size is the size, and it comes first", "Cumulate('1 day', '1 hour')"),
}

Stagger = Literal["aligned", "random", "natural"]


@keywords_after(1, example=_TUMBLING, hints=_NOT_TUMBLING)
@dataclass(frozen=True, slots=True, repr=False)
class Tumbling(Window):
    """Windows of one size without gaps or overlap: each row is in exactly one window.

    Windows start at ``k * size + offset`` since 1970 on the wall clock of the time zone. A window
    of 4 hours therefore lasts 3 or 5 hours when the clock changes. When the clock goes back, some
    times occur twice. A window starts at the first occurrence of its start, and ends at the second
    occurrence of its end. If the clock goes back to exactly this end, the window ends at the first
    occurrence.

    Parameters
    ----------
    size : str or timedelta
        Length of a window.
    offset : str or timedelta
        Moves all starts. It may be negative, and must be shorter than ``size``.
    closed : {"left", "right"}
        The end that belongs to a window. With "right" windows are ``(start, end]``, and fire when
        the watermark is past their end.
    time_zone : str
        Time zone on whose wall clock windows start, such as "Europe/Rome".
    stagger : {"aligned", "random", "natural"}
        How far windows are moved beyond their offset, so that not all of them fire at once.

        "aligned" moves no window. "random" draws a length for each key group. "natural" uses how
        long after the start of its window the first row of the key group arrived, on the wall
        clock.

        A key group keeps its length for good. ``options(key_groups=)`` sets the number of key
        groups. Flink moves windows by parallel task instead, and draws again after a restart.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_OFFSET_TOO_LARGE``,
        ``TRANSOM_BAD_CHOICE``, ``TRANSOM_UNKNOWN_TIME_ZONE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Tumbling(size="60 seconds") == transom.Tumbling(size="1 minute")
    True

    Each row is in one window.

    >>> rows = spark.createDataFrame([("2013-01-01 05:40",), ("2013-01-01 06:10",)], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(transom.Tumbling(size="1 hour")).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:00:00|2013-01-01 06:00:00|  1|
    |2013-01-01 06:00:00|2013-01-01 07:00:00|  1|
    +-------------------+-------------------+---+
    """

    size: Duration
    _: KW_ONLY
    offset: Duration = "0 seconds"
    closed: Closed = "left"
    time_zone: str = "UTC"
    stagger: Stagger = "aligned"

    def __post_init__(self) -> None:
        size = keep_positive(self, "size")
        keep_offset(self, size)
        check_ends(self.closed, self.time_zone)
        checks.choice("stagger", self.stagger, ("aligned", "random", "natural"))


@keywords_after(2, example=_HOPPING, hints=_NOT_HOPPING)
@dataclass(frozen=True, slots=True, repr=False)
class Hopping(Window):
    """Windows of one size that start every ``slide``: a row is in each window that holds its time.

    A slide below the size makes windows overlap. A slide above the size leaves gaps, and rows in a
    gap belong to no window. The slide need not divide the size.

    Parameters
    ----------
    size : str or timedelta
        Length of a window.
    slide : str or timedelta
        Time from the start of one window to the start of the next.
    offset : str or timedelta
        Moves all starts. It may be negative, and must be shorter than ``slide``.
    closed : {"left", "right"}
        The end that belongs to a window, as in `Tumbling`.
    time_zone : str
        Time zone on whose wall clock windows start.

    Raises
    ------
    PySparkValueError
        The conditions of `Tumbling`. ``TRANSOM_TOO_MANY_WINDOWS`` if a row would be in more than
        10,000,000 windows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    Each row is in two windows, because the slide is half of the size.

    >>> import transom
    >>> rows = spark.createDataFrame([("2013-01-01 05:40",), ("2013-01-01 06:10",)], "at string")
    >>> window = transom.Hopping(size="1 hour", slide="30 minutes")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(window).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:00:00|2013-01-01 06:00:00|  1|
    |2013-01-01 05:30:00|2013-01-01 06:30:00|  2|
    |2013-01-01 06:00:00|2013-01-01 07:00:00|  1|
    +-------------------+-------------------+---+
    """

    size: Duration
    slide: Duration
    _: KW_ONLY
    offset: Duration = "0 seconds"
    closed: Closed = "left"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        size = keep_positive(self, "size")
        slide = keep_positive(self, "slide")
        check_windows_per_row(-(-size // slide), "slide", slide)
        keep_offset(self, slide)
        check_ends(self.closed, self.time_zone)


@keywords_after(2, example=_CUMULATE, hints=_NOT_CUMULATE)
@dataclass(frozen=True, slots=True, repr=False)
class Cumulate(Window):
    """Windows that share a start and grow step by step to their full size, then start again.

    Parameters
    ----------
    size : str or timedelta
        Length of the largest window. It is a multiple of ``step``.
    step : str or timedelta
        Time from the end of one window to the end of the next.
    offset : str or timedelta
        Moves all starts. It may be negative, and must be shorter than ``size``.
    closed : {"left", "right"}
        The end that belongs to a window, as in `Tumbling`.
    time_zone : str
        Time zone on whose wall clock windows start.

    Raises
    ------
    PySparkValueError
        The conditions of `Tumbling`, and ``TRANSOM_NOT_A_MULTIPLE``. ``TRANSOM_TOO_MANY_WINDOWS``
        if a row would be in more than 10,000,000 windows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The second window contains the rows of the first.

    >>> import transom
    >>> rows = spark.createDataFrame([("2013-01-01 05:10",), ("2013-01-01 05:40",)], "at string")
    >>> window = transom.Cumulate(size="1 hour", step="30 minutes")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(window).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2013-01-01 05:00:00|2013-01-01 05:30:00|  1|
    |2013-01-01 05:00:00|2013-01-01 06:00:00|  2|
    +-------------------+-------------------+---+
    """

    size: Duration
    step: Duration
    _: KW_ONLY
    offset: Duration = "0 seconds"
    closed: Closed = "left"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        size = keep_positive(self, "size")
        step = keep_positive(self, "step")
        if size % step:
            raise value_error("NOT_A_MULTIPLE", argument="size", value=size, step=step)
        check_windows_per_row(size // step, "step", step)
        keep_offset(self, size)
        check_ends(self.closed, self.time_zone)
