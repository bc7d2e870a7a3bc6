"""The message of a spec, which Python and Scala read in the same way."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pyspark.sql import Column, types

import transom
from transom.spec import Apply, WindowSpec
from transom.spec.message import EVICTORS, TIMES, TRIGGERS, WINDOWS, encode

FOLDER = Path(__file__).parents[2] / "spec"
SCHEMA = json.loads((FOLDER / "window-spec.schema.json").read_text())
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("cases/*.json"))}
GOOD = {name: case for name, case in CASES.items() if "error" not in case}
BAD = {name: case for name, case in CASES.items() if "error" in case}


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
    "WindowSpec": WindowSpec,
    "timedelta": timedelta,
}

validator = jsonschema.Draft202012Validator(SCHEMA)


def test_there_are_cases_of_both_sorts() -> None:
    assert len(GOOD) > 10
    assert len(BAD) > 10


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_has_the_limits_of_the_constants() -> None:
    constants = json.loads((FOLDER / "constants.json").read_text())
    limits = {name: constant["value"] for name, constant in constants.items()}
    longest = limits["longest_duration_days"] * 24 * 60 * 60 * 1_000_000
    assert SCHEMA["properties"]["version"] == {"const": limits["message_version"]}
    durations = ("duration", "natural_duration", "positive_duration")
    assert {SCHEMA["$defs"][name]["maximum"] for name in durations} == {longest}
    assert SCHEMA["$defs"]["duration"]["minimum"] == -longest
    (calendar,) = (
        window
        for window in SCHEMA["properties"]["window"]["anyOf"]
        if window.get("properties", {}).get("kind") == {"const": "calendar"}
    )
    assert calendar["properties"]["every"]["maximum"] == limits["most_calendar_units"]


@pytest.mark.parametrize("name", GOOD)
def test_the_schema_allows_the_message(name: str) -> None:
    validator.validate(GOOD[name]["message"])


@pytest.mark.parametrize("name", GOOD)
def test_python_writes_the_message(name: str) -> None:
    message, columns = encode(eval(GOOD[name]["python"], NAMES))
    assert message == GOOD[name]["message"]
    assert columns == COLUMNS[: len(columns)]


@pytest.mark.parametrize("name", BAD)
def test_the_schema_refuses_wrong_messages_where_it_can(name: str) -> None:
    assert validator.is_valid(BAD[name]["message"]) == BAD[name].get("schema_allows", False)


def test_each_field_of_each_message_must_be_there() -> None:
    for case in GOOD.values():
        message: dict[str, Any] = case["message"]
        for field in message:
            less = {name: value for name, value in message.items() if name != field}
            assert not validator.is_valid(less)


def test_every_kind_has_a_case() -> None:
    windows = {case["message"]["window"]["kind"] for case in GOOD.values()}
    triggers = {case["message"]["trigger"]["kind"] for case in GOOD.values()}
    evictors = {(case["message"]["evictor"] or {"kind": None})["kind"] for case in GOOD.values()}
    times = {(case["message"]["time"] or {"kind": None})["kind"] for case in GOOD.values()}
    assert windows == set(WINDOWS)
    assert triggers == set(TRIGGERS)
    assert evictors - {None} == set(EVICTORS)
    assert times - {None} == set(TIMES)
    assert {case["message"]["function"]["kind"] for case in GOOD.values()} == {"agg", "apply"}
