"""Arguments that a step does not take: the error says which it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from pyspark.errors import PySparkTypeError

import transom
from tests.python.conditions import raises
from tests.python.steps.test_misplaced import BY_TIME, WINDOWED


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (
            lambda: WINDOWED.with_late_rows(True),  # noqa: FBT003
            "argument 1 of with_late_rows",
            "a keyword, as in with_late_rows(partly=True)",
        ),
        (
            lambda: WINDOWED.idle_timeout("1 minute", "last_row"),
            "argument 2 of idle_timeout",
            "a keyword, as in idle_timeout('1 minute', rule='last_row')",
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
            "Write scan(fn=..., schema=..., form=..., state=...).",
        ),
    ],
)
def test_a_keyword_that_a_method_does_not_have_is_explained(
    mistake: Callable[[], object], argument: str, explained: str
) -> None:
    with raises("MISPLACED", argument, PySparkTypeError) as caught:
        mistake()
    assert str(caught.value).endswith(explained)


def test_a_step_keeps_its_signature_and_its_name() -> None:
    signature = inspect.signature(transom.Windowed.idle_timeout)
    assert list(signature.parameters) == ["self", "after", "rule"]
    assert transom.Windowed.idle_timeout.__name__ == "idle_timeout"


def test_an_argument_that_is_missing_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'after'"):
        WINDOWED.idle_timeout()
