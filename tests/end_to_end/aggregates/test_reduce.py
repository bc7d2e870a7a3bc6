"""`reduce`: aggregates that merge values with the user's own expression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException, PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.aggregates import sample
from tests.end_to_end.support.clocked import Step, bounds, run_clocked
from tests.end_to_end.support.comparing import assert_same
from transom.spec import Layout

TEN = transom.Tumbling(size="10 seconds")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_it_gives_what_an_aggregate_of_the_same_meaning_gives(
    spark: SparkSession, layout: Layout
) -> None:
    rows = sample(spark, 300, 1).withColumn("one", F.struct("id", "text"))
    windowed = transom.stream(rows, time="time").key_by("name").window(TEN)
    pairs = {
        "sum": (transom.reduce("i32", lambda a, b: a + b), F.sum("i32").cast("int")),
        "max": (transom.reduce("text", lambda a, b: F.greatest(a, b)), F.max("text")),
        "expression": (
            transom.reduce(F.col("i64") * 2, lambda a, b: F.least(a, b)) + F.count("*"),
            F.min("i64") * 2 + F.count("*"),
        ),
        "lambda in it": (
            transom.reduce("list", lambda a, b: F.zip_with(a, b, lambda x, y: x + y)),
            F.array(*(F.sum(F.col("list")[i]) for i in (0, 1))).cast("array<int>"),
        ),
        "struct": (
            transom.reduce("one", lambda a, b: F.when(a["id"] > b["id"], a).otherwise(b)),
            F.max("one"),
        ),
    }
    reduced = windowed.options(layout=layout).agg(*(p[0].alias(n) for n, p in pairs.items()))
    known = windowed.agg(*(p[1].alias(n) for n, p in pairs.items()))
    assert_same(reduced.collect(), known.collect(), "name", "window")
    assert spark.sql("SHOW FUNCTIONS LIKE '*__transom*'").collect() == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_it_goes_on_over_batches_and_restarts(
    spark: SparkSession, layout: Layout, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        product = transom.reduce("value", lambda a, b: a * b)
        return stream.window(TEN).options(layout=layout).agg(product.alias("product"))

    steps: list[Step] = [[("a", 1, 2), ("b", 1, 5), ("a", 2, 3)], [("a", 9, 7), ("a", 11, 4)]]
    assert run_clocked(spark, pipeline, steps, checkpoint=tmp_path).results == []
    results = run_clocked(spark, pipeline, [[("b", 3, 2)], 30], checkpoint=tmp_path).results
    assert sorted((row["key"], bounds(row)[1], row["product"]) for row in results) == [
        ("a", 10, 42),
        ("a", 20, 4),
        ("b", 10, 10),
    ]


def test_nulls_are_left_out(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("a", None), ("a", 3), ("a", None), ("a", 4), ("b", None)], "k string, v int"
    )
    windowed = transom.stream(rows).key_by("k").window(transom.Global())
    total = transom.reduce("v", lambda a, b: a + b).alias("total")
    results = windowed.trigger(transom.EndOfStream()).agg(total).collect()
    assert {row["k"]: row["total"] for row in results} == {"a": 7, "b": None}


@pytest.mark.parametrize(
    ("merge", "why"),
    [
        (lambda a, b: (a + b).cast("long"), "of type INT into a value of type BIGINT"),
        (lambda a, b: a + b + F.col("w"), "reads w next to"),
    ],
)
def test_what_cannot_be_merged_is_refused(spark: SparkSession, merge: Any, why: str) -> None:
    rows = spark.createDataFrame([(1, 2)], "v int, w int")
    windowed = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    with pytest.raises(IllegalArgumentException, match=why) as error:
        windowed.agg(transom.reduce("v", merge))
    assert error.value.getCondition() == "TRANSOM_AGGREGATE_UNSUPPORTED"


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("merge", [max, lambda a: a, 3])
def test_what_makes_no_column_of_two_is_refused(merge: Any) -> None:
    with pytest.raises(PySparkTypeError) as error:
        transom.reduce("v", merge)
    assert error.value.getCondition() == "TRANSOM_BAD_TYPE"
