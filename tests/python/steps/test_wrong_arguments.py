"""Arguments that a step does not take: the error says which it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError

import transom
from tests.python.conditions import raises
from tests.python.steps.test_misplaced import BY_TIME, DF, WINDOWED

# Type checkers find these mistakes too.
UNTYPED: Any = transom


def print_all(rows: Any, batch_id: int) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (
            lambda: WINDOWED.with_late_rows(True),  # noqa: FBT003
            "argument 1 of with_late_rows",
            "a keyword, as in with_late_rows(partly=True)",
        ),
        (
            lambda: WINDOWED.with_late_rows("late"),
            "argument 1 of with_late_rows",
            "a keyword, as in with_late_rows(partly=True)",
        ),
        (
            lambda: WINDOWED.idle_timeout("1 minute", "last_row"),
            "argument 2 of idle_timeout",
            "a keyword, as in idle_timeout('1 minute', rule='last_row')",
        ),
        (
            lambda: WINDOWED.options("by_hour"),
            "argument 1 of options",
            "a keyword, as in options(name='by_hour')",
        ),
        (
            lambda: WINDOWED.drain("now"),
            "argument 1 of drain",
            "drain()",
        ),
        (
            lambda: BY_TIME.scan(print, "n long", "pandas"),
            "argument 3 of scan",
            "a keyword, as in scan(<built-in function print>, 'n long', form='pandas')",
        ),
        (
            lambda: UNTYPED.route(print),
            "argument 1 of route",
            "a keyword, as in route(results=<built-in function print>)",
        ),
        (
            lambda: UNTYPED.stream(DF, time="at").window("at", "1 hour"),
            "argument 2 of window",
            "window(transom.Tumbling('1 hour')). The column of the time belongs to stream()",
        ),
        (
            lambda: UNTYPED.route(results=lambda rows: rows.count()),
            "results",
            "a function of a DataFrame and a batch id",
        ),
        (
            lambda: UNTYPED.Rolling("1 hour", "5 minutes"),
            "argument 2 of Rolling",
            "Rolling('1 hour')",
        ),
        (
            lambda: UNTYPED.Windows(transom.Tumbling("1 hour"), transom.Tumbling("1 day")),
            "argument 2 of Windows",
            "Windows([Tumbling(size='1 hour'), Tumbling(size='1 day')])",
        ),
        (
            lambda: UNTYPED.route({"results": print_all, "late": print_all}),
            "argument 1 of route",
            "a keyword, as in route(results=print_all, late=print_all)",
        ),
        (
            lambda: UNTYPED.metrics(object(), "hours"),
            "argument 2 of metrics",
            "a keyword, as in metrics(<object object>, operator='hours')",
        ),
        (
            lambda: UNTYPED.ProcessingTime("at"),
            "argument 1 of ProcessingTime",
            "ProcessingTime()",
        ),
    ],
)
def test_an_argument_by_position_that_a_step_does_not_take_is_explained(
    mistake: Callable[[], object], argument: str, instead: str
) -> None:
    with raises("BAD_TYPE", argument, PySparkTypeError) as caught:
        mistake()
    assert str(caught.value).endswith(f" Use {instead}.")


@pytest.mark.parametrize(
    ("mistake", "argument", "explained"),
    [
        (
            lambda: WINDOWED.idle_timeout(timeout="1 minute"),
            "timeout",
            "its arguments are after, rule. Write idle_timeout(after=..., rule=...).",
        ),
        (
            lambda: WINDOWED.retract(early=True),
            "early",
            "it takes none by name. Write retract().",
        ),
        (
            lambda: BY_TIME.key_by(columns="origin"),
            "columns",
            "it takes none by name. Write key_by(...).",
        ),
        (
            lambda: BY_TIME.scan(print, "n long", key_state="n long"),
            "key_state",
            "its arguments are fn, schema, form, state. Write state='n long'.",
        ),
        (
            lambda: UNTYPED.stream(DF, tme="at"),
            "tme",
            "its arguments are df, time, lifetime, order. Write time='at'.",
        ),
        (
            lambda: UNTYPED.AfterCount(5, after=1),
            "after",
            "its arguments are rows. Write a call such as AfterCount(10).",
        ),
        (
            lambda: UNTYPED.Drop(after="5 minutes"),
            "after",
            "its arguments are beyond. Write a call such as Drop('5 minutes').",
        ),
    ],
)
def test_a_keyword_that_a_method_does_not_have_is_explained(
    mistake: Callable[[], object], argument: str, explained: str
) -> None:
    with raises("MISPLACED", argument, PySparkTypeError) as caught:
        mistake()
    assert str(caught.value).endswith(explained)


@pytest.mark.parametrize("base", [transom.Window, transom.Trigger, transom.Evictor])
def test_a_class_of_a_user_is_no_window_trigger_or_evictor(base: type) -> None:
    steps: dict[type, Any] = {
        transom.Window: BY_TIME.window,
        transom.Trigger: WINDOWED.trigger,
        transom.Evictor: WINDOWED.evictor,
    }
    for value in (base(), type("Own", (base,), {"__repr__": lambda _: "Own()"})()):
        with raises("BAD_TYPE", kind=PySparkTypeError) as caught:
            steps[base](value)
        assert "of transom, such as transom." in str(caught.value)


def test_a_step_keeps_its_signature_and_its_name() -> None:
    signature = inspect.signature(transom.Windowed.idle_timeout)
    assert list(signature.parameters) == ["self", "after", "rule"]
    assert transom.Windowed.idle_timeout.__name__ == "idle_timeout"


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (lambda: WINDOWED.idle_timeout(), "after", "idle_timeout(after=..., rule=...)"),
        (
            lambda: WINDOWED.apply(print),
            "schema",
            (
                "apply(fn=..., schema=..., form=..., agg=..., window_state=..., key_state=...,"
                " outputs=...)"
            ),
        ),
        (lambda: WINDOWED.top(), "k", "top(k=...)"),
        (
            lambda: UNTYPED.Hopping("1 hour"),
            "slide",
            "a call such as Hopping('1 hour', '5 minutes', offset='1 minute')",
        ),
        (
            lambda: UNTYPED.Calendar(unit="day"),
            "time_zone",
            "a call such as Calendar('day', time_zone='Europe/Rome')",
        ),
        (
            lambda: UNTYPED.AfterDelta(lambda old, new: new["v"] - old["v"]),
            "threshold",
            "a call such as AfterDelta(lambda old, new: new['v'] - old['v'], threshold=5)",
        ),
        (
            lambda: UNTYPED.azure.TumblingWindow("minute"),
            "size",
            "TumblingWindow(unit=..., size=..., offset=...)",
        ),
        (lambda: UNTYPED.reduce("v"), "merge", "reduce(col=..., merge=...)"),
        (lambda: UNTYPED.Drop(), "beyond", "a call such as Drop('5 minutes')"),
    ],
)
def test_an_argument_that_is_missing_is_named(
    mistake: Callable[[], object], argument: str, instead: str
) -> None:
    with raises("MISSING_ARGUMENT", argument, PySparkTypeError) as caught:
        mistake()
    assert str(caught.value).endswith(f"() needs {argument}, which is not given. Write {instead}.")


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (lambda: BY_TIME.window([transom.Tumbling("1 hour")]), "window", "transom.Windows(...)"),
        (lambda: WINDOWED.trigger(10), "trigger", "transom.AfterCount(10)"),
        (lambda: WINDOWED.trigger(transom.AfterClock), "trigger", "transom.AfterClock(...)"),
        (lambda: WINDOWED.agg(["n"]), "aggregates", "agg(F.count('*'), F.max('delay'))"),
        (lambda: WINDOWED.agg("sum(n)"), "aggregates", "F.expr('sum(n)')"),
        (lambda: WINDOWED.top("k"), "k", "top(3, F.desc('delay'))"),
        (lambda: WINDOWED.top(1, ["k"]), "order_by", "top(3, F.desc('delay'), 'origin')"),
        (lambda: UNTYPED.Periodic("1 minute"), "rows", "transom.Periodic(every='1 minute')"),
        (lambda: UNTYPED.TimePolicy("at", over="k"), "over", "such as ['k']"),
        (
            lambda: UNTYPED.TimePolicy("at", late="5 minutes"),
            "late",
            "transom.Drop('5 minutes'), transom.Adjust('5 minutes') or None",
        ),
        (
            lambda: UNTYPED.TimePolicy("at", advance="5 minutes"),
            "advance",
            "transom.Periodic(every='5 minutes')",
        ),
    ],
)
def test_a_value_of_another_type_is_answered_with_the_right_one(
    mistake: Callable[[], object], argument: str, instead: str
) -> None:
    with raises("BAD_TYPE", argument, PySparkTypeError) as caught:
        mistake()
    assert instead in str(caught.value)
