"""The builder's checks that need no DataFrame of a session."""

from typing import Any, cast

import pytest
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame

import transom
from tests.python.conditions import raises
from transom.spec import WindowSpec
from transom.windowed import Windowed


def windowed(window: transom.Window, **settings: Any) -> Windowed:
    """A builder whose DataFrame nobody looks at."""
    return Windowed(cast("DataFrame", None), WindowSpec(window=window, **settings))


HOURS = windowed(transom.Tumbling(size="1 hour"), time=transom.EventTime("at"))
EVER = windowed(transom.Global())


@pytest.mark.parametrize("df", [None, [1, 2], "rows"])
def test_only_a_dataframe_has_windows(df: Any) -> None:
    with raises("BAD_TYPE", "df", PySparkTypeError):
        transom.stream(df, time="at")
    with raises("BAD_TYPE", "df", PySparkTypeError):
        transom.explain(df)
    with raises("BAD_TYPE", "tagged", PySparkTypeError):
        transom.untag(df, "late")


@pytest.mark.parametrize(
    ("step", "settings"),
    [
        ("allowed_lateness", {"lateness": "0 seconds"}),
        ("with_late_rows", {}),
        ("drain", {}),
        ("options", {"name": "hours"}),
        ("trigger", {"trigger": transom.AfterWatermark()}),
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
    one = HOURS.drain().with_late_rows(partly=True).options(row_log=0)
    other = HOURS.options(row_log=0).drain().with_late_rows(partly=True)
    assert one._spec == other._spec
    assert one._spec.late_rows == "partly"
    assert one._spec.drain


def test_lateness_above_zero_is_refused() -> None:
    with raises("LATENESS_UNSUPPORTED", "lateness"):
        HOURS.allowed_lateness("1 microsecond")
    with raises("NEGATIVE", "lateness"):
        HOURS.allowed_lateness("-1 second")
    with raises("BAD_DURATION", "lateness"):
        HOURS.allowed_lateness("1 month")
    with raises("NOT_EVENT_TIME", "lateness"):
        EVER.allowed_lateness("0 seconds")


def test_triggers_that_cannot_fire_the_windows_are_refused() -> None:
    with raises("TRIGGER_UNSUPPORTED", "trigger"):
        HOURS.trigger(transom.EndOfStream())
    with raises("TRIGGER_UNSUPPORTED", "trigger"):
        EVER.trigger(transom.AfterWatermark())
    with raises("BAD_TYPE", "trigger"):
        HOURS.trigger("never")  # type: ignore[arg-type]


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
        ({"layout": "keyed"}, "LAYOUT_UNSUPPORTED", "layout"),
        ({"clock": "0 seconds"}, "NOT_POSITIVE", "clock"),
        ({"row_log": -1}, "NEGATIVE", "row_log"),
        ({"row_log": False}, "BAD_TYPE", "row_log"),
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


def test_writers_are_functions() -> None:
    with raises("BAD_TYPE", "late"):
        transom.route(late="late.parquet")  # type: ignore[arg-type]
