"""Windows in local time of a time zone, against plain arithmetic on local times."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import START, Step, run_clocked
from tests.end_to_end.support.queries import run_stream

ROME = "Europe/Rome"
EPOCH = datetime(1970, 1, 1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

Span = tuple[datetime, datetime]
Assign = Callable[[datetime], list[Span]]


def hopping(size: timedelta, slide: timedelta, offset: timedelta = timedelta()) -> Assign:
    """Starts at k * slide + offset since 1970."""

    def assign(wall: datetime) -> list[Span]:
        start = wall - (wall - EPOCH - offset) % slide
        starts = [start - k * slide for k in range(size // slide + 1)]
        return [(s, s + size) for s in starts if s <= wall < s + size]

    return assign


def cumulate(size: timedelta, step: timedelta) -> Assign:
    """Windows that share a start and grow by step."""

    def assign(wall: datetime) -> list[Span]:
        start = wall - (wall - EPOCH) % size
        ends = [start + k * step for k in range(1, size // step + 1)]
        return [(start, end) for end in ends if wall < end]

    return assign


def months(every: int) -> Assign:
    """Calendar months since January 1970."""

    def first(month: int) -> datetime:
        return datetime(month // 12, month % 12 + 1, 1)

    def assign(wall: datetime) -> list[Span]:
        month = 12 * wall.year + wall.month - 1
        start = month - (month - 12 * 1970) % every
        return [(first(start), first(start + every))]

    return assign


def weeks(first_day: int) -> Assign:
    """Weeks from a day of which Monday is 0."""

    def assign(wall: datetime) -> list[Span]:
        midnight = datetime(wall.year, wall.month, wall.day)
        start = midnight - DAY * ((wall.weekday() - first_day) % 7)
        return [(start, start + 7 * DAY)]

    return assign


# No bound of these windows lies in an hour that Rome's clocks skip or repeat.
WINDOWS: dict[str, tuple[transom.Window, Assign]] = {
    "tumbling": (
        transom.Tumbling(size="4 hours", time_zone=ROME),
        hopping(4 * HOUR, 4 * HOUR),
    ),
    "hopping": (
        transom.Hopping(size="9 hours", slide="6 hours", offset="3 hours", time_zone=ROME),
        hopping(9 * HOUR, 6 * HOUR, 3 * HOUR),
    ),
    "hopping, ends included": (
        transom.Hopping(size="6 hours", slide="3 hours", time_zone=ROME, closed="right"),
        hopping(6 * HOUR, 3 * HOUR),
    ),
    "cumulate": (
        transom.Cumulate(size="1 day", step="6 hours", time_zone=ROME),
        cumulate(DAY, 6 * HOUR),
    ),
    "days": (transom.Calendar(unit="day", time_zone=ROME), hopping(DAY, DAY)),
    "weeks": (transom.Calendar(unit="week", time_zone=ROME, first_day="sunday"), weeks(6)),
    "months": (transom.Calendar(unit="month", time_zone=ROME), months(1)),
    "months, ends included": (
        transom.Calendar(unit="month", time_zone=ROME, closed="right"),
        months(1),
    ),
    "quarters": (transom.Calendar(unit="quarter", time_zone=ROME), months(3)),
    "two years": (transom.Calendar(unit="year", every=2, time_zone=ROME), months(24)),
}


def times() -> list[datetime]:
    """Every half hour, in UTC, around the year's end and both changes of the clocks."""
    days = [datetime(2023, 12, 31), datetime(2024, 3, 30), datetime(2024, 10, 26)]
    return [day + k * HOUR / 2 for day in days for k in range(3 * 48)]


def on_the_wall(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC).astimezone(ZoneInfo(ROME)).replace(tzinfo=None)


