"""The preset of StreamInsight."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError
from pyspark.sql.types import StructField, StructType, TimestampType

import transom
from tests.python.conditions import raises
from tests.python.unbound import Rows
from transom import streaminsight

ROWS = Rows(StructType([StructField(name, TimestampType()) for name in ("at", "until")]))
EVENTS = streaminsight.stream(ROWS, start="at", end="until")


def policy(**settings: Any) -> Any:
    return streaminsight.stream(ROWS, start="at", **settings)._time


def ours(rule: Any, advance: transom.Periodic) -> transom.TimePolicy:
    return transom.TimePolicy("at", out_of_order=rule, advance=advance)


@pytest.mark.parametrize(
    ("settings", "rule", "advance"),
    [
        (None, transom.Drop("0 seconds"), transom.Periodic(1)),
        (streaminsight.IncreasingStartTime(), transom.Drop("0 seconds"), transom.Periodic(1)),
        (
            streaminsight.UnorderedStartTime("10 seconds"),
            transom.Drop("10 seconds"),
            transom.Periodic(1),
        ),
        (
            streaminsight.AdvanceTimeSettings(100, delay="1 minute", policy="Adjust"),
            transom.Adjust("1 minute"),
            transom.Periodic(100),
        ),
        (
            streaminsight.AdvanceTimeSettings(timedelta(seconds=5)),
            transom.Drop("0 seconds"),
            transom.Periodic(every="5 seconds"),
        ),
    ],
    ids=repr,
)
def test_application_time_advances(settings: Any, rule: Any, advance: transom.Periodic) -> None:
    assert policy(advanceTime=settings) == ours(rule, advance)


def test_points_are_adjusted_by_dropping_them() -> None:
    adjust = streaminsight.AdvanceTimeSettings(1, policy="Adjust")
    points = streaminsight.stream(ROWS, start="at", advanceTime=adjust)
    assert points._lifetime == transom.Lifetime(duration="1 microsecond")
    assert streaminsight.stream(ROWS, start="at")._lifetime is None
    assert EVENTS._lifetime == transom.Lifetime("until")


def test_edge_events_have_a_lifetime_with_an_id_and_events_an_order() -> None:
    edges = transom.Lifetime("until", id=["at"])
    events = streaminsight.stream(ROWS, start="at", end=edges, order="until")
    assert (events._lifetime, events._order) == (edges, ("until",))


def test_an_unknown_column_has_the_name_of_its_argument() -> None:
    with raises("UNKNOWN_COLUMN", "start"):
        streaminsight.stream(ROWS, start="nowhere")
    with raises("UNKNOWN_COLUMN", "end"):
        streaminsight.stream(ROWS, start="at", end="nowhere")
    calls: list[tuple[Any, list[str]]] = [
        (streaminsight.tumblingWindow, ["1 hour"]),
        (streaminsight.snapshotWindow, []),
    ]
    for windows, size in calls:
        with raises("BAD_TYPE", "stream", PySparkTypeError):
            windows(None, *size)


@pytest.mark.parametrize(
    ("windowed", "window", "output"),
    [
        (
            streaminsight.hoppingWindow(EVENTS, "10 seconds", "5 seconds"),
            transom.Hopping(size="10 seconds", slide="5 seconds"),
            "point_align_to_window_end",
        ),
        (
            streaminsight.tumblingWindow(EVENTS, "1 day", datetime(2013, 1, 1, 9)),
            transom.Hopping(size="1 day", slide="1 day", offset="9 hours"),
            "point_align_to_window_end",
        ),
        (
            streaminsight.tumblingWindow(
                EVENTS,
                timedelta(days=1),
                datetime(2013, 1, 1, 9, tzinfo=timezone(timedelta(hours=2))),
                "ClipToWindowEnd",
            ),
            transom.Hopping(size="1 day", slide="1 day", offset="7 hours"),
            "clip_to_window_end",
        ),
        (streaminsight.snapshotWindow(EVENTS), transom.Snapshot(), "clip_to_window_end"),
        (
            streaminsight.countByStartTimeWindow(EVENTS, 3),
            transom.CountByStart(3),
            "point_align_to_window_end",
        ),
    ],
)
def test_windows_have_the_output_policy_of_the_system(
    windowed: transom.Windowed, window: transom.Window, output: str
) -> None:
    assert windowed._spec.window == window
    assert windowed._spec.output_policy == output


def test_alignment_before_1970() -> None:
    aligned = streaminsight.tumblingWindow(EVENTS, "1 day", datetime(1, 1, 1, 9, tzinfo=UTC))
    assert aligned._spec.window == transom.Hopping(size="1 day", slide="1 day", offset="9 hours")


def test_errors() -> None:
    with raises("BAD_TYPE", "advanceTime"):
        policy(advanceTime="10 seconds")
    with raises("BAD_CHOICE", "policy"):
        streaminsight.AdvanceTimeSettings(1, policy="Keep")  # type: ignore[arg-type]
    with raises("NOT_POSITIVE"):
        streaminsight.AdvanceTimeSettings(0)
    with raises("NEGATIVE", "delay"):
        streaminsight.UnorderedStartTime("-1 seconds")
    with raises("BAD_CHOICE", "outputPolicy"):
        streaminsight.tumblingWindow(EVENTS, "1 day", outputPolicy="Window")  # type: ignore[arg-type]
    with raises("BAD_TYPE", "alignment"):
        streaminsight.tumblingWindow(EVENTS, "1 day", "09:00")  # type: ignore[arg-type]
    with raises("NOT_POSITIVE", "windowSize"):
        streaminsight.hoppingWindow(EVENTS, "0 seconds", "5 seconds")
