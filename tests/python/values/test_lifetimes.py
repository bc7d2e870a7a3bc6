"""Lifetimes of rows, and the windows between their starts and ends."""

import dataclasses
import inspect
import pickle
from datetime import timedelta
from typing import Any, cast

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError

import transom
from tests.python.conditions import raises

VALUES = [
    transom.Lifetime("landed"),
    transom.Lifetime("at"),
    transom.Lifetime(duration="5 minutes"),
    transom.Lifetime(duration="6 minutes"),
    transom.Lifetime("landed", id=["tail"]),
    transom.Lifetime("landed", id=["tail", "carrier"]),
    transom.Lifetime("landed", id=["tail"], timeout="1 day"),
    transom.Snapshot(),
    transom.Snapshot(closed="right"),
    transom.Rolling("10 minutes"),
    transom.Rolling("11 minutes"),
    transom.CountByStart(2),
    transom.CountByStart(3),
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (transom.Lifetime("landed"), transom.Lifetime(end="landed")),
        (transom.Lifetime("landed"), transom.Lifetime("landed", duration=None)),
        (
            transom.Lifetime(duration="60 seconds"),
            transom.Lifetime(duration=timedelta(minutes=1)),
        ),
        (
            transom.Lifetime("landed", id=["tail"], timeout="24 hours"),
            transom.Lifetime("landed", id=("tail",), timeout=timedelta(days=1)),
        ),
        (transom.Snapshot(), transom.Snapshot(closed="left")),
        (transom.Rolling("60 seconds"), transom.Rolling(size=timedelta(minutes=1))),
        (transom.CountByStart(2), transom.CountByStart(size=2)),
    ],
)
def test_values_are_equal_by_meaning(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


def test_values_that_mean_something_else_differ() -> None:
    assert len(set(VALUES)) == len(VALUES)
    assert transom.Lifetime("landed") != "landed"
    assert transom.CountByStart(2) != transom.Count(size=2)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_frozen_and_can_be_pickled(value: Any) -> None:
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("end", [None, "landed"])
def test_the_duration_of_a_lifetime_is_a_keyword(end: str | None) -> None:
    with raises("BAD_TYPE", "argument 2 of Lifetime", PySparkTypeError) as caught:
        cast("Any", transom.Lifetime)(end, "5 minutes")
    assert "'5 minutes'" in str(caught.value)
    assert str(caught.value).endswith("a keyword, as in Lifetime(duration='5 minutes').")
    shown = inspect.signature(transom.Lifetime).parameters
    assert [name for name, given in shown.items() if given.kind != given.KEYWORD_ONLY] == ["end"]


def test_a_snapshot_takes_keywords_only() -> None:
    with raises("BAD_TYPE", "argument 1 of Snapshot", PySparkTypeError) as caught:
        cast("Any", transom.Snapshot)("right")
    assert str(caught.value).endswith("Use a keyword, as in Snapshot(closed='right').")


@pytest.mark.parametrize(
    ("kind", "settings", "condition", "argument"),
    [
        ("Lifetime", {}, "LIFETIME_CHOICE", "lifetime"),
        ("Lifetime", {"end": "landed", "duration": "1 hour"}, "LIFETIME_CHOICE", "lifetime"),
        ("Lifetime", {"end": 7}, "BAD_TYPE", "end"),
        ("Lifetime", {"end": timedelta(hours=1)}, "BAD_TYPE", "end"),
        ("Lifetime", {"duration": 7}, "BAD_TYPE", "duration"),
        ("Lifetime", {"duration": "landed"}, "BAD_DURATION", "duration"),
        ("Lifetime", {"duration": "1 month"}, "BAD_DURATION", "duration"),
        ("Lifetime", {"duration": "0 seconds"}, "NOT_POSITIVE", "duration"),
        ("Lifetime", {"duration": timedelta(seconds=-1)}, "NOT_POSITIVE", "duration"),
        ("Lifetime", {"end": "landed", "id": "tail"}, "BAD_TYPE", "id"),
        ("Lifetime", {"end": "landed", "id": None}, "BAD_TYPE", "id"),
        ("Lifetime", {"end": "landed", "id": ["tail", 7]}, "BAD_TYPE", "id"),
        ("Lifetime", {"id": ["tail"]}, "LIFETIME_CHOICE", "lifetime"),
        ("Lifetime", {"duration": "1 hour", "id": ["tail"]}, "CONFLICT", "id"),
        ("Lifetime", {"end": "landed", "timeout": "1 hour"}, "NEEDS_ID", "timeout"),
        ("Lifetime", {"duration": "1 hour", "timeout": "1 hour"}, "NEEDS_ID", "timeout"),
        (
            "Lifetime",
            {"end": "landed", "id": ["tail"], "timeout": "0 seconds"},
            "NOT_POSITIVE",
            "timeout",
        ),
        (
            "Lifetime",
            {"end": "landed", "id": ["tail"], "timeout": "1 month"},
            "BAD_DURATION",
            "timeout",
        ),
        ("Lifetime", {"end": "landed", "id": ["tail"], "timeout": 7}, "BAD_TYPE", "timeout"),
        ("Snapshot", {"closed": "both"}, "BAD_CHOICE", "closed"),
        ("Snapshot", {"closed": None}, "BAD_TYPE", "closed"),
        ("Rolling", {"size": "0 seconds"}, "NOT_POSITIVE", "size"),
        ("Rolling", {"size": "1 month"}, "BAD_DURATION", "size"),
        ("Rolling", {"size": 10}, "BAD_TYPE", "size"),
        ("Rolling", {"size": None}, "BAD_TYPE", "size"),
        ("CountByStart", {"size": 0}, "NOT_POSITIVE", "size"),
        ("CountByStart", {"size": 2.0}, "BAD_TYPE", "size"),
        ("CountByStart", {"size": True}, "BAD_TYPE", "size"),
        ("CountByStart", {"size": 2**31}, "BAD_CHOICE", "size"),
    ],
)
def test_a_wrong_argument_is_named(
    kind: str, settings: dict[str, Any], condition: str, argument: str
) -> None:
    error = PySparkTypeError if condition == "BAD_TYPE" else PySparkValueError
    with raises(condition, argument, error):
        getattr(transom, kind)(**settings)


def test_id_and_timeout_are_keywords() -> None:
    with raises("BAD_TYPE", "argument 2 of Lifetime", PySparkTypeError):
        cast("Any", transom.Lifetime)("landed", None, ["tail"])


def test_the_error_says_how_many_settings_there_are() -> None:
    with pytest.raises(PySparkValueError, match="neither of end and duration"):
        transom.Lifetime()
    with pytest.raises(PySparkValueError, match="both of end and duration"):
        transom.Lifetime("landed", duration="1 hour")
