"""Arguments that `Windowed.apply` checks before a query exists."""

from functools import partial
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql.types import CalendarIntervalType, LongType, StructField, StructType

import transom
from tests.python.conditions import raises
from tests.python.unbound import HOURS, NUMBER, windowed
from transom._calls.applying import check_function, schema_of


def whole(rows: Any) -> Any:
    return rows


def with_context(rows: Any, context: Any) -> Any:
    return rows, context


def with_default(rows: Any, scale: int = 2) -> Any:
    return rows, scale


def of_three(rows: Any, context: Any, more: Any) -> Any:
    return rows, context, more


@pytest.mark.parametrize("function", [lambda: 1, of_three, lambda *, rows: rows])
def test_a_function_takes_rows_and_maybe_a_context(function: Any) -> None:
    with raises("BAD_FUNCTION", "fn"):
        HOURS.apply(function, NUMBER)
    with raises("BAD_TYPE", "fn"):
        HOURS.apply("rows", NUMBER)  # type: ignore[arg-type]


def test_a_context_goes_to_functions_that_cannot_do_without() -> None:
    for alone in (whole, with_default, lambda *rows: rows, partial(with_context, None)):
        assert not check_function("fn", alone)
    for function in (with_context, partial(of_three, None)):
        assert check_function("fn", function)


@pytest.mark.parametrize(
    ("schema", "condition", "kind"),
    [
        (NUMBER, None, None),
        (StructType(), "BAD_SCHEMA", None),
        (StructType([*NUMBER.fields, *NUMBER.fields]), "BAD_SCHEMA", None),
        (StructType([StructField("n", CalendarIntervalType())]), "BAD_SCHEMA", None),
        (StructType([StructField("CHANGE", LongType())]), "RESERVED_NAME", None),
        (LongType(), "BAD_TYPE", PySparkTypeError),
    ],
)
def test_a_schema_names_columns_that_arrow_has(schema: Any, condition: Any, kind: Any) -> None:
    if condition is None:
        assert schema_of("schema", schema, ("change",)) == schema
    else:
        with raises(condition, "schema", kind or PySparkValueError):
            HOURS.apply(whole, schema)


@pytest.mark.parametrize(
    ("outputs", "condition", "kind"),
    [
        ({"late": NUMBER}, "RESERVED_NAME", PySparkValueError),
        ({"a": NUMBER, "A": NUMBER}, "RESERVED_NAME", PySparkValueError),
        ({"a": StructType()}, "BAD_SCHEMA", PySparkValueError),
        (
            {"a": StructType([StructField("window", LongType())])},
            "RESERVED_NAME",
            PySparkValueError,
        ),
        ({"two words": NUMBER}, "BAD_TYPE", PySparkTypeError),
        (["a"], "BAD_TYPE", PySparkTypeError),
    ],
)
def test_outputs_have_names_and_schemas(outputs: Any, condition: str, kind: Any) -> None:
    with raises(condition, "outputs", kind):
        HOURS.apply(whole, NUMBER, outputs=outputs)


def test_state_has_a_schema_and_is_of_windows_that_do_not_merge() -> None:
    with raises("BAD_SCHEMA", "window_state"):
        HOURS.apply(whole, NUMBER, window_state=StructType())
    with raises("BAD_TYPE", "key_state"):
        HOURS.apply(whole, NUMBER, key_state=3)  # type: ignore[arg-type]
    for window in (
        transom.Session(gap="1 minute"),
        transom.Custom(windows="spans", merging=True),
    ):
        merging = windowed(window, time=transom.EventTime("at"))
        with raises("STATE_WITH_MERGING", "window_state"):
            merging.apply(whole, NUMBER, window_state=NUMBER)


@pytest.mark.parametrize("name", ["window_state", "key_state", "outputs"])
def test_a_function_with_state_or_outputs_takes_a_context(name: str) -> None:
    given: Any = {name: {"odd": NUMBER} if name == "outputs" else NUMBER}
    for function in (whole, lambda rows, context=None: rows):  # noqa: ARG005
        with raises("BAD_FUNCTION", "fn") as caught:
            HOURS.apply(function, NUMBER, **given)
        assert f"2 arguments because of {name}" in str(caught.value)


def test_what_functions_cannot_have_is_refused() -> None:
    with raises("BAD_CHOICE", "form"):
        HOURS.apply(whole, NUMBER, form="rows")  # type: ignore[arg-type]
    with raises("CONFLICT", "retract"):
        HOURS.retract().apply(whole, NUMBER)
