import dataclasses
import pickle
from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError

import transom
from tests.python.conditions import raises

WINDOWS = [
    transom.Tumbling(size="1 hour"),
    transom.Hopping(size="1 hour", slide="5 minutes"),
    transom.Cumulate(size="1 day", step="1 hour"),
    transom.Calendar(unit="week", time_zone="Europe/Rome"),
    transom.Session(gap="5 minutes"),
    transom.Session(gap="5 minutes", inclusive=False),
    transom.Session(gap="5 minutes", late_start="reject"),
    transom.Session(gap="5 minutes", max_duration="1 hour"),
    transom.Session(gap="5 minutes", max_duration="1 hour", max_check=">"),
    transom.Count(size=100),
    transom.Custom(windows="shifts"),
    transom.Global(),
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (transom.Tumbling(size="60 seconds"), transom.Tumbling(size="1 minute")),
        (transom.Tumbling(size="1 day"), transom.Tumbling(size=timedelta(hours=24))),
        (
            transom.Hopping(size="1 hour", slide="1 minute", offset="-1 second"),
            transom.Hopping(size="60 minutes", slide="60 seconds", offset="- 1000 milliseconds"),
        ),
        (
            transom.Cumulate(size="1 week", step="1 day"),
            transom.Cumulate(size="7 days", step="24 hours"),
        ),
        (transom.Session(gap="90 seconds"), transom.Session(gap="1.5 seconds 88.5 seconds")),
        (
            transom.Session(gap="1 hour", max_duration="1 day"),
            transom.Session(gap="1 hour", max_duration=timedelta(hours=24), max_check=">="),
        ),
        (
            transom.Calendar(unit="day", time_zone="UTC", offset="1 hour"),
            transom.Calendar(unit="day", time_zone="UTC", offset=timedelta(minutes=60)),
        ),
        (transom.Global(), transom.Global()),
        (transom.Count(size=9), transom.Count(size=9, slide=None)),
        (transom.Custom(windows="shifts"), transom.Custom(windows="shifts", merging=False)),
        (transom.ProcessingTime(), transom.ProcessingTime()),
        (
            transom.EventTime("at", delay="1 minute"),
            transom.EventTime("at", delay=timedelta(seconds=60)),
        ),
    ],
)
def test_values_are_equal_by_meaning(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


def test_values_that_mean_something_else_differ() -> None:
    assert len(set(WINDOWS)) == len(WINDOWS)
    assert transom.Tumbling(size="1 hour") != transom.Tumbling(size="1 hour", closed="right")
    assert transom.Session(gap="1 hour") != transom.Session(gap="1 hour", inclusive=False)
    assert transom.EventTime("at") != transom.EventTime("at", delay="0 seconds")
    assert transom.EventTime("at") != transom.EventTime("known")
    assert transom.Tumbling(size="1 hour") != transom.Tumbling(size="1 hour", stagger="natural")
    assert transom.Count(size=9) != transom.Count(size=9, partial=True)
    assert transom.Custom(windows="shifts") != transom.Custom(windows="breaks")
    assert transom.EventTime("at") != transom.ProcessingTime()


@pytest.mark.parametrize("window", WINDOWS)
def test_values_are_frozen_and_can_be_pickled(window: transom.Window) -> None:
    for field in dataclasses.fields(window):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(window, field.name, None)
    assert pickle.loads(pickle.dumps(window)) == window


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (transom.Tumbling("1 hour"), transom.Tumbling(size="1 hour")),
        (
            transom.Hopping("1 hour", "5 minutes"),
            transom.Hopping(size="1 hour", slide="5 minutes"),
        ),
        (transom.Cumulate("1 day", "1 hour"), transom.Cumulate(size="1 day", step="1 hour")),
        (transom.Calendar("day", time_zone="UTC"), transom.Calendar(unit="day", time_zone="UTC")),
        (transom.Session("5 minutes"), transom.Session(gap="5 minutes")),
        (transom.Count(9, 3), transom.Count(size=9, slide=3)),
        (transom.Custom("shifts"), transom.Custom(windows="shifts")),
        (transom.Rolling("1 hour"), transom.Rolling(size="1 hour")),
        (transom.CountByStart(9), transom.CountByStart(size=9)),
    ],
)
def test_sizes_go_by_position_too(one: object, other: object) -> None:
    assert one == other


