"""The instant from which a source must be read, so that the first results are complete."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import transom

ROME = ZoneInfo("Europe/Rome")
HOUR = timedelta(hours=1)
GAP, LONGEST = 8, 10
SESSION = transom.Session(gap=f"{GAP} minutes", max_duration=f"{LONGEST} minutes")
START = datetime(2024, 1, 1)

Sessions = list[tuple[int, int, tuple[int, ...]]]


@pytest.mark.parametrize(
    ("first", "hours"),
    [
        # Clocks go forward at 02:00, from UTC+1 to UTC+2.
        (datetime(2013, 3, 31, 3, 30, tzinfo=ROME), 1),
        (datetime(2013, 3, 31, 12, tzinfo=ROME), 11),
        # Clocks go back at 03:00.
        (datetime(2013, 10, 27, 12, tzinfo=ROME), 11),
    ],
)
def test_the_difference_is_taken_between_instants(first: datetime, hours: int) -> None:
    window = transom.Tumbling(size=timedelta(hours=hours))
    start = transom.earliest_input(first, window)
    assert start.tzinfo is ROME
    assert first.astimezone(UTC) - start.astimezone(UTC) == hours * HOUR


def test_a_timestamp_of_pandas_is_a_datetime() -> None:
    pandas = pytest.importorskip("pandas")
    start = transom.earliest_input(pandas.Timestamp("2013-01-01 12:00"), transom.Tumbling("1 hour"))
    assert start == datetime(2013, 1, 1, 11)


def test_a_time_before_the_first_year_becomes_the_first_instant() -> None:
    window = transom.Tumbling(size="10000000 days")
    assert transom.earliest_input(datetime(2013, 1, 1), window) == datetime.min
    aware = transom.earliest_input(datetime(2013, 1, 1, tzinfo=UTC), window)
    assert aware == datetime.min.replace(tzinfo=UTC)


def sessions(minutes: list[int]) -> Sessions:
    """The sessions of rows at these minutes: a naive walk over rows and checks.

    A check at each multiple of the maximum duration closes the session that has lasted as long.
    """
    found: Sessions = []
    rows: list[int] = []
    start, end = 0, -GAP
    for minute in range(max(minutes) + 3 * LONGEST):
        if minute % LONGEST == 0 and minute - start >= LONGEST and minute <= end:
            found.append((start, minute, tuple(rows)))
            start, rows = minute, []
        for row in (row for row in minutes if row == minute):
            if row > end:
                found.append((start, end, tuple(rows)))
                start, rows = row, []
            end = max(end, row + GAP)
            rows.append(row)
    found.append((start, end, tuple(rows)))
    return [session for session in found if session[2]]


def test_the_walk_gives_the_example_of_the_class() -> None:
    assert sessions([45, 52, 58, 65]) == [(45, 60, (45, 52, 58)), (60, 70, (65,))]


def test_sessions_are_complete_wherever_the_input_starts() -> None:
    drawn = random.Random(7)
    compared = 0
    for _ in range(2_000):
        minutes = sorted(drawn.sample(range(300), drawn.choice([10, 30, 60, 150])))
        first = drawn.randrange(60, 300)
        start = transom.earliest_input(START + timedelta(minutes=first), SESSION)
        read = [minute for minute in minutes if START + timedelta(minutes=minute) >= start]
        if not read:
            continue
        expected = [session for session in sessions(minutes) if session[1] >= first]
        assert [session for session in sessions(read) if session[1] >= first] == expected
        compared += len(expected)
    assert compared > 5_000
