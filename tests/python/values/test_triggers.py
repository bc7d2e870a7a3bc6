"""Triggers and evictors as values."""

import dataclasses
import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError

import transom
from tests.python.conditions import raises

# Type checkers find these mistakes too.
UNTYPED: Any = transom


def difference(old: Any, new: Any) -> Any:
    """A distance function."""
    return new["v"] - old["v"]


TRIGGERS: list[transom.Trigger] = [
    transom.AfterWatermark(),
    transom.AfterWatermark(early=transom.AfterCount(5), late=None),
    transom.AfterClock(),
    transom.AfterLateness(),
    transom.AfterCount(5),
    transom.AfterDelta(difference, threshold=5),
    transom.Every("1 minute"),
    transom.Every("1 minute", clock="processing"),
    transom.Every("1 minute", aligned=False),
    transom.When("v > 5"),
    transom.EveryBatch(),
    transom.EndOfStream(),
    transom.Never(),
    transom.Purging(transom.AfterCount(5)),
    transom.ProcessingTimeout(transom.AfterCount(5), after="1 minute"),
    transom.ProcessingTimeout(transom.AfterCount(5), after="1 minute", reset=True),
]
EVICTORS: list[transom.Evictor] = [
    transom.KeepLast(5),
    transom.KeepLast(5, when="after"),
    transom.KeepRecent("1 minute"),
    transom.KeepNear(difference, threshold=5),
    transom.KeepWhere("v > 5"),
]
BATCH = transom.EveryBatch()


@pytest.mark.parametrize("value", [*TRIGGERS, *EVICTORS])
def test_values_are_frozen_and_can_be_pickled(value: Any) -> None:
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    assert pickle.loads(pickle.dumps(value)) == value


