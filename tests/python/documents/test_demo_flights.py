"""The demo computes the instants of flights from local times."""

import pandas as pd
import pytest

from examples.demo.flights import instants, load, table

AIRPORTS = pd.DataFrame(
    [("IAH", "America/Chicago"), ("LAX", "America/Los_Angeles"), ("BOS", "America/New_York")],
    columns=["faa", "tzone"],
)
SAID = ["dest", "time_hour", "minute", "dep_delay", "arr_time", "sched_arr_time", "air_time"]


def flight(*said: object) -> pd.Series:
    row = pd.DataFrame([said], columns=SAID).astype(dict.fromkeys(SAID[2:], float))
    plain = row.assign(origin="JFK", carrier="B6", tailnum="N1", distance=1)
    return instants(plain, AIRPORTS).iloc[0]


def shown(instant: pd.Timestamp) -> str | None:
    return None if pd.isna(instant) else f"{instant:%d %H:%M}"


def times(found: pd.Series) -> list[str | None]:
    return [shown(found[name]) for name in ("scheduled", "departed", "landed", "known")]


def test_arrivals_are_in_the_clock_of_the_destination() -> None:
    found = flight("IAH", "2013-01-01T10:00:00Z", 15, 2, 830, 819, 227)
    assert times(found) == ["01 10:15", "01 10:17", "01 14:30", "01 14:30"]


def test_an_arrival_may_be_the_next_day() -> None:
    found = flight("BOS", "2013-01-02T04:00:00Z", 50, 0, 42, 45, 40)
    assert times(found) == ["02 04:50", "02 04:50", "02 05:42", "02 05:42"]


def test_a_long_delay_moves_the_departure_to_the_next_day() -> None:
    found = flight("BOS", "2013-01-02T01:00:00Z", 0, 600, 714, 2100, 40)
    assert times(found) == ["02 01:00", "02 11:00", "02 12:14", "02 12:14"]


def test_midnight_is_2400() -> None:
    found = flight("BOS", "2013-01-02T03:00:00Z", 50, 0, 2400, 2359, 40)
    assert times(found)[2] == "02 05:00"


def test_of_two_hours_with_one_name_the_first_that_can_be_is_taken() -> None:
    # Clocks go back from 02:00 to 01:00 at 06:00 UTC.
    before = flight("BOS", "2013-11-03T04:00:00Z", 15, 0, 130, 130, 40)
    assert times(before)[2] == "03 05:30"
    after = flight("BOS", "2013-11-03T05:00:00Z", 15, 0, 130, 130, 40)
    assert times(after)[2] == "03 06:30"


def test_a_flight_that_never_left_is_known_when_it_should_have() -> None:
    found = flight("BOS", "2013-01-02T01:00:00Z", 5, None, None, 2100, None)
    assert times(found) == ["02 01:05", None, None, "02 01:05"]
    assert found["delay"] is pd.NA


def test_a_flight_that_never_landed_is_known_when_it_was_due() -> None:
    diverted = flight("BOS", "2013-01-02T01:00:00Z", 0, 5, None, 2100, None)
    assert times(diverted) == ["02 01:00", "02 01:05", None, "02 02:00"]
    after_it_was_due = flight("BOS", "2013-01-02T01:00:00Z", 0, 90, None, 2100, None)
    assert times(after_it_was_due)[3] == "02 02:30"


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    return load()


def test_all_flights_come_in_the_order_in_which_they_became_known(flights: pd.DataFrame) -> None:
    assert len(flights) == 336_776
    assert flights["known"].is_monotonic_increasing
    assert flights["departed"].isna().sum() == 8_255
    assert not (flights["known"] < flights["departed"]).any()


def test_planes_land_soon_after_their_time_in_the_air(flights: pd.DataFrame) -> None:
    in_the_air = table("flights.csv.zip")["air_time"].loc[flights["id"]].reset_index(drop=True)
    taxiing = (flights["landed"] - flights["departed"]).dt.total_seconds() / 60 - in_the_air
    assert taxiing.count() > 327_000
    assert taxiing.between(1, 240).sum() == taxiing.count()
