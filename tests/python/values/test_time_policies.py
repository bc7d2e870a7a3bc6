"""Values of time policies, and the steps of a stream that has one."""

import dataclasses
import datetime
import pickle
from datetime import timedelta
from typing import Any, cast

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql.types import LongType, StructField, StructType

import transom
from tests.python.conditions import raises
from tests.python.unbound import Rows, windowed

HOUR = transom.Tumbling(size="1 hour")
VALUES = [
    transom.Accept("1 minute"),
    transom.Drop("1 minute"),
    transom.Adjust("1 minute"),
    transom.Periodic(),
    transom.Periodic(10),
    transom.Periodic(10, every="1 minute"),
    transom.TimePolicy("at"),
    transom.TimePolicy(None),
    transom.TimePolicy("known"),
    transom.TimePolicy("at", arrival="known"),
    transom.TimePolicy("at", partition="p"),
    transom.TimePolicy("at", partition="p", partitions=["0"]),
    transom.TimePolicy("at", over=["p"]),
    transom.TimePolicy("at", over=["p", "q"]),
    transom.TimePolicy("at", over=["q", "p"]),
    transom.TimePolicy("at", early=transom.Drop("1 minute")),
    transom.TimePolicy("at", early=transom.Adjust("1 minute")),
    transom.TimePolicy("at", late=transom.Drop("1 minute")),
    transom.TimePolicy("at", late=transom.Drop("2 minutes")),
    transom.TimePolicy("at", out_of_order="1 minute"),
    transom.TimePolicy("at", out_of_order=transom.Adjust("1 minute")),
    transom.TimePolicy("at", advance=transom.Periodic(2)),
    transom.Punctuated("kind = 'cti'", at="until"),
    transom.Punctuated("kind = 'cti'", at="at"),
    transom.Punctuated("kind = 'cti' and at is not null", at="at"),
    transom.Punctuated("kind = 'cti'", at="at", beside=transom.Periodic()),
    transom.TimePolicy("at", advance=transom.Punctuated("is_cti", at="at")),
    transom.TimePolicy("at", partition="p", idle_partition="1 minute"),
    transom.TimePolicy("at", late=transom.Drop("1 minute"), estimate_arrival=True),
]


def stream(time: Any, *columns: str) -> transom.Stream:
    """A stream without a session, whose DataFrame has these columns."""
    schema = StructType([StructField(name, LongType()) for name in columns])
    return transom.Stream(Rows(schema), time, ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (transom.Drop("60 seconds"), transom.Drop(timedelta(minutes=1))),
        (transom.Adjust("1 hour"), transom.Adjust(beyond="60 minutes")),
        (transom.Periodic(), transom.Periodic(rows=1, every=None)),
        (transom.Periodic(5, every="1 day"), transom.Periodic(rows=5, every="24 hours")),
        (transom.TimePolicy("at"), transom.TimePolicy(time="at", out_of_order="0 days")),
        (
            transom.Punctuated("cti", at="t", beside=transom.Periodic()),
            transom.Punctuated(when="cti", at="t", beside=transom.Periodic(1)),
        ),
        (
            transom.TimePolicy("at", out_of_order="1 minute"),
            transom.TimePolicy("at", out_of_order=transom.Accept("60 seconds")),
        ),
        (
            transom.TimePolicy("at", over=["k", "p"]),
            transom.TimePolicy("at", over=("k", "p")),
        ),
        (
            transom.TimePolicy("at", partition="p", partitions=["1", "0"]),
            transom.TimePolicy("at", partition="p", partitions=("0", "1", "1")),
        ),
    ],
)
def test_values_are_equal_by_meaning(one: object, other: object) -> None:
    assert one == other
    assert hash(one) == hash(other)


def test_values_that_mean_something_else_differ() -> None:
    assert len(set(VALUES)) == len(VALUES)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_frozen_and_can_be_pickled(value: Any) -> None:
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_repr_of_a_value_can_be_pasted_back(value: object) -> None:
    assert eval(repr(value), {"datetime": datetime, **vars(transom)}) == value


def test_a_policy_keeps_no_list_that_may_change() -> None:
    over = ["k"]
    policy = transom.TimePolicy("at", over=over)
    over.append("p")
    assert policy.over == ("k",)


