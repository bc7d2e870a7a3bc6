"""Functions over windows that fail, return the wrong columns, or change between runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import SCHEMA, instant, run_clocked
from tests.python.conditions import raises
from transom.windowed import Windowed

TEN = transom.Tumbling(size="10 seconds")


@pytest.fixture
def hours(spark: SparkSession) -> Windowed:
    rows = [("a", instant(1), 7, False)]
    return (
        transom.stream(spark.createDataFrame(rows, SCHEMA), time="time").key_by("key").window(TEN)
    )


def test_a_function_that_raises_ends_the_query_and_is_named(spark: SparkSession) -> None:
    def divide(rows: pa.Table) -> pa.Table:
        return pa.table({"n": [1 / (rows.num_rows - 2)]})

    with pytest.raises(StreamingQueryException) as caught:
        run_clocked(
            spark,
            lambda stream: stream.window(TEN).apply(divide, "n double"),
            [[("a", 1, 1), ("b", 11, 2), ("b", 12, 3)], 30],
        )
    text = str(caught.value)
    assert "[TRANSOM_FUNCTION_FAILED]" in text
    assert "divide failed for key = 'b', the window from 2024-01-01 00:00:10" in text
    assert "ZeroDivisionError: float division by zero" in text or "division by zero" in text
    # The failing line. Spark's workers do not report it by themselves.
    assert "1 / (rows.num_rows - 2)" in text


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (lambda _: None, "it has the type NoneType instead of pyarrow.Table"),
        (lambda _: {"n": [1]}, "it has the type dict instead of pyarrow.Table"),
        (lambda _: pa.table({"m": [1]}), "it has the columns 'm' instead of 'n'"),
        (lambda _: pa.table({"n": [1], "m": [1]}), "it has the columns 'n', 'm' instead of 'n'"),
        (lambda _: pa.table({"n": ["1"]}), "its column 'n' has the type string instead of int32"),
        (lambda _: pa.table({"n": [1.5]}), "its column 'n' cannot be cast to int32"),
        (lambda _: pa.table({"n": [2**40]}), "its column 'n' cannot be cast to int32"),
        (lambda _: pa.table({"n": [None]}), "its column 'n' has nulls"),
    ],
)
def test_what_a_function_returns_must_have_its_schema(
    hours: Windowed, returned: Callable[[Any], Any], problem: str
) -> None:
    with pytest.raises(PythonException) as caught:
        hours.apply(returned, "n int not null").collect()
    assert "[TRANSOM_FUNCTION_SCHEMA]" in str(caught.value)
    assert problem in str(caught.value)


def test_numbers_become_those_of_the_schema(hours: Windowed) -> None:
    def numbers(_: pa.Table) -> pa.Table:
        return pa.table(
            {"f": [2], "s": pa.array(["x"]).dictionary_encode(), "a": [[1, None]], "n": [3.0]}
        )

    (row,) = hours.apply(numbers, "n short, f float, a array<int>, s string").collect()
    assert tuple(row)[2:] == (3, 2.0, [1, None], "x")


def test_a_narrower_floating_point_type_rounds(hours: Windowed) -> None:
    (row,) = hours.apply(
        lambda _: pa.table({"f": [0.1], "g": [1e300]}), "f float, g float"
    ).collect()
    assert row["f"] == pytest.approx(0.1)
    assert row["f"] != 0.1
    assert row["g"] == float("inf")


@pytest.mark.parametrize(
    ("schema", "condition"),
    [
        ("n", "BAD_SCHEMA"),
        ("n no_type", "BAD_SCHEMA"),
        ("int", "BAD_SCHEMA"),
        ("", "BAD_SCHEMA"),
        ("n int, n int", "BAD_SCHEMA"),
        ("n int, N int", "BAD_SCHEMA"),
        ("n int, KEY string", "BAD_SCHEMA"),
        ("Window int", "RESERVED_NAME"),
        ("pane int", "RESERVED_NAME"),
    ],
)
def test_a_schema_is_checked_where_it_is_given(
    hours: Windowed, schema: str, condition: str
) -> None:
    with raises(condition, "schema"):
        hours.apply(lambda rows: rows, schema)


def test_a_named_output_has_no_column_of_a_key(hours: Windowed) -> None:
    with raises("BAD_SCHEMA", "outputs"):
        hours.apply(lambda rows, _: rows, "n int", outputs={"notes": "key string"})


def test_aggregates_are_columns_that_are_there(hours: Windowed) -> None:
    with raises("BAD_TYPE", "agg"):
        hours.apply(lambda rows: rows, "n int", agg=F.count("*"))  # type: ignore[arg-type]
    with raises("BAD_TYPE", "agg"):
        hours.apply(lambda rows: rows, "n int", agg=["n"])  # type: ignore[list-item]
    with raises("UNKNOWN_COLUMN", "agg"):
        hours.apply(lambda rows: rows, "n int", agg=[F.max("nothing")])


def test_the_kind_of_function_cannot_be_changed_and_its_code_can(
    spark: SparkSession, tmp_path: Path
) -> None:
    def count(rows: pa.Table) -> pa.Table:
        return pa.table({"n": [rows.num_rows]})

    def double(rows: pa.Table) -> pa.Table:
        return pa.table({"twice": [2.0 * rows.num_rows]})

    def start(build: Callable[[Windowed], DataFrame], *steps: Any) -> list[Any]:
        outcome = run_clocked(
            spark, lambda stream: build(stream.window(TEN)), list(steps), checkpoint=tmp_path
        )
        return [tuple(row)[2:] for row in outcome.results]

    assert start(lambda w: w.apply(count, "n int"), [("a", 1, 1), ("a", 11, 1)]) == []

    def keyed(windowed: Windowed) -> Windowed:
        return windowed.options(layout="keyed")

    changes: list[tuple[str, Callable[[Windowed], DataFrame]]] = [
        ("function.kind = agg, .* function.kind = apply", lambda w: w.agg(F.count("*"))),
        ("function.kind = agg, .* function.kind = apply", lambda w: keyed(w).agg(F.count("*"))),
        ("agg = ", lambda w: keyed(w).apply(count, "n int", agg=[F.count("*")])),
    ]
    for field, other in changes:
        with pytest.raises(StreamingQueryException, match=f"TRANSOM_SPEC_CHANGED.*{field}"):
            start(other, 30)
    assert start(lambda w: w.apply(count, "n int")) == [(1,), (1,)]
    assert start(lambda w: w.apply(double, "twice double"), [("a", 41, 1)], 60) == [(2.0,)]


def test_keys_of_a_collation_come_back_as_a_row_has_them(spark: SparkSession) -> None:
    rows = [(name, datetime(2024, 1, 1)) for name in ("JFK", "jfk", "LGA")]
    df = spark.createDataFrame(rows, "origin string collate UTF8_LCASE, time timestamp")
    windows = transom.stream(df.coalesce(1), time="time").key_by("origin").window(TEN)

    def count(rows: pa.Table) -> pa.Table:
        return pa.table({"n": [rows.num_rows]})

    results = windows.apply(count, "n int").collect()
    assert sorted((row["origin"], row["n"]) for row in results) == [("JFK", 2), ("LGA", 1)]
