"""Several windows in one pass: values and their errors, before a session exists."""

from __future__ import annotations

import datetime as datetime_module
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError

import transom
from tests.python.conditions import raises
from tests.python.unbound import NUMBER, Rows, windowed
from transom.azure import TumblingWindow
from transom.spec.windows.several import is_merging, members_of

MINUTE = transom.Tumbling(size="1 minute")
HOUR = transom.Tumbling(size="1 hour")


def test_windows_are_equal_by_meaning() -> None:
    windows = transom.Windows({"minute": MINUTE, "hour": HOUR})
    other = transom.Windows({"hour": HOUR, "minute": transom.Tumbling(size="60 seconds")})
    assert windows == other
    assert hash(windows) == hash(other)
    assert windows != transom.Windows({"minute": MINUTE, "Hour": HOUR})
    assert transom.Windows([MINUTE, HOUR]) == transom.Windows((MINUTE, HOUR))
    assert transom.Windows([MINUTE, HOUR]) != windows


def test_the_repr_can_be_pasted_back() -> None:
    windows = transom.Windows({"minute": MINUTE, "last": transom.Rolling("1 hour")})
    assert eval(repr(windows), vars(transom) | {"datetime": datetime_module}) == windows


def test_later_changes_of_the_argument_do_not_matter() -> None:
    given = {"minute": MINUTE}
    windows = transom.Windows(given)
    given["hour"] = HOUR
    assert members_of(windows) == (MINUTE,)


def test_sessions_make_them_merge() -> None:
    assert is_merging(transom.Windows([MINUTE, transom.Session(gap="1 minute")]))
    assert not is_merging(transom.Windows([MINUTE, HOUR]))


@pytest.mark.parametrize(
    "bad", [{}, [], {"": MINUTE}, {"hour": HOUR, "Hour": MINUTE}, [HOUR, MINUTE, HOUR]], ids=repr
)
def test_windows_that_cannot_be_told_apart(bad: Any) -> None:
    with raises("BAD_WINDOW_IDS", "windows", PySparkValueError):
        transom.Windows(bad)


def test_equal_windows_may_have_ids() -> None:
    assert transom.Windows({"a": HOUR, "b": HOUR}).members == (HOUR, HOUR)


@pytest.mark.parametrize(
    "bad",
    [
        transom.Global(),
        transom.Count(size=3),
        transom.Custom(windows="shifts"),
        transom.Windows([MINUTE]),
        transom.Session(gap="1 minute", late_start="reject"),
        transom.Tumbling(size="1 minute", stagger="random"),
    ],
    ids=repr,
)
def test_windows_that_cannot_be_members(bad: transom.Window) -> None:
    with raises("BAD_CHOICE", "windows", PySparkValueError):
        transom.Windows([MINUTE, bad])


@pytest.mark.parametrize(
    "bad", ["1 minute", 5, MINUTE, {1: MINUTE}, {None: MINUTE}, ["1 minute"]], ids=repr
)
def test_other_types(bad: Any) -> None:
    with raises("BAD_TYPE", "windows", PySparkTypeError):
        transom.Windows(bad)


def test_azure_names_windows_by_pairs() -> None:
    minute, hour = TumblingWindow("minute", 1), TumblingWindow("hour", 1)
    named = transom.azure.Windows(
        transom.azure.Window("minute", minute), transom.azure.Window("hour", hour)
    )
    assert named == transom.Windows({"minute": minute, "hour": hour})
    assert transom.azure.Windows(minute, hour) == transom.Windows([minute, hour])


def test_azure_refuses_what_the_system_refuses() -> None:
    minute, hour = TumblingWindow("minute", 1), TumblingWindow("hour", 1)
    one = transom.azure.Window("one", minute)
    for bad in [(), (one, hour), (one, transom.azure.Window("ONE", hour)), (one, one)]:
        with raises("BAD_WINDOW_IDS", "windows"):
            transom.azure.Windows(*bad)
    nested = transom.azure.Windows(minute, hour)
    for windows in ((nested, minute), (transom.azure.Window("nested", nested),)):
        with raises("BAD_CHOICE", "windows"):
            transom.azure.Windows(*windows)
    with raises("BAD_TYPE", "id"):
        transom.azure.Window(1, minute)  # type: ignore[arg-type]
    with raises("BAD_TYPE", "window"):
        transom.azure.Window("one", "minute")  # type: ignore[arg-type]
    rows = transom.stream(Rows(NUMBER))
    with raises("BAD_TYPE", "window", PySparkTypeError) as caught:
        rows.window(one)  # type: ignore[arg-type]
    assert "Use the window without an id, or azure.Windows()" in str(caught.value)


SEVERAL = transom.Windows([MINUTE, transom.Session(gap="1 hour", max_duration="1 day")])
SWEPT = transom.Windows([MINUTE, transom.Rolling("10 minutes")])


def test_steps_that_a_member_refuses() -> None:
    steps = windowed(SEVERAL, time=transom.EventTime("at"))
    with raises("CONFLICT", "allowed_lateness"):
        steps.allowed_lateness("1 hour")
    steps = windowed(SWEPT, time=transom.EventTime("at"))
    with raises("CONFLICT", "trigger"):
        steps.trigger(transom.EveryBatch())


def test_edges_need_one_kind_of_windows() -> None:
    edges = transom.Lifetime("until", id=["n"])
    with raises("CONFLICT", "Windows"):
        windowed(transom.Windows([MINUTE, HOUR]), time=transom.EventTime("at"), lifetime=edges)


def test_a_timeout_needs_one_kind_of_windows() -> None:
    steps = windowed(transom.Windows([MINUTE, HOUR]), time=transom.TimePolicy("at"))
    with raises("CONFLICT", "idle_timeout"):
        steps.idle_timeout("1 minute")


def test_the_longest_window_decides_where_the_input_begins() -> None:
    first = datetime(2013, 1, 2)
    start = transom.earliest_input(first, transom.Windows([MINUTE, HOUR]))
    assert start == first - timedelta(hours=1)
