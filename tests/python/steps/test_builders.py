"""Checks of the builder that need no session."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column

import transom
from tests.python.conditions import raises
from tests.python.unbound import EVER, HOURS, NUMBER, ON_THE_CLOCK, windowed

# PySpark makes no Column without a session.
NO_COLUMN = object.__new__(Column)


@pytest.mark.parametrize("df", [None, [1, 2], "rows"])
def test_only_a_dataframe_has_windows(df: Any) -> None:
    with raises("BAD_TYPE", "df", PySparkTypeError):
        transom.stream(df, time="at")
    with raises("BAD_TYPE", "df", PySparkTypeError):
        transom.explain(df)
    with raises("BAD_TYPE", "tagged", PySparkTypeError):
        transom.untag(df, "late")
    with raises("BAD_TYPE", "tagged", PySparkTypeError):
        transom.to_topics(df, results="hours")


@pytest.mark.parametrize(
    ("step", "settings"),
    [
        ("allowed_lateness", {"lateness": "0 seconds"}),
        ("with_late_rows", {}),
        ("with_dead_letters", {}),
        ("drain", {}),
        ("options", {"name": "hours"}),
        ("trigger", {"trigger": transom.AfterWatermark()}),
        ("evictor", {"evictor": transom.KeepLast(10)}),
        ("retract", {}),
        ("with_pane", {}),
    ],
)
def test_a_step_is_taken_once_and_leaves_its_builder_as_it_was(
    step: str, settings: dict[str, Any]
) -> None:
    once = getattr(HOURS, step)(**settings)
    with raises("SET_TWICE", step):
        getattr(once, step)(**settings)
    getattr(HOURS, step)(**settings)


def test_steps_come_in_any_order() -> None:
    one = HOURS.drain().with_late_rows(partly=True).options(key_groups=16)
    other = HOURS.options(key_groups=16).drain().with_late_rows(partly=True)
    assert one._spec == other._spec
    assert one._spec.late_rows == "partly"
    assert one._spec.drain


def test_lateness_is_a_length_of_event_time() -> None:
    late = HOURS.allowed_lateness("60 seconds")
    assert late._spec.allowed_lateness == timedelta(minutes=1)
    with raises("NEGATIVE", "lateness"):
        HOURS.allowed_lateness("-1 second")
    with raises("BAD_DURATION", "lateness"):
        HOURS.allowed_lateness("1 month")
    with raises("NOT_EVENT_TIME", "lateness"):
        EVER.allowed_lateness("0 seconds")
    with raises("NOT_EVENT_TIME", "lateness"):
        ON_THE_CLOCK.allowed_lateness("1 hour")


def test_windows_have_a_trigger_of_their_own() -> None:
    assert HOURS._spec.trigger == transom.AfterWatermark()
    assert ON_THE_CLOCK._spec.trigger == transom.AfterClock()
    assert EVER._spec.trigger is None
    assert windowed(transom.Count(size=9, slide=3))._spec.trigger == transom.AfterCount(9)
    partial = transom.Count(size=9, slide=3, partial=True)
    assert windowed(partial)._spec.trigger == transom.AfterCount(3)


def test_steps_take_values_of_their_kind() -> None:
    with raises("BAD_TYPE", "trigger"):
        HOURS.trigger("never")  # type: ignore[arg-type]
    with raises("BAD_TYPE", "evictor"):
        HOURS.evictor(transom.Never())  # type: ignore[arg-type]


def test_a_window_without_end_needs_a_trigger() -> None:
    with raises("NEEDS_TRIGGER", "trigger"):
        EVER.agg(NO_COLUMN)
    with raises("NEEDS_TRIGGER", "trigger"):
        EVER.apply(lambda rows: rows, NUMBER)


@pytest.mark.parametrize(
    "window",
    [transom.Session(gap="1 minute"), transom.Custom(windows="shifts", merging=True)],
)
@pytest.mark.parametrize(
    "trigger",
    [
        transom.AfterDelta(lambda old, new: new["v"] - old["v"], threshold=1),
        transom.Purging(transom.ProcessingTimeout(transom.Never(), after="1 minute")),
        transom.AfterWatermark(late=transom.ProcessingTimeout(transom.Never(), after="1 minute")),
    ],
)
def test_triggers_that_cannot_merge_are_refused_for_windows_that_do(
    window: transom.Window, trigger: transom.Trigger
) -> None:
    with raises("CANNOT_MERGE", "trigger"):
        windowed(window, time=transom.EventTime("at")).trigger(trigger)
    HOURS.trigger(trigger)
    windowed(transom.Custom(windows="shifts"), time=transom.EventTime("at")).trigger(trigger)


@pytest.mark.parametrize(
    "trigger",
    [
        transom.AfterWatermark(),
        transom.AfterLateness(),
        transom.Every("1 minute"),
        transom.Purging(transom.Every("1 minute")),
    ],
)
def test_triggers_by_the_watermark_need_event_time(trigger: transom.Trigger) -> None:
    for builder in (EVER, ON_THE_CLOCK):
        with raises("NO_CLOCK", "trigger"):
            builder.trigger(trigger)
    for time in (transom.EventTime("at"), transom.TimePolicy("at")):
        windowed(transom.Tumbling(size="1 hour"), time=time).trigger(trigger)


def test_windows_without_end_fire_by_the_end_of_the_input() -> None:
    with raises("CONFLICT", "AfterClock") as caught:
        EVER.trigger(transom.AfterClock())
    assert "EndOfStream() fires them when the input ends" in str(caught.value)
    with raises("NO_CLOCK", "trigger") as caught:
        EVER.trigger(transom.AfterWatermark())
    assert "Use EndOfStream(), or set the column that holds the time." in str(caught.value)


def test_triggers_by_the_wall_clock_need_no_event_time() -> None:
    EVER.trigger(transom.Every("1 minute", clock="processing"))
    ON_THE_CLOCK.trigger(transom.ProcessingTimeout(transom.AfterCount(5), after="1 minute"))


@pytest.mark.parametrize(
    ("one", "other", "argument"),
    [
        (("evictor", transom.KeepLast(5)), ("trigger", transom.EveryBatch()), "evictor"),
        (("evictor", transom.KeepLast(5)), ("retract",), "retract"),
        (("trigger", transom.Purging(transom.AfterWatermark())), ("retract",), "retract"),
        (
            (
                "trigger",
                transom.AfterWatermark(early=transom.Purging(transom.AfterCount(5))),
            ),
            ("retract",),
            "retract",
        ),
    ],
)
def test_steps_that_exclude_each_other_are_refused_in_either_order(
    one: tuple[Any, ...], other: tuple[Any, ...], argument: str
) -> None:
    for (first, *its), (second, *arguments) in ((one, other), (other, one)):
        builder = getattr(HOURS, first)(*its)
        with raises("CONFLICT", argument):
            getattr(builder, second)(*arguments)


def test_windows_of_rows_fire_by_themselves() -> None:
    full = windowed(transom.Count(size=9, slide=3))
    for trigger in (transom.AfterCount(3), transom.AfterLateness()):
        with raises("CONFLICT", "trigger"):
            full.trigger(trigger)
    full.evictor(transom.KeepLast(5)).with_pane()
    full.retract()
    partial = windowed(transom.Count(size=9, slide=3, partial=True))
    with raises("CONFLICT", "evictor"):
        partial.evictor(transom.KeepLast(5))
    with raises("CONFLICT", "retract"):
        partial.retract()


@pytest.mark.parametrize(
    ("step", "value"),
    [
        ("trigger", (transom.AfterLateness(),)),
        ("trigger", (transom.EveryBatch(),)),
        ("evictor", (transom.KeepLast(5),)),
        ("retract", ()),
        ("allowed_lateness", ("1 second",)),
    ],
)
def test_sessions_with_a_maximum_duration_fire_once(step: str, value: tuple[Any, ...]) -> None:
    limited = transom.Session(gap="1 minute", max_duration="1 hour")
    builder = windowed(limited, time=transom.EventTime("at"))
    with raises("CONFLICT", step):
        getattr(builder, step)(*value)
    builder.trigger(transom.AfterWatermark()).allowed_lateness("0 seconds").with_pane().drain()


@pytest.mark.parametrize(
    ("settings", "condition", "argument"),
    [
        ({"name": ""}, "BAD_NAME", "name"),
        ({"name": "a/b"}, "BAD_NAME", "name"),
        ({"name": "." * 3}, "BAD_NAME", "name"),
        ({"name": "x" * 101}, "BAD_NAME", "name"),
        ({"name": 7}, "BAD_TYPE", "name"),
        ({"key_groups": 0}, "NOT_POSITIVE", "key_groups"),
        ({"key_groups": 2**31}, "BAD_CHOICE", "key_groups"),
        ({"key_groups": "8"}, "BAD_TYPE", "key_groups"),
        ({"layout": "rows"}, "BAD_CHOICE", "layout"),
        ({"tick": "0 seconds"}, "NOT_POSITIVE", "tick"),
        ({"row_log": -1}, "NEGATIVE", "row_log"),
        ({"row_log": True}, "BAD_TYPE", "row_log"),
    ],
)
def test_wrong_options_are_named(settings: dict[str, Any], condition: str, argument: str) -> None:
    with raises(condition, argument):
        HOURS.options(**settings)


def test_flags_are_flags() -> None:
    with raises("BAD_TYPE", "partly"):
        HOURS.with_late_rows(partly="yes")  # type: ignore[arg-type]


def test_windows_need_aggregates() -> None:
    with raises("NO_AGGREGATE", "aggregates"):
        HOURS.agg()
    with raises("BAD_TYPE", "aggregates"):
        HOURS.agg("n")  # type: ignore[arg-type]
    with raises("BAD_TYPE", "n"):
        HOURS.agg(n="count")  # type: ignore[arg-type]


def test_writers_are_functions() -> None:
    with raises("BAD_TYPE", "late"):
        transom.route(late="late.parquet")  # type: ignore[arg-type]