def in_utc(wall: datetime) -> datetime:
    return wall.replace(tzinfo=ZoneInfo(ROME)).astimezone(UTC).replace(tzinfo=None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_follow_the_clocks_of_their_place(spark: SparkSession, name: str) -> None:
    window, assign = WINDOWS[name]
    tick = timedelta(microseconds=1 if getattr(window, "closed", "left") == "right" else 0)
    expected: dict[Span, list[int]] = defaultdict(list)
    for number, time in enumerate(times()):
        for start, end in assign(on_the_wall(time - tick)):
            expected[in_utc(start), in_utc(end)].append(number)
    rows = spark.createDataFrame(
        list(zip(times(), range(len(times())), strict=True)), "t timestamp, n int"
    )
    found = (
        transom.stream(rows, time="t")
        .window(window)
        .agg(F.sort_array(F.collect_list("n")).alias("rows"))
        .collect()
    )
    assert {
        (row["window"]["start"], row["window"]["end"]): row["rows"] for row in found
    } == expected
    assert len(found) == len(expected)


def utc(text: str) -> float:
    """Seconds since `START` of a UTC time on the day on which Rome's clocks go back."""
    return (datetime.fromisoformat(f"2024-10-27T{text}") - START).total_seconds()


HALF_HOURS = transom.Tumbling(size="30 minutes", time_zone=ROME)
# Days that begin at 02:30, which Rome's clocks show twice on this day.
DAYS = transom.Calendar(unit="day", time_zone=ROME, offset="2 hours 30 minutes")


def results_around_the_change(
    spark: SparkSession, window: transom.Window, steps: list[Step]
) -> tuple[list[tuple[datetime, datetime, list[int]]], list[Row]]:
    def pipeline(stream: transom.Stream) -> DataFrame:
        values = F.sort_array(F.collect_list("value")).alias("values")
        return stream.window(window).with_late_rows().agg(values)

    outcome = run_clocked(spark, pipeline, steps)
    return (
        [(row["window"]["start"], row["window"]["end"], row["values"]) for row in outcome.results],
        outcome.late,
    )


def test_a_window_ends_at_the_second_pass_of_its_end(spark: SparkSession) -> None:
    # At 01:00 UTC clocks go back from 03:00 to 02:00: they show 02:30 at 00:30 and at 01:30 UTC.
    steps: list[Step] = [
        [("a", utc("00:10"), 1), ("a", utc("00:40"), 2)],
        # After the first 02:30, before the second.
        utc("01:29"),
        [("a", utc("01:10"), 3)],
        utc("01:30"),
        [("a", utc("01:20"), 4), ("a", utc("01:40"), 5)],
        utc("02:00"),
    ]
    found, late = results_around_the_change(spark, HALF_HOURS, steps)
    day = datetime(2024, 10, 27)
    assert found == [
        (day, day + 3 * HOUR / 2, [1, 3]),
        (day + HOUR / 2, day + 2 * HOUR, [2, 5]),
    ]
    assert [row["row"]["value"] for row in late] == [4]


def test_a_window_ends_at_the_first_pass_of_the_time_that_clocks_go_back_to(
    spark: SparkSession,
) -> None:
    # Clocks show 02:00 at 00:00 and at 01:00 UTC, and 01:59 never again.
    steps: list[Step] = [
        [("a", utc("00:00") - 600, 1)],
        utc("00:00"),
        [("a", utc("00:00") - 300, 2)],
    ]
    found, late = results_around_the_change(spark, HALF_HOURS, steps)
    day = datetime(2024, 10, 27)
    assert found == [(day - HOUR / 2, day, [1])]
    assert [row["row"]["value"] for row in late] == [2]


def test_a_day_ends_at_the_second_pass_of_its_end_too(spark: SparkSession) -> None:
    steps: list[Step] = [
        # Local times: 02:10 and 02:40, then 02:10 and 02:40 again.
        [("a", utc("00:10"), 1), ("a", utc("00:40"), 2)],
        [("a", utc("01:10"), 3), ("a", utc("01:40"), 4)],
        utc("01:30"),
    ]
    found, late = results_around_the_change(spark, DAYS, steps)
    day = datetime(2024, 10, 27)
    # The day before began at 02:30 in summer time, and lasts 25 hours.
    assert found == [(day - 47 * HOUR / 2, day + 3 * HOUR / 2, [1, 3])]
    assert late == []


# The real hours of the rows, and what clocks show. In New York clocks show 01:30 and then 03:30 in
# spring, and 01:30 twice in autumn. In Sydney they show 02:15 and 02:45 twice in autumn.
SPRING = ["2026-03-08 06:30", "2026-03-08 07:30"]
AUTUMN = ["2026-11-01 05:30", "2026-11-01 06:30"]
SYDNEY = ["2024-04-06 15:15", "2024-04-06 15:45", "2024-04-06 16:15", "2024-04-06 16:45"]


def hourly(
    spark: SparkSession, window: transom.Window, times: list[str]
) -> list[tuple[str, str, int]]:
    """The windows of a stream whose batches have one row each, which equal those at rest."""

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("at", delay="1 day")
        return transom.stream(rows, time=clock).window(window).drain().agg(n=F.count("*"))

    rows = [(datetime.fromisoformat(time),) for time in times]
    at_rest = transom.stream(spark.createDataFrame(rows, "at timestamp"), time="at")
    outcome = run_stream(spark, pipeline, "at timestamp", [[row] for row in rows])
    both = [
        sorted((f"{row.window.start:%H:%M}", f"{row.window.end:%H:%M}", row.n) for row in found)
        for found in (outcome.results, at_rest.window(window).agg(n=F.count("*")).collect())
    ]
    assert both[0] == both[1]
    return both[0]


@pytest.mark.parametrize(
    ("zone", "times", "expected"),
    [
        ("America/New_York", SPRING, [("06:00", "07:00", 1), ("07:00", "08:00", 1)]),
        ("America/New_York", AUTUMN, [("05:00", "07:00", 2)]),
        ("Australia/Sydney", SYDNEY, [("15:00", "17:00", 4)]),
    ],
)
def test_an_hour_that_clocks_show_twice_is_one_window_of_two_hours(
    spark: SparkSession, zone: str, times: list[str], expected: list[tuple[str, str, int]]
) -> None:
    assert hourly(spark, transom.Tumbling("1 hour", time_zone=zone), times) == expected


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (SPRING, [("06:00", "07:00", 1), ("07:00", "08:00", 1)]),
        (AUTUMN, [("05:00", "06:00", 1), ("06:00", "07:00", 1)]),
        (SYDNEY, [("15:00", "16:00", 2), ("16:00", "17:00", 2)]),
    ],
)
def test_hours_without_a_time_zone_last_an_hour(
    spark: SparkSession, times: list[str], expected: list[tuple[str, str, int]]
) -> None:
    assert hourly(spark, transom.Tumbling("1 hour"), times) == expected


