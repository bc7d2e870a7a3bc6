"""Spark's aggregates over our windows agree with Spark's windows, or are rejected."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

import transom
from tests.end_to_end.support.aggregates import CALLS, REFUSED, sample
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect

SIZE, SLIDE = "10 seconds", "4 seconds"
SEEDS = range(20) if os.environ.get("TRANSOM_LONG") else range(1)
ROWS = 1200
QUERIES = 4

# One for each way in which Spark keeps an aggregate.
STREAMED = (
    "sum(dec38)",
    "avg(days)",
    "min(text)",
    "max(pair)",
    "max_by(text, id)",
    "bool_and(flag)",
    "sort_array(collect_set(i32))",
    "sort_array(collect_list(list))",
    "listagg(text, ', ') WITHIN GROUP (ORDER BY id)",
    "stddev(f64)",
    "regr_slope(f64, i32)",
    "percentile(f64, array(0.1, 0.5))",
    "approx_percentile(i32, 0.5)",
    "mode(text, true)",
    "approx_count_distinct(i32)",
    "hll_sketch_estimate(hll_sketch_agg(text))",
    "bitmap_count(bitmap_construct_agg(bitmap_bit_position(abs(i16))))",
    "count(*) FILTER (WHERE i32 > 3)",
    "sum(i32) / count(i64)",
)
DISTINCT = (
    "count(DISTINCT text)",
    "count(DISTINCT i32, text)",
    "sum(DISTINCT i32) FILTER (WHERE flag)",
)


@pytest.fixture(scope="module", params=SEEDS)
def rows(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[DataFrame]:
    cached = sample(spark, ROWS, request.param).cache()
    yield cached
    cached.unpersist()


def windowed(rows: DataFrame) -> transom.Windowed:
    window = transom.Hopping(size=SIZE, slide=SLIDE)
    return transom.stream(rows, time="time").key_by("name").window(window)


def assert_as_spark(rows: DataFrame, *aggregates: Column) -> None:
    ours = windowed(rows).agg(*aggregates)
    spark_s = rows.groupBy("name", F.window("time", SIZE, SLIDE)).agg(*aggregates)
    assert ours.columns == spark_s.columns
    assert_same(ours.collect(), spark_s.collect(), "name", "window")


def in_registry(spark: SparkSession) -> set[str]:
    """Names of the functions that Spark's registry describes as aggregates."""
    skip_in_connect(Reason.JVM)
    assert spark._jvm is not None
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    package = "org.apache.spark.sql.catalyst.expressions.aggregate"
    aggregate = loader.loadClass(f"{package}.AggregateFunction")

    @cache
    def is_aggregate(class_name: str) -> bool:
        return bool(aggregate.isAssignableFrom(loader.loadClass(class_name)))

    registry = spark._jsparkSession.sessionState().functionRegistry()
    names, found = registry.listFunction().iterator(), set()
    while names.hasNext():
        name = names.next()
        if name.funcName().startswith("__transom"):
            continue
        info = registry.lookupFunction(name).get()
        if info.getGroup() == "agg_funcs" or is_aggregate(info.getClassName()):
            found.add(name.funcName())
    return found


def test_every_aggregate_of_the_registry_is_called_here(spark: SparkSession) -> None:
    found = in_registry(spark)
    assert len(found) > 90
    assert found - CALLS.keys() - REFUSED.keys() == set()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(QUERIES))
def test_aggregates_agree_with_spark(spark: SparkSession, rows: DataFrame, part: int) -> None:
    known = in_registry(spark)
    calls = [call for name, called in CALLS.items() if name in known for call in called]
    assert_as_spark(rows, *(F.expr(call).alias(call) for call in calls[part::QUERIES]))


def test_aggregates_agree_with_spark_in_a_stream(spark: SparkSession, rows: DataFrame) -> None:
    plain, distinct = ([F.expr(call).alias(call) for call in c] for c in (STREAMED, DISTINCT))
    ordered = rows.drop("json", "months")
    batches = [ordered.where(F.col("id") % 3 == part) for part in range(3)]
    outcome = run_stream(
        spark,
        lambda streaming: (
            windowed(streaming.withWatermark("time", "1 hour")).drain().agg(*plain, *distinct)
        ),
        ordered.schema,
        batches,
    )
    grouped = ordered.groupBy("name", F.window("time", SIZE, SLIDE))
    # Spark cannot plan ordered and distinct aggregates in one query.
    expected = grouped.agg(*plain).join(grouped.agg(*distinct), ["name", "window"])
    assert_same(outcome.results, expected.collect(), "name", "window")


@pytest.mark.parametrize("name", REFUSED)
def test_refused_aggregates_are_refused_with_the_reason(rows: DataFrame, name: str) -> None:
    with pytest.raises(IllegalArgumentException) as error:
        windowed(rows).agg(F.expr(REFUSED[name]))
    assert error.value.getCondition() == "TRANSOM_AGGREGATE_UNSUPPORTED"
    message = error.value.getMessageParameters()
    assert message is not None
    assert name in message["aggregate"].lower()
    assert message["why"] in str(error.value)


