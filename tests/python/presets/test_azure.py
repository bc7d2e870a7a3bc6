"""The preset of Azure Stream Analytics."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import transom
from tests.python.conditions import raises
from tests.python.unbound import Rows
from transom import azure
from transom.spec.message import encode

ROWS = Rows(
    StructType(
        [
            StructField("device", StringType()),
            StructField("at", TimestampType()),
            StructField("known", TimestampType()),
            StructField("partition", LongType()),
        ]
    )
)
LATE = "eventsLateArrivalMaxDelayInSeconds"
OUT_OF_ORDER = "eventsOutOfOrderMaxDelayInSeconds"
EARLY = transom.Drop("5 minutes")


def policy(**settings: Any) -> transom.TimePolicy:
    """The policy of a job, by its settings."""
    time = azure.stream(ROWS, arrival="known", **settings)._time
    assert isinstance(time, transom.TimePolicy)
    return time


def ours(**settings: Any) -> transom.TimePolicy:
    defaults: dict[str, Any] = {
        "early": EARLY,
        "late": transom.Adjust("5 seconds"),
        "out_of_order": transom.Adjust("0 seconds"),
        "estimate_arrival": True,
    }
    return transom.TimePolicy("at", arrival="known", **(defaults | settings))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ours()),
        (
            {LATE: 300, OUT_OF_ORDER: 120},
            ours(late=transom.Adjust("5 minutes"), out_of_order=transom.Adjust("2 minutes")),
        ),
        (
            {"eventsOutOfOrderPolicy": "Drop", LATE: 0},
            ours(late=transom.Drop("0 seconds"), out_of_order=transom.Drop("0 seconds")),
        ),
        ({LATE: 1_814_399}, ours(late=transom.Adjust("20 days 23 hours 59 minutes 59 seconds"))),
        ({LATE: -1}, ours(late=None, estimate_arrival=False)),
        ({"over": ["device"]}, ours(over=["device"])),
        (
            {"partition": "partition", "partitions": ["0", "1"]},
            ours(partition="partition", partitions=["0", "1"]),
        ),
        (
            {"partition": "partition", "over": ["partition", "device"]},
            ours(over=["partition", "device"]),
        ),
    ],
)
def test_an_input_with_application_time_is_a_time_policy(
    settings: dict[str, Any], expected: transom.TimePolicy
) -> None:
    assert policy(timestampBy="at", **settings) == expected


@pytest.mark.parametrize("settings", [{}, {LATE: 600}, {LATE: -1}, {OUT_OF_ORDER: 60}])
def test_without_application_time_the_tolerances_are_ignored(settings: dict[str, Any]) -> None:
    assert policy(**settings) == transom.TimePolicy(None, arrival="known")


def test_a_query_with_the_preset_sends_the_message_of_the_query_without() -> None:
    preset = (
        azure.stream(ROWS, arrival="known", timestampBy="at")
        .key_by("device")
        .window(azure.TumblingWindow("minute", 5))
    )
    long_form = (
        transom.stream(ROWS, time=ours())
        .key_by("device")
        .window(transom.Tumbling(size="5 minutes", closed="right"))
    )
    assert preset._spec == long_form._spec
    assert encode(preset._spec) == encode(long_form._spec)


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"over": ["device"]}, "over"),
        ({"timestampBy": "at", "over": ["device"], "partition": "partition"}, "partition"),
        ({"timestampBy": "at", LATE: 1_814_400}, LATE),
        ({LATE: 1_814_400}, LATE),
    ],
)
def test_what_azure_does_not_allow_is_refused(settings: dict[str, Any], argument: str) -> None:
    with raises("PRESET_LIMIT", argument, PySparkValueError) as caught:
        policy(**settings)
    assert "which Azure Stream Analytics does not allow" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "condition", "argument"),
    [
        ({"eventsOutOfOrderPolicy": "adjust"}, "BAD_CHOICE", "eventsOutOfOrderPolicy"),
        ({LATE: -2}, "PRESET_LIMIT", LATE),
        ({LATE: 1.5}, "BAD_TYPE", LATE),
        ({OUT_OF_ORDER: -1}, "NEGATIVE", OUT_OF_ORDER),
        ({OUT_OF_ORDER: "1"}, "BAD_TYPE", OUT_OF_ORDER),
        ({"over": "device"}, "BAD_TYPE", "over"),
        ({"partitions": ["0"]}, "NEEDS_PARTITION", "partitions"),
        ({"timestampBy": "nowhere"}, "UNKNOWN_COLUMN", "timestampBy"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], condition: str, argument: str) -> None:
    with raises(condition, argument):
        policy(**({"timestampBy": "at"} | settings))


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (azure.TumblingWindow("second", 10), transom.Tumbling(size="10 seconds", closed="right")),
        (azure.TumblingWindow("DAY", 7), transom.Tumbling(size="7 days", closed="right")),
        (
            azure.TumblingWindow("minute", 0.5),
            transom.Tumbling(size="30 seconds", closed="right"),
        ),
        (
            azure.TumblingWindow("hour", 1, 0.25),
            transom.Tumbling(size="1 hour", offset="15 minutes", closed="right"),
        ),
        # The same windows as with an offset of -1 millisecond.
        (
            azure.TumblingWindow("second", 10, timedelta(milliseconds=-1)),
            transom.Tumbling(
                size="10 seconds", offset="9 seconds 999 milliseconds", closed="right"
            ),
        ),
        (
            azure.HoppingWindow("second", 10, 5),
            transom.Hopping(size="10 seconds", slide="5 seconds", closed="right"),
        ),
        # Ends at multiples of 5 seconds: starts at 3 seconds after them.
        (
            azure.HoppingWindow("second", 7, 5),
            transom.Hopping(
                size="7 seconds", slide="5 seconds", offset="3 seconds", closed="right"
            ),
        ),
        (
            azure.HoppingWindow("second", 7, 5, 1),
            transom.Hopping(
                size="7 seconds", slide="5 seconds", offset="4 seconds", closed="right"
            ),
        ),
    ],
)
def test_a_window_includes_its_end(window: transom.Window, expected: transom.Window) -> None:
    assert window == expected


@pytest.mark.parametrize(
    ("window", "arguments"),
    [
        (azure.TumblingWindow, ("day", 7.1)),
        (azure.HoppingWindow, ("hour", 169, 1)),
        (azure.SlidingWindow, ("day", 8)),
    ],
)
def test_a_window_lasts_at_most_seven_days(window: Any, arguments: tuple[Any, ...]) -> None:
    with raises("PRESET_LIMIT", "size", PySparkValueError) as caught:
        window(*arguments)
    assert "which Azure Stream Analytics does not allow" in str(caught.value)


def test_sliding_and_snapshot_windows_include_their_end() -> None:
    assert azure.SlidingWindow("second", 10) == transom.Rolling("10 seconds")
    assert azure.SnapshotWindow() == transom.Snapshot(closed="right")


def test_a_session_has_a_maximum_duration() -> None:
    expected: Any = {"gap": "5 minutes", "closed": "right", "max_duration": "1 hour"}
    assert azure.SessionWindow("minute", 5, 60) == transom.Session(**expected)


@pytest.mark.parametrize(
    ("names", "length"),
    [
        (("day", "dd", "d"), timedelta(days=1)),
        (("hour", "hh"), timedelta(hours=1)),
        (("minute", "mi", "n"), timedelta(minutes=1)),
        (("second", "ss", "s"), timedelta(seconds=1)),
        (("millisecond", "ms"), timedelta(milliseconds=1)),
        (("microsecond", "mcs"), timedelta(microseconds=1)),
    ],
)
def test_a_unit_has_abbreviations(names: tuple[str, ...], length: timedelta) -> None:
    for name in names:
        for written in (name, name.upper()):
            assert azure.TumblingWindow(written, 2).size == 2 * length


@pytest.mark.parametrize(
    ("window", "arguments", "condition", "argument"),
    [
        (azure.TumblingWindow, ("week", 1), "BAD_CHOICE", "unit"),
        (azure.TumblingWindow, (1, 1), "BAD_TYPE", "unit"),
        (azure.TumblingWindow, ("second", 0), "NOT_POSITIVE", "size"),
        (azure.TumblingWindow, ("second", "1"), "BAD_TYPE", "size"),
        (azure.TumblingWindow, ("second", True), "BAD_TYPE", "size"),
        (azure.TumblingWindow, ("day", 1e300), "BAD_DURATION", "size"),
        (azure.TumblingWindow, ("second", 1, "1 second"), "BAD_TYPE", "offset"),
        (azure.TumblingWindow, ("minute", 1, 1e20), "BAD_DURATION", "offset"),
        (azure.TumblingWindow, ("minute", 1, -1e20), "BAD_DURATION", "offset"),
        (azure.TumblingWindow, ("minute", 10**400), "BAD_CHOICE", "size"),
        (azure.HoppingWindow, ("second", 1, -1), "NOT_POSITIVE", "hop"),
        (azure.SessionWindow, ("second", 0, 5), "NOT_POSITIVE", "timeout"),
        (azure.SessionWindow, ("second", 5, 0), "NOT_POSITIVE", "maxDuration"),
    ],
)
def test_a_wrong_argument_is_named(
    window: Any, arguments: tuple[Any, ...], condition: str, argument: str
) -> None:
    with raises(condition, argument):
        window(*arguments)
