"""Expressions of keys, times and substreams that fail: the row is a dead letter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from transom.spec import Layout

SCHEMA = "id int, second long, text string, n int"
DAY = transom.Tumbling(size="1 day")
TEXTS = ["1", "x", None, "2", "1", "", "99999999999", "7", None, "x"]


class Input(NamedTuple):
    id: int
    second: int
    text: str | None
    n: int


ROWS = [Input(i, i, text, i % 3) for i, text in enumerate(TEXTS)]
Model = Callable[[Input], tuple[Any, ...]]


def number(text: str | None) -> int | None:
    """The text as an int of Spark. Raises ValueError if it is none."""
    value = None if text is None else int(text)
    if value is not None and value >= 2**31:
        raise ValueError
    return value


def refused(row: Input) -> tuple[Any, ...]:
    if row.n == 0:
        raise ValueError
    return (row.text,)


def is_small(text: str | None) -> bool | None:
    value = number(text)
    return None if value is None else 1 <= value <= 2


def doubled(text: str | None) -> int | None:
    value = number(text)
    return None if value is None else 2 * value


AS_NUMBER = "cast(text AS int)"
# Keys in SQL, and the same keys in Python.
KEYS: dict[str, tuple[list[str], Model]] = {
    "cast": ([AS_NUMBER], lambda row: (number(row.text),)),
    "division": (["6 div n", "text"], lambda row: (6 // row.n, row.text)),
    "raise_error": (["if(n = 0, raise_error('zero'), text)"], refused),
    # Spark computes what `between` and the second key share once, if it can.
    "shared": (
        ["n", f"{AS_NUMBER} BETWEEN 1 AND 2", f"{AS_NUMBER} * 2"],
        lambda row: (row.n, is_small(row.text), doubled(row.text)),
    ),
    "constant": (["n + 1 div 0"], lambda row: (row.n + 1 // 0,)),
}


def expected(model: Model) -> tuple[dict[tuple[Any, ...], list[int]], list[int]]:
    """The rows of each key, and the rows whose key fails."""
    by_key: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    failed = []
    for row in ROWS:
        try:
            by_key[model(row)].append(row.id)
        except (ValueError, ZeroDivisionError):
            failed.append(row.id)
    return by_key, failed


def windowed(rows: DataFrame, *keys: str) -> transom.Windowed:
    clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
    named = [F.expr(key).alias(f"key_{i}") for i, key in enumerate(keys)]
    return transom.stream(rows, time=clock).key_by(*named).window(DAY).with_dead_letters()


def by_key(results: list[Row], keys: int) -> dict[tuple[Any, ...], list[int]]:
    return {tuple(row[f"key_{i}"] for i in range(keys)): row["ids"] for row in results}


def ids() -> Column:
    return F.sort_array(F.collect_list("id")).alias("ids")


def assert_failed(letters: list[Row], failed: list[int]) -> None:
    assert sorted(letter["row"]["id"] for letter in letters) == failed
    assert {letter["reason"] for letter in letters} == {"key_failed"}
    assert all(letter["time"] == at(letter["row"]["second"]) for letter in letters)


def at(second: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=second)


@pytest.mark.parametrize("name", KEYS)
def test_a_row_whose_key_fails_is_a_dead_letter_and_null_is_a_key(
    spark: SparkSession, name: str
) -> None:
    keys, model = KEYS[name]
    found, failed = expected(model)
    assert failed
    # This aggregate reads the expression of a key, but only where the expression has a value.
    same = F.max(F.when(F.col("text").isin("1", "2", "7"), F.expr(AS_NUMBER))).alias("same")
    tagged = windowed(spark.createDataFrame(ROWS, SCHEMA), *keys).agg(ids(), same).cache()
    results = transom.untag(tagged, "results").collect()
    assert by_key(results, len(keys)) == found
    assert_failed(transom.untag(tagged, "dead_letters").collect(), failed)


@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_a_stream_counts_rows_whose_key_fails(spark: SparkSession, layout: Layout) -> None:
    keys, model = KEYS["shared"]
    found, failed = expected(model)

    def pipeline(rows: DataFrame) -> DataFrame:
        return windowed(rows, *keys).options(layout=layout).drain().agg(ids())

    outcome = run_stream(spark, pipeline, SCHEMA, [ROWS[:4], ROWS[4:]])
    assert by_key(outcome.results, len(keys)) == found
    tagged = [row for batch in outcome.by_batch.values() for row in batch]
    assert_failed([row["dead_letters"] for row in tagged if row["dead_letters"]], failed)
    counts = outcome.observed()
    assert counts["transom_rows_in"] == len(ROWS)
    assert counts["transom_rows_with_failed_keys"] == len(failed)


def test_python_accumulators_do_not_mix_failed_keys_with_null(spark: SparkSession) -> None:
    class Listing(transom.Accumulator[tuple[list[int]]]):
        state = "held array<int>"

        def init(self) -> tuple[list[int]]:
            return ([],)

        def add(self, acc: tuple[list[int]], rows: pa.Table) -> tuple[list[int]]:
            return (acc[0] + rows["id"].to_pylist(),)

        def merge(self, left: tuple[list[int]], right: tuple[list[int]]) -> tuple[list[int]]:
            return (left[0] + right[0],)

        def result(self, acc: tuple[list[int]]) -> list[int]:
            return sorted(acc[0])

    keys, model = KEYS["cast"]
    listed = transom.udaf(Listing(), "id", returns="array<int>").alias("ids")
    tagged = windowed(spark.createDataFrame(ROWS, SCHEMA), *keys).agg(listed)
    assert by_key(transom.untag(tagged, "results").collect(), 1) == expected(model)[0]


def test_a_time_that_fails_is_no_time(spark: SparkSession) -> None:
    def counts(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime(F.to_timestamp("written"), delay="0 seconds")
        return transom.stream(rows, time=clock).window(DAY).drain().agg(F.count("*").alias("n"))

    rows = [("1970-01-01 00:00:21",), ("at noon",), (None,), ("1970-01-01 00:00:22",)]
    outcome = run_stream(spark, counts, "written string", [rows[:2], rows[2:]])
    assert [row["n"] for row in outcome.results] == [2]
    assert outcome.observed()["transom_rows_without_time"] == 2
    static = counts(spark.createDataFrame(rows, "written string"))
    assert [row["n"] for row in static.collect()] == [2]


def test_a_time_policy_takes_failed_expressions_for_null(spark: SparkSession) -> None:
    policy = transom.TimePolicy(
        F.to_timestamp("written"),
        arrival=F.to_timestamp("known"),
        over=[F.col("part").cast("int")],
    )
    good = "2024-01-01 12:00:00"
    cases = [
        (good, good, "1", []),
        ("noon", good, "1", ["no_time"]),
        (good, "noon", "1", ["no_time"]),
        (good, good, "one", ["no_substream"]),
    ]
    values = [(n, *case[:3]) for n, case in enumerate(cases)]
    rows = spark.createDataFrame(values, "n int, written string, known string, part string")
    stamped = transom.stream(rows, time=policy, order="n").stamped().orderBy("n").collect()
    assert [row["stamp"]["rules"] for row in stamped] == [case[3] for case in cases]