@pytest.mark.parametrize(
    ("kind", "settings", "condition", "argument"),
    [
        ("Accept", {"beyond": "-1 second"}, "NEGATIVE", "beyond"),
        ("Drop", {"beyond": "1 month"}, "BAD_DURATION", "beyond"),
        ("Adjust", {"beyond": 60}, "BAD_TYPE", "beyond"),
        ("Periodic", {"rows": 0}, "NOT_POSITIVE", "rows"),
        ("Periodic", {"rows": 2**31}, "BAD_CHOICE", "rows"),
        ("Periodic", {"rows": True}, "BAD_TYPE", "rows"),
        ("Periodic", {"every": "0 seconds"}, "NOT_POSITIVE", "every"),
        ("Periodic", {"every": 1}, "BAD_TYPE", "every"),
        ("Punctuated", {"when": True, "at": "at"}, "BAD_TYPE", "when"),
        ("Punctuated", {"when": None, "at": "at"}, "BAD_TYPE", "when"),
        ("Punctuated", {"when": "cti", "at": None}, "BAD_TYPE", "at"),
        ("Punctuated", {"when": "cti", "at": 7}, "BAD_TYPE", "at"),
        ("Punctuated", {"when": "cti", "at": "at", "beside": 1}, "BAD_TYPE", "beside"),
        (
            "Punctuated",
            {"when": "cti", "at": "at", "beside": transom.Punctuated("cti", at="at")},
            "BAD_TYPE",
            "beside",
        ),
        ("TimePolicy", {"time": 7}, "BAD_TYPE", "time"),
        ("TimePolicy", {"time": "at", "arrival": 7}, "BAD_TYPE", "arrival"),
        ("TimePolicy", {"time": "at", "partition": 7}, "BAD_TYPE", "partition"),
        ("TimePolicy", {"time": "at", "partitions": ["0"]}, "NEEDS_PARTITION", "partitions"),
        (
            "TimePolicy",
            {"time": "at", "partition": "p", "partitions": [0]},
            "BAD_TYPE",
            "partitions",
        ),
        (
            "TimePolicy",
            {"time": "at", "partition": "p", "partitions": "01"},
            "BAD_TYPE",
            "partitions",
        ),
        ("TimePolicy", {"time": "at", "over": "carrier"}, "BAD_TYPE", "over"),
        ("TimePolicy", {"time": "at", "over": [1]}, "BAD_TYPE", "over"),
        ("TimePolicy", {"time": "at", "over": None}, "BAD_TYPE", "over"),
        ("TimePolicy", {"time": "at", "early": "1 minute"}, "BAD_TYPE", "early"),
        ("TimePolicy", {"time": "at", "early": transom.Accept("1 day")}, "BAD_TYPE", "early"),
        ("TimePolicy", {"time": "at", "late": transom.Accept("1 day")}, "BAD_TYPE", "late"),
        (
            "TimePolicy",
            {"time": None, "early": transom.Drop("1 day")},
            "TOLERANCE_WITHOUT_TIME",
            "early",
        ),
        (
            "TimePolicy",
            {"time": None, "late": transom.Adjust("1 day")},
            "TOLERANCE_WITHOUT_TIME",
            "late",
        ),
        ("TimePolicy", {"time": "at", "out_of_order": "-1 day"}, "NEGATIVE", "out_of_order"),
        ("TimePolicy", {"time": "at", "out_of_order": "1 year"}, "BAD_DURATION", "out_of_order"),
        ("TimePolicy", {"time": "at", "out_of_order": None}, "BAD_TYPE", "out_of_order"),
        ("TimePolicy", {"time": "at", "advance": 5}, "BAD_TYPE", "advance"),
    ],
)
def test_a_wrong_argument_is_named(
    kind: str, settings: dict[str, Any], condition: str, argument: str
) -> None:
    error = PySparkTypeError if condition == "BAD_TYPE" else PySparkValueError
    with raises(condition, argument, error):
        getattr(transom, kind)(**settings)


def test_only_the_first_argument_may_be_positional() -> None:
    for kind, first in (
        (transom.TimePolicy, "at"),
        (transom.Periodic, 1),
        (transom.Punctuated, "cti"),
    ):
        with pytest.raises(TypeError, match="Use a keyword, as in "):
            cast("Any", kind)(first, "1 minute")


def test_windows_over_a_policy_have_event_time() -> None:
    hours = windowed(HOUR, time=transom.TimePolicy("at"))
    assert hours._spec.trigger == transom.AfterWatermark()
    hours.trigger(transom.Every("1 minute"))
    assert hours.allowed_lateness("1 minute")._spec.allowed_lateness == timedelta(minutes=1)


def test_windows_follow_partitions_or_substreams_but_not_both() -> None:
    both = stream(transom.TimePolicy("at", partition="p", over=["k"]))
    for window in (HOUR, transom.Count(size=5)):
        with raises("TIME_POLICY_UNSUPPORTED", "window"):
            both.window(window)
    stream(transom.TimePolicy("at", over=["k"])).window(HOUR)
    stream(transom.TimePolicy("at", partition="p")).window(HOUR)


def test_substreams_have_no_idle_timeout() -> None:
    hours = stream(transom.TimePolicy("at", over=["k"])).window(HOUR)
    with raises("TIME_POLICY_UNSUPPORTED", "idle_timeout"):
        hours.idle_timeout("1 minute")


@pytest.mark.parametrize("time", [None, transom.EventTime("at"), transom.ProcessingTime()])
def test_only_a_time_policy_stamps_rows(time: Any) -> None:
    with raises("NEEDS_TIME_POLICY", "stamped", PySparkValueError):
        stream(time).stamped()


@pytest.mark.parametrize("name", ["stamp", "Stamp"])
def test_the_input_may_not_have_a_stamp(name: str) -> None:
    with raises("RESERVED_NAME", "df", PySparkValueError) as caught:
        stream(transom.TimePolicy("at"), "at", name).stamped()
    assert (caught.value.getMessageParameters() or {})["column"] == repr(name)