def test_real_hours_of_a_place_half_an_hour_apart_begin_with_its_hours(spark: SparkSession) -> None:
    # Adelaide's clocks go back from 03:00 to 02:00 at 16:30 UTC, and are 9:30 hours ahead then.
    times = ["2024-04-06 15:45", "2024-04-06 16:15", "2024-04-06 16:45", "2024-04-06 17:15"]
    hours = transom.Tumbling("1 hour", offset="30 minutes")
    assert hourly(spark, hours, times) == [("15:30", "16:30", 2), ("16:30", "17:30", 2)]


def test_an_hour_that_clocks_skip_is_no_step_of_its_cycle(spark: SparkSession) -> None:
    steps = transom.Cumulate("1 day", "1 hour", time_zone="America/New_York")
    # Ends of one row each: at 08:00 UTC clocks show 04:00, and the next midnight is at 04:00 UTC.
    found = hourly(spark, steps, SPRING)
    assert {start for start, _, _ in found} == {"05:00"}
    ends = [end for _, end, _ in found]
    assert len(ends) == len(set(ends)) == 22
    assert {end: n for _, end, n in found if end <= "08:00" and end >= "07:00"} == {
        "07:00": 1,
        "08:00": 2,
    }


# Zones with fixed offsets and with clocks that change, as Java and Spark name them.
ZONES = ["Asia/Shanghai", "GMT+08:00", "+08:00", "UTC+8", "-05:30", "Etc/GMT-8", "GMT0", ROME]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("zone", ZONES)
def test_a_time_without_zone_is_in_the_day_that_it_names(spark: SparkSession, zone: str) -> None:
    rows = spark.sql("select timestamp_ntz '2024-03-31 17:00:00' as at")
    for window in (
        transom.Calendar("day", time_zone=zone),
        transom.Tumbling("1 day", time_zone=zone),
    ):
        found = transom.stream(rows, time="at").window(window).agg(F.count("*")).first()
        assert found is not None
        assert tuple(found["window"]) == (datetime(2024, 3, 31), datetime(2024, 4, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("zone", "start"),
    [
        *((zone, "1969-12-31 16:00:00") for zone in ZONES[:4]),
        ("-05:30", "1969-12-31 05:30:00"),
        ("Etc/GMT-8", "1969-12-31 16:00:00"),
        ("GMT0", "1970-01-01 00:00:00"),
    ],
)
def test_zones_with_a_fixed_offset(spark: SparkSession, zone: str, start: str) -> None:
    rows = spark.sql("select timestamp '1970-01-01 00:00:00' as at")
    day = datetime.fromisoformat(start)
    instant = datetime(1970, 1, 1)
    for window, bounds in (
        (transom.Tumbling("10 seconds", time_zone=zone), (instant, instant + HOUR / 360)),
        (transom.Tumbling("1 day", time_zone=zone), (day, day + DAY)),
        (transom.Calendar("day", time_zone=zone), (day, day + DAY)),
    ):
        found = transom.stream(rows, time="at").window(window).agg(F.count("*")).first()
        assert found is not None
        assert tuple(found["window"]) == bounds


def on_the_grid_of(zone: str) -> dict[str, transom.Window]:
    """All windows that take a time zone, alone and with others."""
    grids: dict[str, transom.Window] = {
        name: cast("transom.Window", replace(cast("Any", window), time_zone=zone))
        for name, (window, _) in WINDOWS.items()
    }
    for stagger in ("random", "natural"):
        grids[f"stagger {stagger}"] = transom.Tumbling(
            "4 hours",
            time_zone=zone,
            stagger=stagger,
        )
    grids["several"] = transom.Windows(
        {
            "days": transom.Calendar("day", time_zone=zone),
            "hours": transom.Tumbling("5 hours", time_zone=ROME),
            "sessions": transom.Session("25 minutes"),
        }
    )
    return grids


def rows_of(stream: transom.Stream, window: transom.Window) -> DataFrame:
    values = F.sort_array(F.collect_list("n")).alias("rows")
    return stream.key_by("k").window(window).agg(values)


def lasting(rows: DataFrame) -> transom.Stream:
    return transom.stream(rows, time="at", lifetime=transom.Lifetime(duration="2 hours"))


# How the rows get their time. Sweeps and policies have operators of their own.
STREAMS: Mapping[str, Callable[[DataFrame], transom.Stream]] = {
    "time": lambda rows: transom.stream(rows, time="at"),
    "lifetimes": lasting,
    "policy": lambda rows: transom.stream(
        rows, time=transom.TimePolicy("at", out_of_order="3 days", arrival="at"), order="n"
    ),
    "substreams": lambda rows: transom.stream(
        rows,
        time=transom.TimePolicy("at", out_of_order="3 days", arrival="at", over=["k"]),
        order="n",
    ),
}


# A natural stagger begins at the wall-clock time of the first row, which differs between two runs.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(on_the_grid_of(ROME).keys() - {"stagger natural"}))
def test_times_without_zone_are_windowed_as_the_same_times_of_utc(
    spark: SparkSession, name: str
) -> None:
    random_ = random.Random(name)
    zone = random_.choice([*ZONES, "Australia/Lord_Howe", "America/New_York", "Pacific/Apia"])
    local = [(random_.choice("ab"), time, n) for n, time in enumerate(times())]
    walls = spark.createDataFrame(local, "k string, at timestamp_ntz, n int")
    instants = spark.createDataFrame(local, "k string, at timestamp, n int")
    for kind, stream in STREAMS.items():
        if kind == "lifetimes" and (name.startswith("stagger") or name == "several"):
            continue
        found = rows_of(stream(walls), on_the_grid_of(zone)[name])
        expected = rows_of(stream(instants), on_utc(name))
        assert found.schema["window"].dataType.simpleString() == (
            "struct<start:timestamp_ntz,end:timestamp_ntz>"
        )
        assert sorted(map(repr, found.collect())) == sorted(map(repr, expected.collect())), kind


def on_utc(name: str) -> transom.Window:
    window = on_the_grid_of("UTC")[name]
    if isinstance(window, transom.Windows):
        utc_hours = transom.Tumbling("5 hours")
        return transom.Windows({**dict(window.windows), "hours": utc_hours})  # type: ignore[arg-type]
    return window