def test_an_aggregate_in_pandas_is_refused(rows: DataFrame) -> None:
    @pandas_udf("double")  # type: ignore[call-overload, untyped-decorator]
    def middle(values: pd.Series) -> float:
        return float(values.median())

    with pytest.raises(IllegalArgumentException) as error:
        windowed(rows).agg(middle("f64"))
    assert error.value.getCondition() == "TRANSOM_AGGREGATE_UNSUPPORTED"
    assert error.value.getMessageParameters() == {
        "aggregate": "middle",
        "why": "a Python function over whole groups has no partial results",
    }


@pytest.mark.parametrize(
    "column",
    ["i32", "name", "1", "i32 + 1", "sum(i32) + i64", "sum(i32) OVER (PARTITION BY name)"],
)
def test_what_is_no_aggregate_is_refused(rows: DataFrame, column: str) -> None:
    with pytest.raises(IllegalArgumentException, match="is not an aggregate") as error:
        windowed(rows).agg(F.count("*"), F.expr(column))
    assert error.value.getCondition() == "TRANSOM_NOT_AN_AGGREGATE"


def test_the_name_of_a_column_is_no_aggregate(rows: DataFrame) -> None:
    with pytest.raises(IllegalArgumentException) as error:
        windowed(rows).agg(F.col("i32"))
    assert error.value.getCondition() == "TRANSOM_NOT_AN_AGGREGATE"
    parameters = error.value.getMessageParameters()
    assert parameters is not None
    assert parameters["expression"] == "i32"
    assert "add the column to key_by()" in parameters["fix"]


def test_a_function_of_a_row_is_no_aggregate(rows: DataFrame) -> None:
    def plus(value: int) -> int:
        return value + 1

    with pytest.raises(IllegalArgumentException, match=r"plus\(i32\) is not an aggregate") as error:
        windowed(rows).agg(F.udf(plus, "int", useArrow=False)("i32"))
    assert "use transom.udaf()" in str(error.value)


def test_an_aggregate_that_gives_several_rows_is_refused(rows: DataFrame) -> None:
    with pytest.raises(IllegalArgumentException) as error:
        windowed(rows).agg(F.explode(F.collect_list("i32")))
    assert error.value.getCondition() == "TRANSOM_AGGREGATE_UNSUPPORTED"


def test_filters_and_distinct_agree_with_spark(rows: DataFrame) -> None:
    calls = (
        "count(*) FILTER (WHERE flag)",
        "sum(f64) FILTER (WHERE i32 > 3 AND text IS NOT NULL)",
        "count(DISTINCT i32)",
        "count(DISTINCT i32, text)",
        "sum(DISTINCT i32)",
        "avg(DISTINCT i16)",
        "count(DISTINCT text) FILTER (WHERE flag)",
        "count(DISTINCT abs(i32) % 3)",
        "sort_array(collect_set(DISTINCT pair))",
    )
    assert_as_spark(rows, *(F.expr(call).alias(call) for call in calls))


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_distinct_values_in_order_agree_with_spark(rows: DataFrame, order: str) -> None:
    call = f"listagg(DISTINCT text, '-') WITHIN GROUP (ORDER BY text {order})"
    assert_as_spark(rows, F.expr(call))


def test_distinct_finds_values_equal_where_spark_does(spark: SparkSession) -> None:
    at = datetime(2024, 1, 1)
    values = [("a", 0.0), ("A", -0.0), ("b", float("nan")), ("B", float("nan")), (None, None)]
    rows = spark.createDataFrame(
        [("k", at + timedelta(seconds=i % 20), *values[i % 5]) for i in range(40)],
        "name string, time timestamp, word string collate UTF8_LCASE, number double",
    ).repartition(3)
    assert_as_spark(
        rows,
        F.count_distinct("word").alias("words"),
        F.count_distinct("number").alias("numbers"),
        F.count_distinct("word", "number").alias("both"),
        F.count_distinct(F.struct("word", "number")).alias("structs"),
        F.count_distinct(F.array("word")).alias("arrays"),
    )


def test_results_may_be_expressions_over_aggregates(rows: DataFrame) -> None:
    successor = F.udf(lambda value: None if value is None else value + 1, "long")
    columns: dict[str, Any] = {
        "ratio": F.sum("f64") / F.count("*"),
        "with a key": F.concat("name", F.lit(":"), F.max("i32").cast("string")),
        "of a key": F.expr("upper(name) || max(text)"),
        "python above": successor(F.sum("i32")),
        "python below": F.sum(successor("i32")),
        "nullif": F.expr("nullif(count(i32), 2)"),
        "between": F.expr("sum(i32) BETWEEN 0 AND 100"),
        "lambda": F.expr("aggregate(collect_list(i32), 0, (sum, x) -> sum + x)"),
        "subquery": F.expr("sum(i32) + (SELECT max(id) FROM range(5))"),
        "struct": F.struct(F.min("i32"), F.max("i32")),
    }
    assert_as_spark(rows, *(column.alias(name) for name, column in columns.items()))


def test_a_star_stands_for_the_columns_of_the_rows(rows: DataFrame) -> None:
    ordered = transom.stream(rows, time="time", order="id").key_by("name")
    latest = F.max_by(F.struct("*"), "id").alias("latest")
    ours = ordered.window(transom.Tumbling(size=SIZE)).agg(latest)
    assert ours.select("latest.*").columns == rows.columns