@pytest.mark.parametrize(
    ("window", "sizes", "number"),
    [
        ("Tumbling", ["1 hour"], 2),
        ("Hopping", ["1 hour", "5 minutes"], 3),
        ("Cumulate", ["1 day", "1 hour"], 3),
        ("Calendar", ["day"], 2),
        ("Session", ["5 minutes"], 2),
        ("Count", [9, 3], 3),
        ("Custom", ["shifts"], 2),
    ],
)
def test_everything_else_is_a_keyword(window: str, sizes: list[Any], number: int) -> None:
    with raises("BAD_TYPE", f"argument {number} of {window}", PySparkTypeError) as caught:
        getattr(transom, window)(*sizes, "1 minute")
    assert f"Use a keyword, as in {window}(" in str(caught.value)


def test_a_clock_takes_its_time_by_position_too() -> None:
    assert transom.EventTime("at") == transom.EventTime(time="at")


@pytest.mark.parametrize(
    ("window", "settings", "condition", "argument"),
    [
        ("Tumbling", {"size": "0 seconds"}, "NOT_POSITIVE", "size"),
        ("Tumbling", {"size": "-1 hour"}, "NOT_POSITIVE", "size"),
        ("Tumbling", {"size": "1 month"}, "BAD_DURATION", "size"),
        ("Tumbling", {"size": "an hour"}, "BAD_DURATION", "size"),
        ("Tumbling", {"size": 3600}, "BAD_TYPE", "size"),
        ("Tumbling", {"size": "1 hour", "offset": "1 hour"}, "OFFSET_TOO_LARGE", "offset"),
        ("Tumbling", {"size": "1 hour", "offset": "-2 hours"}, "OFFSET_TOO_LARGE", "offset"),
        ("Tumbling", {"size": "1 hour", "offset": None}, "BAD_TYPE", "offset"),
        ("Tumbling", {"size": "1 hour", "closed": "both"}, "BAD_CHOICE", "closed"),
        ("Tumbling", {"size": "1 hour", "closed": None}, "BAD_TYPE", "closed"),
        ("Tumbling", {"size": "1 hour", "time_zone": "Rome"}, "UNKNOWN_TIME_ZONE", "time_zone"),
        ("Tumbling", {"size": "1 hour", "time_zone": ""}, "UNKNOWN_TIME_ZONE", "time_zone"),
        ("Tumbling", {"size": "1 hour", "time_zone": "../UTC"}, "UNKNOWN_TIME_ZONE", "time_zone"),
        ("Tumbling", {"size": "1 hour", "time_zone": "+18:01"}, "UNKNOWN_TIME_ZONE", "time_zone"),
        ("Tumbling", {"size": "1 hour", "time_zone": "+09:60"}, "UNKNOWN_TIME_ZONE", "time_zone"),
        (
            "Tumbling",
            {"size": "1 hour", "time_zone": "posix/Europe/Rome"},
            "UNKNOWN_TIME_ZONE",
            "time_zone",
        ),
        ("Tumbling", {"size": "1 hour", "time_zone": "Factory"}, "UNKNOWN_TIME_ZONE", "time_zone"),
        ("Tumbling", {"size": "1 hour", "time_zone": 1}, "BAD_TYPE", "time_zone"),
        ("Tumbling", {"size": "9" * 5000 + " seconds"}, "BAD_DURATION", "size"),
        ("Hopping", {"size": "1 hour", "slide": "0 days"}, "NOT_POSITIVE", "slide"),
        ("Hopping", {"size": "-1 hour", "slide": "1 day"}, "NOT_POSITIVE", "size"),
        (
            "Hopping",
            {"size": "1 hour", "slide": "5 minutes", "offset": "5 minutes"},
            "OFFSET_TOO_LARGE",
            "offset",
        ),
        (
            "Hopping",
            {"size": "10.000001 seconds", "slide": "1 microsecond"},
            "TOO_MANY_WINDOWS",
            "slide",
        ),
        (
            "Hopping",
            {"size": "20.000001 seconds", "slide": "2 microseconds"},
            "TOO_MANY_WINDOWS",
            "slide",
        ),
        ("Cumulate", {"size": "11 seconds", "step": "1 microsecond"}, "TOO_MANY_WINDOWS", "step"),
        ("Cumulate", {"size": "5 hours", "step": "2 hours"}, "NOT_A_MULTIPLE", "size"),
        ("Cumulate", {"size": "1 hour", "step": "2 hours"}, "NOT_A_MULTIPLE", "size"),
        ("Cumulate", {"size": "1 hour", "step": "-1 hour"}, "NOT_POSITIVE", "step"),
        (
            "Cumulate",
            {"size": "2 hours", "step": "1 hour", "offset": "2 hours"},
            "OFFSET_TOO_LARGE",
            "offset",
        ),
        ("Calendar", {"unit": "hour", "time_zone": "UTC"}, "BAD_CHOICE", "unit"),
        ("Calendar", {"unit": "day", "time_zone": "Mars"}, "UNKNOWN_TIME_ZONE", "time_zone"),
        ("Calendar", {"unit": "day", "time_zone": "UTC", "every": 0}, "NOT_POSITIVE", "every"),
        ("Calendar", {"unit": "day", "time_zone": "UTC", "every": True}, "BAD_TYPE", "every"),
        ("Calendar", {"unit": "day", "time_zone": "UTC", "every": 1.0}, "BAD_TYPE", "every"),
        ("Calendar", {"unit": "day", "time_zone": "UTC", "every": 100_001}, "BAD_CHOICE", "every"),
        (
            "Calendar",
            {"unit": "week", "time_zone": "UTC", "first_day": "Monday"},
            "BAD_CHOICE",
            "first_day",
        ),
        (
            "Calendar",
            {"unit": "month", "time_zone": "UTC", "every": 2, "offset": "56 days"},
            "OFFSET_TOO_LARGE",
            "offset",
        ),
        ("Session", {"gap": "0 seconds"}, "NOT_POSITIVE", "gap"),
        ("Session", {"gap": "1 year"}, "BAD_DURATION", "gap"),
        ("Session", {"gap": 5}, "BAD_TYPE", "gap"),
        ("Session", {"gap": "an hour"}, "BAD_DURATION", "gap"),
        ("Session", {"gap": "1 second", "inclusive": "yes"}, "BAD_TYPE", "inclusive"),
        ("Session", {"gap": "1 second", "closed": "none"}, "BAD_CHOICE", "closed"),
        ("Session", {"gap": "1 second", "max_duration": "0 days"}, "NOT_POSITIVE", "max_duration"),
        ("Session", {"gap": "1 second", "max_duration": "1 year"}, "BAD_DURATION", "max_duration"),
        ("Session", {"gap": "1 second", "max_duration": 9}, "BAD_TYPE", "max_duration"),
        ("Session", {"gap": "1 second", "max_check": "<"}, "BAD_CHOICE", "max_check"),
        ("Session", {"gap": "1 second", "max_check": None}, "BAD_TYPE", "max_check"),
        ("Session", {"gap": "1 second", "max_check": ">"}, "MISSING_ARGUMENT", "max_duration"),
        (
            "Calendar",
            {"unit": "day", "time_zone": "UTC", "first_day": "sunday"},
            "CONFLICT",
            "first_day",
        ),
        ("Session", {"gap": "1 second", "late_start": "drop"}, "BAD_CHOICE", "late_start"),
        ("Session", {"gap": "1 second", "late_start": None}, "BAD_TYPE", "late_start"),
        ("Tumbling", {"size": "1 hour", "stagger": "even"}, "BAD_CHOICE", "stagger"),
        ("Tumbling", {"size": "1 hour", "stagger": None}, "BAD_TYPE", "stagger"),
        ("Count", {"size": 0}, "NOT_POSITIVE", "size"),
        ("Count", {"size": "9"}, "BAD_TYPE", "size"),
        ("Count", {"size": 2**31}, "BAD_CHOICE", "size"),
        ("Count", {"size": 9, "slide": 0}, "NOT_POSITIVE", "slide"),
        ("Count", {"size": 9, "slide": 1.5}, "BAD_TYPE", "slide"),
        ("Count", {"size": 9, "partial": 1}, "BAD_TYPE", "partial"),
        ("Count", {"size": 10_000_001, "slide": 1}, "TOO_MANY_WINDOWS", "slide"),
        ("Count", {"size": 20_000_001, "slide": 2}, "TOO_MANY_WINDOWS", "slide"),
        ("Custom", {"windows": 9}, "BAD_TYPE", "windows"),
        ("Custom", {"windows": "shifts", "merging": "no"}, "BAD_TYPE", "merging"),
    ],
)
def test_a_wrong_argument_is_named(
    window: str, settings: dict[str, Any], condition: str, argument: str
) -> None:
    is_call = condition in ("BAD_TYPE", "MISSING_ARGUMENT")
    kind = PySparkTypeError if is_call else PySparkValueError
    with raises(condition, argument, kind):
        getattr(transom, window)(**settings)