def test_values_that_mean_something_else_differ() -> None:
    assert len(set(TRIGGERS)) == len(TRIGGERS)
    assert len(set(EVICTORS)) == len(EVICTORS)
    assert transom.When("v > 5") != transom.KeepWhere("v > 5")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (transom.AfterWatermark(), transom.AfterWatermark(late=transom.AfterCount(1))),
        (transom.Every("60 seconds"), transom.Every(timedelta(minutes=1), aligned=True)),
        (
            transom.AfterDelta(difference, threshold=5),
            transom.AfterDelta(difference, threshold=5.0),
        ),
        (transom.KeepRecent("60 seconds"), transom.KeepRecent("1 minute", when="before")),
        (transom.Purging(transom.When("v > 5")), transom.Purging(transom.When("v > 5"))),
    ],
)
def test_values_are_equal_by_meaning(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


def test_the_first_field_goes_by_position_too() -> None:
    assert transom.AfterCount(5) == transom.AfterCount(rows=5)
    assert transom.Every("1 minute") == transom.Every(interval="1 minute")
    assert transom.When("v > 5") == transom.When(condition="v > 5")
    assert transom.Purging(transom.Never()) == transom.Purging(trigger=transom.Never())
    assert transom.KeepWhere("v > 5") == transom.KeepWhere(condition="v > 5")
    with pytest.raises(TypeError, match="Use a keyword, as in "):
        transom.AfterDelta(difference, 5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Use a keyword, as in "):
        transom.KeepLast(5, "after")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Use a keyword, as in "):
        transom.AfterWatermark(transom.Never())  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("value", "arguments", "settings", "condition", "argument"),
    [
        ("AfterCount", [0], {}, "NOT_POSITIVE", "rows"),
        ("AfterCount", [2**31], {}, "BAD_CHOICE", "rows"),
        ("AfterCount", ["5"], {}, "BAD_TYPE", "rows"),
        ("AfterDelta", ["v"], {"threshold": 5}, "BAD_TYPE", "delta"),
        ("AfterDelta", [lambda row: row], {"threshold": 5}, "BAD_TYPE", "delta"),
        ("AfterDelta", [difference], {"threshold": "5"}, "BAD_TYPE", "threshold"),
        ("AfterDelta", [difference], {"threshold": True}, "BAD_TYPE", "threshold"),
        ("AfterDelta", [difference], {"threshold": float("nan")}, "BAD_CHOICE", "threshold"),
        ("Every", ["0 seconds"], {}, "NOT_POSITIVE", "interval"),
        ("Every", ["1 month"], {}, "BAD_DURATION", "interval"),
        ("Every", ["1 minute"], {"clock": "wall"}, "BAD_CHOICE", "clock"),
        ("Every", ["1 minute"], {"aligned": 1}, "BAD_TYPE", "aligned"),
        ("When", [True], {}, "BAD_TYPE", "condition"),
        ("AfterWatermark", [], {"early": "never"}, "BAD_TYPE", "early"),
        ("AfterWatermark", [], {"late": 1}, "BAD_TYPE", "late"),
        ("Purging", [None], {}, "BAD_TYPE", "trigger"),
        ("ProcessingTimeout", ["never"], {"after": "1 minute"}, "BAD_TYPE", "trigger"),
        ("ProcessingTimeout", [TRIGGERS[0]], {"after": "0 days"}, "NOT_POSITIVE", "after"),
        (
            "ProcessingTimeout",
            [TRIGGERS[0]],
            {"after": "1 day", "reset": "no"},
            "BAD_TYPE",
            "reset",
        ),
        ("ProcessingTimeout", [TRIGGERS[0]], {"after": "1 day", "clear": 0}, "BAD_TYPE", "clear"),
        ("KeepLast", [0], {}, "NOT_POSITIVE", "rows"),
        ("KeepLast", [5], {"when": "during"}, "BAD_CHOICE", "when"),
        ("KeepRecent", ["-1 second"], {}, "NOT_POSITIVE", "within"),
        ("KeepRecent", ["1 second"], {"when": None}, "BAD_TYPE", "when"),
        ("KeepNear", [5], {"threshold": 5}, "BAD_TYPE", "delta"),
        ("KeepNear", [difference], {"threshold": float("inf")}, "BAD_CHOICE", "threshold"),
        ("KeepWhere", [5], {}, "BAD_TYPE", "condition"),
        ("KeepWhere", ["v > 5"], {"when": "later"}, "BAD_CHOICE", "when"),
    ],
)
def test_a_wrong_argument_is_named(
    value: str, arguments: list[Any], settings: dict[str, Any], condition: str, argument: str
) -> None:
    kind = PySparkTypeError if condition == "BAD_TYPE" else PySparkValueError
    with raises(condition, argument, kind):
        getattr(transom, value)(*arguments, **settings)


@pytest.mark.parametrize(
    ("mistake", "instead"),
    [
        (lambda: UNTYPED.AfterWatermark(early="1 minute"), "Every('1 minute'), or None"),
        (lambda: UNTYPED.AfterWatermark(late=False), "When('v > 5'), or None"),
        (lambda: UNTYPED.Purging(timedelta(hours=1)), "Every(datetime.timedelta(seconds=3600))"),
        (lambda: UNTYPED.Purging("minute"), "When('v > 5')"),
    ],
)
def test_a_duration_is_no_trigger(mistake: Callable[[], object], instead: str) -> None:
    with raises("BAD_TYPE") as caught:
        mistake()
    assert str(caught.value).endswith(f"transom.{instead}.")


@pytest.mark.parametrize("argument", ["early", "late"])
@pytest.mark.parametrize(
    "inner",
    [
        BATCH,
        transom.AfterWatermark(),
        transom.AfterClock(),
        transom.AfterLateness(),
        transom.EndOfStream(),
        transom.Purging(transom.AfterClock()),
        transom.ProcessingTimeout(transom.AfterWatermark(), after="1 minute"),
    ],
)
def test_what_comes_around_the_end_of_a_window_does_not_fire_at_its_end(
    argument: str, inner: transom.Trigger
) -> None:
    with raises("NOT_IN_PLACE", argument):
        transom.AfterWatermark(**{argument: inner})


def test_batches_are_no_part_of_another_trigger() -> None:
    with raises("NOT_IN_PLACE", "trigger"):
        transom.Purging(BATCH)
    with raises("NOT_IN_PLACE", "trigger"):
        transom.ProcessingTimeout(BATCH, after="1 minute")


def test_the_end_of_windows_may_be_purged_and_timed() -> None:
    transom.Purging(transom.AfterWatermark(early=transom.Purging(transom.AfterCount(5))))
    transom.ProcessingTimeout(transom.AfterWatermark(), after="1 minute")
