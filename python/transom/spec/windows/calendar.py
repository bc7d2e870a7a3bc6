"""Windows of the calendar of a time zone."""

from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Literal

from transom._base import checks
from transom._base.constants import MOST_CALENDAR_UNITS
from transom._base.durations import Duration, Length
from transom._base.errors import value_error
from transom._base.values import keywords_after
from transom.spec.windows.assigners import Closed, Window, check_ends, keep_offset

Unit = Literal["day", "week", "month", "quarter", "year"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST_DAYS = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}


@keywords_after(1, example="Calendar('day', time_zone='Europe/Rome')")
@dataclass(frozen=True, slots=True, repr=False)
class Calendar(Window):
    """Days, weeks, months, quarters or years of a time zone, whatever their length.

    Parameters
    ----------
    unit : {"day", "week", "month", "quarter", "year"}
        The calendar unit.
    time_zone : str
        Time zone on whose calendar windows start.
    every : int
        Number of units in a window, counted from 1970. At most 100,000.
    first_day : str
        First day of a week, such as "sunday".
    offset : str or timedelta
        Moves all starts. It may be negative, and must be shorter than the shortest window.
    closed : {"left", "right"}
        The end that belongs to a window, as in `Tumbling`.

    Raises
    ------
    PySparkValueError
        The conditions of `Tumbling`. ``TRANSOM_CONFLICT`` for ``first_day`` and a unit other than
        "week".
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The session shows times in UTC. A day of Rome starts at 23:00 UTC in winter.

    >>> import transom
    >>> rows = spark.createDataFrame([("2013-01-01 22:30",), ("2013-01-01 23:30",)], "at string")
    >>> window = transom.Calendar(unit="day", time_zone="Europe/Rome")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> counts = by_time.window(window).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window.end", "n").orderBy("end").show()
    +-------------------+-------------------+---+
    |              start|                end|  n|
    +-------------------+-------------------+---+
    |2012-12-31 23:00:00|2013-01-01 23:00:00|  1|
    |2013-01-01 23:00:00|2013-01-02 23:00:00|  1|
    +-------------------+-------------------+---+
    """

    unit: Unit
    _: KW_ONLY
    time_zone: str
    every: int = 1
    first_day: Weekday = "monday"
    offset: Duration = "0 seconds"
    closed: Closed = "left"

    def __post_init__(self) -> None:
        checks.choice("unit", self.unit, _SHORTEST_DAYS)
        checks.whole_number("every", self.every, least=1, most=MOST_CALENDAR_UNITS)
        checks.choice("first_day", self.first_day, _WEEKDAYS)
        if self.first_day != "monday" and self.unit != "week":
            raise value_error(
                "CONFLICT",
                argument="first_day",
                step="Calendar(first_day=)",
                other=f"unit={self.unit!r}",
                why="only weeks have a first day",
            )
        days = self.every * _SHORTEST_DAYS[self.unit]
        text = "1 day" if days == 1 else f"{days} days"
        keep_offset(self, Length(timedelta(days=days), text), repeats=False)
        check_ends(self.closed, self.time_zone)
