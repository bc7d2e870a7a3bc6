"""The message of a spec, which Python and Scala read in the same way."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pyspark.sql import Column, types

import transom
from transom.spec import Apply, StampSpec, WindowSpec
from transom.spec.message import (
    ADVANCES,
    EVICTORS,
    TIME_RULES,
    TIMES,
    TRIGGERS,
    WINDOWS,
    encode,
    encode_stamped,
)
from transom.spec.times.idle_timeout import IdleTimeout

FOLDER = Path(__file__).parents[2] / "spec"
SCHEMA = json.loads((FOLDER / "window-spec.schema.json").read_text())
CASES = {
    str(path.relative_to(FOLDER / "cases").with_suffix("")): json.loads(path.read_text())
    for path in sorted(FOLDER.glob("cases/**/*.json"))
}
GOOD = {name: case for name, case in CASES.items() if "error" not in case}
BAD = {name: case for name, case in CASES.items() if "error" in case}


def is_stamped(name: str) -> bool:
    """Whether the message of a case describes stamped rows, and not windows."""
    return name.startswith("stamped/")


def with_defaults(case: dict[str, Any]) -> dict[str, Any]:
    """Return the message of a case, with the defaults for fields that are null."""
    return {**case["message"], **case.get("default", {})}


MESSAGES = {
    stamped: [with_defaults(case) for name, case in GOOD.items() if is_stamped(name) == stamped]
    for stamped in (False, True)
}


class Named(Column):
    """A column without a session, which equals its name. Also used as a distance function."""

    def __new__(cls, _: str) -> "Named":
        return object.__new__(cls)

    def __init__(self, name: str) -> None:
        self.called = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"Column<'{self.called}'>"

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return other == self.called if isinstance(other, str) else repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self.called)

    def __call__(self, older: Column, newer: Column) -> Column:
        raise NotImplementedError


COLUMNS = [Named(f"c{i}") for i in range(10)]
NAMES: dict[str, Any] = {
    **vars(transom),
    **{column.called: column for column in COLUMNS},
    **vars(types),
    "Apply": Apply,
    "IdleTimeout": IdleTimeout,
    "StampSpec": StampSpec,
    "WindowSpec": WindowSpec,
    "datetime": datetime,
    "timedelta": timedelta,
    "timezone": timezone,
}

VALIDATORS = {
    False: jsonschema.Draft202012Validator(SCHEMA),
    True: jsonschema.Draft202012Validator(
        {"$ref": "#/$defs/stamped_message", "$defs": SCHEMA["$defs"]}
    ),
}


@pytest.mark.parametrize("stamped", [False, True])
def test_there_are_cases_of_both_sorts(stamped: bool) -> None:  # noqa: FBT001
    assert sum(is_stamped(name) == stamped for name in GOOD) > 3
    assert sum(is_stamped(name) == stamped for name in BAD) > 3


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_has_the_limits_of_the_constants() -> None:
    constants = json.loads((FOLDER / "constants.json").read_text())
    limits = {name: constant["value"] for name, constant in constants.items()}
    longest = limits["longest_duration_days"] * 24 * 60 * 60 * 1_000_000
    assert SCHEMA["$defs"]["version"] == {"const": limits["message_version"]}
    durations = ("duration", "natural_duration", "positive_duration")
    assert {SCHEMA["$defs"][name]["maximum"] for name in durations} == {longest}
    assert SCHEMA["$defs"]["duration"]["minimum"] == -longest
    (calendar,) = (
        window
        for window in SCHEMA["$defs"]["window"]["anyOf"]
        if window["properties"]["kind"] == {"const": "calendar"}
    )
    assert calendar["properties"]["every"]["maximum"] == limits["most_calendar_units"]


@pytest.mark.parametrize("name", GOOD)
def test_the_schema_allows_the_message(name: str) -> None:
    VALIDATORS[is_stamped(name)].validate(GOOD[name]["message"])


@pytest.mark.parametrize("name", GOOD)
def test_python_writes_the_message(name: str) -> None:
    spec = eval(GOOD[name]["python"], NAMES)
    message, columns = encode_stamped(spec) if isinstance(spec, StampSpec) else encode(spec)
    assert message == with_defaults(GOOD[name])
    assert columns == COLUMNS[: len(columns)]


def test_a_default_stands_for_null() -> None:
    defaults = [
        (case["message"], name) for case in GOOD.values() for name in case.get("default", {})
    ]
    assert defaults
    assert all(message[name] is None for message, name in defaults)


@pytest.mark.parametrize("name", BAD)
def test_the_schema_refuses_wrong_messages_where_it_can(name: str) -> None:
    assert VALIDATORS[is_stamped(name)].is_valid(BAD[name]["message"]) == BAD[name].get(
        "schema_allows", False
    )


def test_each_field_of_each_message_must_be_there() -> None:
    for name, case in GOOD.items():
        message: dict[str, Any] = case["message"]
        for field in message:
            less = {other: value for other, value in message.items() if other != field}
            assert not VALIDATORS[is_stamped(name)].is_valid(less)


def test_every_kind_has_a_case() -> None:
    messages = MESSAGES[False]
    evictors = {(message["evictor"] or {"kind": None})["kind"] for message in messages}
    times = {(message["time"] or {"kind": None})["kind"] for message in messages}
    assert {message["window"]["kind"] for message in messages} == set(WINDOWS)
    assert {message["trigger"]["kind"] for message in messages} == set(TRIGGERS)
    assert evictors - {None} == set(EVICTORS)
    assert times - {None} == set(TIMES)
    assert {message["function"]["kind"] for message in messages} == {"agg", "apply"}
    assert {message["function"]["kind"] for message in MESSAGES[True]} == {"stamped"}


@pytest.mark.parametrize("messages", MESSAGES.values(), ids=["windows", "stamped"])
def test_every_rule_of_a_time_policy_has_a_case(messages: list[Any]) -> None:
    times = [message["time"] for message in messages]
    policies = [time for time in times if time and time["kind"] == "time_policy"]
    rules = [policy[name] for policy in policies for name in ("early", "late", "out_of_order")]
    assert {rule["kind"] for rule in rules if rule} == set(TIME_RULES)
    assert {policy["advance"]["kind"] for policy in policies} == set(ADVANCES)