def test_a_column_is_no_gap_as_text() -> None:
    with raises("BAD_TYPE", "gap", PySparkTypeError) as caught:
        transom.Session("pause")
    assert "Use a duration such as '5 minutes', or F.col('pause') for a gap per row." in str(
        caught.value
    )


@pytest.mark.parametrize(
    "zone",
    ["UTC", "Z", "GMT", "UTC+2", "+1", "-08:00", "+0530", "GMT-03:30", "EST", "PST", "Asia/Tokyo"],
)
def test_zones_that_spark_knows_are_taken(zone: str) -> None:
    assert transom.Tumbling(size="1 day", time_zone=zone).time_zone == zone


def test_limits_are_inclusive() -> None:
    transom.Hopping(size="10 seconds", slide="1 microsecond")
    transom.Count(size=10_000_000, slide=1)
    transom.Count(size=10_000_001, slide=1, partial=True)
    transom.Tumbling(size="1 hour", offset="59 minutes 59.999999 seconds")
    transom.Calendar(unit="month", time_zone="UTC", offset="27 days 23 hours")
    transom.Calendar(unit="year", time_zone="UTC", every=100_000)


def test_a_slide_may_exceed_the_size() -> None:
    transom.Hopping(size="1 second", slide="5 seconds", offset="4 seconds")


@pytest.mark.parametrize("settings", [{}, {"size": "1 hour"}, {"size": "1 hour", "slide": 5}])
def test_sliding_names_both_windows_that_the_word_means(settings: dict[str, Any]) -> None:
    with raises("BAD_CHOICE", "window", PySparkValueError):
        transom.Sliding(**settings)
    with pytest.raises(PySparkValueError, match=r"Hopping.*Rolling"):
        transom.Sliding("1 hour", "5 minutes")


def test_a_clock_checks_its_arguments() -> None:
    with raises("BAD_TYPE", "time"):
        transom.EventTime(7)  # type: ignore[arg-type]
    with raises("NEGATIVE", "delay"):
        transom.EventTime("at", delay="-1 second")
    with raises("BAD_DURATION", "delay"):
        transom.EventTime("at", delay="1 month")
