"""The steps for a silent source and for the first result, and where the source starts for it."""

from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql import Column

import transom
from tests.python.conditions import raises
from tests.python.unbound import windowed
from transom.spec.times.idle_timeout import IdleTimeout

HOUR = transom.Tumbling(size="1 hour")
POLICY = transom.TimePolicy("at")
NOON = datetime(2013, 1, 1, 12)


class Gap(Column):
    """A gap for each row, without a session."""

    def __new__(cls) -> "Gap":
        return object.__new__(cls)

    def __init__(self) -> None:
        pass

    def __repr__(self) -> str:
        return "Column<'gap'>"


def test_the_timeout_is_in_the_spec() -> None:
    hours = windowed(HOUR, time=POLICY).idle_timeout("60 seconds", rule="last_row")
    assert hours._spec.idle_timeout == IdleTimeout(after=timedelta(minutes=1), rule="last_row")
    assert windowed(HOUR, time=POLICY).idle_timeout("1 second")._spec.idle_timeout == IdleTimeout(
        after=timedelta(seconds=1), rule="after_window_end"
    )


@pytest.mark.parametrize(
    "window", [transom.Count(size=2), transom.Global(), transom.Custom(windows="w")], ids=repr
)
def test_only_windows_with_a_known_end_close_in_silence(window: transom.Window) -> None:
    with raises("UNBOUNDED_WINDOW", "idle_timeout", PySparkValueError):
        windowed(window, time=POLICY).idle_timeout("1 minute")


def test_a_gap_for_each_row_leaves_the_end_open() -> None:
    with raises("UNBOUNDED_WINDOW", "idle_timeout", PySparkValueError):
        windowed(transom.Session(gap=Gap()), time=POLICY).idle_timeout("1 minute")
    windowed(transom.Session(gap="1 minute"), time=POLICY).idle_timeout("1 minute")


@pytest.mark.parametrize(
    ("after", "rule", "condition", "argument"),
    [
        ("0 seconds", "last_row", "NOT_POSITIVE", "after"),
        ("soon", "last_row", "BAD_DURATION", "after"),
        ("1 second", "first_row", "BAD_CHOICE", "rule"),
        (5, "last_row", "BAD_TYPE", "after"),
    ],
)
def test_a_bad_timeout_is_refused(after: Any, rule: Any, condition: str, argument: str) -> None:
    with raises(condition, argument):
        windowed(HOUR, time=POLICY).idle_timeout(after, rule=rule)


def test_the_steps_need_a_policy() -> None:
    by_watermark = windowed(HOUR, time=transom.EventTime("at"))
    with raises("NEEDS_TIME_POLICY", "idle_timeout", PySparkValueError):
        by_watermark.idle_timeout("1 minute")
    with raises("NEEDS_TIME_POLICY", "first_output", PySparkValueError):
        by_watermark.first_output(NOON)
    with raises("NOT_EVENT_TIME", "idle_timeout", PySparkValueError):
        windowed(HOUR, time=transom.ProcessingTime()).idle_timeout("1 minute")


def test_the_first_output_is_an_instant() -> None:
    assert windowed(HOUR, time=POLICY).first_output(NOON)._spec.first_output == NOON
    with raises("BAD_TYPE", "at", PySparkTypeError):
        windowed(HOUR, time=POLICY).first_output(cast("Any", "2013-01-01"))
    for window in (transom.Global(), transom.Count(size=3)):
        with raises("UNBOUNDED_WINDOW", "first_output", PySparkValueError):
            windowed(window, time=POLICY).first_output(NOON)


@pytest.mark.parametrize(
    ("windows", "time", "back"),
    [
        ([HOUR], None, timedelta(hours=1)),
        ([HOUR, transom.Hopping(size="1 day", slide="1 hour")], None, timedelta(days=1)),
        ([transom.Cumulate(size="2 hours", step="1 hour")], POLICY, timedelta(hours=2)),
        # Clocks may change within the window.
        ([transom.Tumbling(size="1 hour", time_zone="Europe/Rome")], None, timedelta(hours=25)),
        ([transom.Calendar(unit="month", time_zone="UTC", every=2)], None, timedelta(days=63)),
        (
            [transom.Session(gap="1 minute", max_duration="1 hour")],
            None,
            timedelta(hours=2, minutes=1),
        ),
        ([transom.azure.SlidingWindow("minute", 10)], None, timedelta(minutes=10)),
        (
            [HOUR],
            transom.TimePolicy("at", early=transom.Drop("5 minutes")),
            timedelta(hours=1, minutes=5),
        ),
    ],
)
def test_the_input_starts_before_the_largest_window(
    windows: list[transom.Window], time: transom.TimePolicy | None, back: timedelta
) -> None:
    assert transom.earliest_input(NOON, *windows, time=time) == NOON - back


def test_the_input_needs_windows_of_a_known_length() -> None:
    endless = (transom.Global(), transom.Count(size=2), transom.Snapshot())
    sessions = (
        transom.Session(gap="1 minute"),
        transom.Session(gap="1 minute", max_duration="1 hour", max_check=">"),
    )
    for window in (*sessions, *endless):
        with raises("UNBOUNDED_WINDOW", "earliest_input", PySparkValueError):
            transom.earliest_input(NOON, HOUR, window)
    for arguments in ((NOON,), (NOON, "1 hour"), ("noon", HOUR)):
        with raises("BAD_TYPE", kind=PySparkTypeError):
            transom.earliest_input(*cast("Any", arguments))
    with raises("BAD_TYPE", "time", PySparkTypeError):
        transom.earliest_input(NOON, HOUR, time=cast("Any", transom.EventTime("at")))


def test_the_estimate_needs_a_late_rule_and_idle_partitions_a_partition() -> None:
    with raises("ESTIMATE_NEEDS_LATE", "estimate_arrival", PySparkValueError):
        transom.TimePolicy("at", estimate_arrival=True)
    with raises("NEEDS_PARTITION", "idle_partition", PySparkValueError):
        transom.TimePolicy("at", idle_partition="1 minute")
    with raises("NOT_POSITIVE", "idle_partition", PySparkValueError):
        transom.TimePolicy("at", partition="p", idle_partition="0 seconds")
