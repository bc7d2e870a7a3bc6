"""Expressions that do not fit their place: the error says what to write instead."""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException, PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

import transom
from tests.python.conditions import raises
from transom._base.expressions import Delta

HOUR = transom.Tumbling(size="1 hour")


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a", datetime(2024, 1, 1), 1)], "k string, t timestamp, v int")


def test_a_sort_order_is_no_value(rows: DataFrame) -> None:
    by_time = transom.stream(rows, time="t")
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: transom.stream(rows, time="t", order=F.desc("v")), "order"),
        (lambda: transom.stream(rows, time=F.asc("t")), "time"),
        (lambda: by_time.key_by(F.col("k").desc_nulls_first()), "keys"),
    ]
    for mistake, argument in mistakes:
        with raises("BAD_TYPE", argument) as caught:
            mistake()
        assert "write -F.col('n')" in str(caught.value)


def test_conditions_are_true_or_false_and_distances_numbers(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)

    def agg(step: str, value: object) -> DataFrame:
        return getattr(windowed, step)(value).agg(F.sum("v"))  # type: ignore[no-any-return]

    def by(name: str) -> Delta:
        return lambda old, new: new[name] - old[name]

    in_python = F.udf(lambda number: number > 1, "boolean")
    mistakes: dict[tuple[str, str], list[transom.Trigger | transom.Evictor]] = {
        ("NOT_A_CONDITION", "condition"): [
            transom.When("v + count(*)"),
            transom.KeepWhere("k"),
        ],
        ("NOT_A_NUMBER", "delta"): [
            transom.AfterDelta(lambda _, new: new["k"], threshold=1),
            transom.KeepNear(by("t"), threshold=1),
        ],
        ("UNKNOWN_COLUMN", "condition"): [
            transom.When("w > 1 AND count(*) > 2"),
            transom.KeepWhere(F.max("w") > F.col("v")),
        ],
        ("UNKNOWN_COLUMN", "delta"): [
            transom.AfterDelta(by("w"), threshold=1),
            transom.KeepNear(lambda *_: F.col("v"), threshold=1),
        ],
        ("EXPRESSION_UNSUPPORTED", "condition"): [
            transom.When("v > sum(count(*))"),
            transom.When("lag(v) OVER (ORDER BY t) > v"),
            transom.When(in_python(F.count("*"))),
        ],
        ("EXPRESSION_UNSUPPORTED", "delta"): [
            transom.AfterDelta(lambda *_: F.rand(), threshold=1),
            transom.KeepNear(lambda old, _: F.sum(old["v"]), threshold=1),
        ],
    }
    for (condition, argument), values in mistakes.items():
        for value in values:
            step = "trigger" if isinstance(value, transom.Trigger) else "evictor"
            with raises(condition, argument, kind=IllegalArgumentException):
                agg(step, value)
    # Over the columns of a row, Python functions are allowed.
    agg("trigger", transom.When(in_python("v") & (F.count("*") > 2)))


def test_columns_of_windows_must_be_there_and_of_their_type(rows: DataFrame) -> None:
    stream = transom.stream(rows, time="t")
    with raises("UNKNOWN_COLUMN", "gap"):
        stream.window(transom.Session(gap=F.col("pause")))
    with raises("BAD_TYPE", "gap", PySparkTypeError):
        stream.window(transom.Session(gap=F.col("v")))
    with raises("UNKNOWN_COLUMN", "windows"):
        stream.window(transom.Custom(windows="shifts"))
    with raises("BAD_TYPE", "windows", PySparkTypeError):
        stream.window(transom.Custom(windows="t"))
    with raises("BAD_TYPE", "windows", PySparkTypeError):
        stream.window(transom.Custom(windows=F.array("t")))


def test_a_delta_makes_a_column(rows: DataFrame) -> None:
    far = transom.AfterDelta(lambda _, __: 5, threshold=1)  # type: ignore[arg-type, return-value]
    windowed = transom.stream(rows, time="t").window(HOUR).trigger(far)
    with raises("BAD_TYPE", "delta", PySparkTypeError):
        windowed.agg(F.sum("v"))


def test_text_with_an_expression_is_no_name(rows: DataFrame) -> None:
    mistakes: list[tuple[Callable[[], object], str, str]] = [
        (lambda: transom.stream(rows, time="to_timestamp(k)"), "time", "F.expr('to_timestamp(k)')"),
        (lambda: transom.stream(rows, time="t").key_by("v % 2"), "keys", "F.expr('v % 2')"),
        (lambda: transom.stream(rows, time="t", order="v desc"), "order", "write -F.col('v')"),
        (lambda: transom.stream(rows, time="t", order="-v"), "order", "write -F.col('v')"),
        (
            lambda: transom.stream(rows, time="t").key_by("k as name"),
            "keys",
            "or F.col('k').alias('name')",
        ),
        (
            lambda: transom.stream(rows, time="t").window(HOUR).agg(F.max("window.start")),
            "aggregates",
            "The window is a column of the result, so select it after agg()",
        ),
        (lambda: transom.stream(rows, time="t", order="w"), "order", "columns: 'k', 't', 'v'"),
    ]
    for mistake, argument, instead in mistakes:
        with raises("UNKNOWN_COLUMN", argument) as caught:
            mistake()
        assert str(caught.value).endswith(f"{instead}.")
    # What the errors say to write works.
    by_number = transom.stream(rows, time="t", order=-F.col("v")).key_by(F.expr("v % 2"))
    assert by_number.window(HOUR).agg(n=F.count("*")).select("n").collect() == [(1,)]


def test_a_name_with_a_dot_needs_backticks(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("a", datetime(2024, 1, 1), 1)], "`a.k` string, `a.t` timestamp, v int"
    )
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: transom.stream(rows, time=transom.EventTime("a.t")), "a.t"),
        (lambda: transom.stream(rows, time="`a.t`").key_by("a.k"), "a.k"),
        (lambda: transom.stream(rows, time="`a.t`").window(HOUR).agg(F.max("a.k")), "a.k"),
    ]
    for mistake, name in mistakes:
        with raises("UNKNOWN_COLUMN") as caught:
            mistake()
        assert str(caught.value).endswith(f"A name with a dot needs backticks: '`{name}`'.")
    by_key = transom.stream(rows, time="`a.t`").key_by("`a.k`").window(HOUR)
    assert by_key.agg(k=F.max("`a.k`")).select("k").collect() == [("a",)]


def test_a_duration_is_no_column_of_lifetimes(spark: SparkSession, rows: DataFrame) -> None:
    with raises("BAD_TYPE", "lifetime") as caught:
        transom.stream(rows, time="t", lifetime="5 minutes")
    assert str(caught.value).endswith("Use transom.Lifetime(duration='5 minutes').")
    odd = spark.createDataFrame([(datetime(2024, 1, 1), datetime(2024, 1, 2))], ["t", "5 minutes"])
    days = transom.stream(odd, time="t", lifetime="5 minutes").window(transom.Snapshot())
    (day,) = days.agg(n=F.count("*")).select("window.*").collect()
    assert (day.start, day.end) == (datetime(2024, 1, 1), datetime(2024, 1, 2))


@pytest.mark.parametrize(
    "key",
    [
        lambda: F.max("v"),
        lambda: F.explode(F.array("v")),
        lambda: F.row_number().over(Window.partitionBy("k").orderBy("v")),
        lambda: F.col("v") + F.count("*"),
    ],
)
def test_a_key_is_a_value_of_one_row(rows: DataFrame, key: Callable[[], Column]) -> None:
    with raises("BAD_TYPE", "keys", PySparkTypeError) as caught:
        transom.stream(rows, time="t").key_by("k", key())
    assert "a value of each row" in str(caught.value)


def test_a_star_is_no_key(rows: DataFrame) -> None:
    for star in ("*", F.col("*")):
        with raises("BAD_TYPE", "keys", PySparkTypeError):
            transom.stream(rows, time="t").key_by(star)


def test_an_aggregate_is_no_time_or_order(rows: DataFrame) -> None:
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: transom.stream(rows, time=F.max("t")), "time"),
        (lambda: transom.stream(rows, time=transom.TimePolicy("t", arrival=F.max("t"))), "arrival"),
        (lambda: transom.stream(rows, time="t", order=F.max("v")), "order"),
        (lambda: transom.stream(rows, time="t", lifetime=F.max("t")), "lifetime"),
    ]
    for mistake, argument in mistakes:
        with raises("BAD_TYPE", argument, PySparkTypeError) as caught:
            mistake()
        assert "no aggregate" in str(caught.value)


def test_sql_that_cannot_be_parsed_is_shown(rows: DataFrame) -> None:
    stream = transom.stream(rows, time="t")
    early = transom.AfterWatermark(early=transom.When("v > > 1"))
    mistakes: list[Callable[[], object]] = [
        lambda: stream.window(HOUR).trigger(early).agg(n=F.count("*")),
        lambda: stream.window(HOUR).evictor(transom.KeepWhere("v > > 1")).agg(n=F.count("*")),
        lambda: stream.window(HOUR).agg(n=F.expr("v > > 1")),
        lambda: stream.key_by(F.expr("v > > 1")),
        lambda: transom.stream(rows, time=F.expr("v > > 1")),
    ]
    for mistake in mistakes:
        with raises("BAD_EXPRESSION") as caught:
            mistake()
        assert "The SQL expression 'v > > 1' cannot be parsed: [PARSE_SYNTAX_ERROR]" in str(
            caught.value
        )


def test_python_has_no_conditions_over_columns(rows: DataFrame) -> None:
    with raises("BAD_FUNCTION", "merge") as caught:
        transom.reduce("v", lambda a, b: a if a > b else b)
    assert "F.when(a > b, a).otherwise(b) in place of if" in str(caught.value)
    far = transom.AfterDelta(lambda old, new: new["v"] or old["v"], threshold=1)
    with raises("BAD_FUNCTION", "delta"):
        transom.stream(rows, time="t").window(HOUR).trigger(far).agg(n=F.count("*"))


def test_python_has_no_numbers_over_columns(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)
    distances: list[Any] = [
        lambda old, new: abs(new["v"] - old["v"]),
        lambda old, new: math.fabs(new["v"] - old["v"]),
        lambda old, new: round(new["v"]) - old["v"],
    ]
    for distance in distances:
        far = transom.AfterDelta(distance, threshold=1)
        with raises("BAD_FUNCTION", "delta") as caught:
            windowed.trigger(far).agg(n=F.count("*"))
        assert "such as F.abs(a) in place of abs(a)" in str(caught.value)
    with raises("BAD_FUNCTION", "merge"):
        transom.reduce("v", lambda a, b: abs(a) + b)  # type: ignore[arg-type]


def test_an_error_of_a_distance_itself_stays_as_it_is(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)
    subtracts: Any = lambda old, new: "v" - 1  # type: ignore[operator]  # noqa: ARG005, E731
    far = transom.AfterDelta(subtracts, threshold=1)
    with pytest.raises(TypeError, match="unsupported operand"):
        windowed.trigger(far).agg(n=F.count("*"))


def test_an_aggregate_has_no_aggregate_inside(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)
    mistakes: list[Callable[[], object]] = [
        lambda: windowed.agg(n=F.sum(F.max("v"))),
        lambda: windowed.top(3, F.max("v")),
    ]
    for mistake in mistakes:
        with raises("AGGREGATE_UNSUPPORTED") as caught:
            mistake()
        assert "An aggregate of another aggregate" in str(caught.value)


def test_a_table_is_not_printed_in_an_error(rows: DataFrame) -> None:
    table = rows.toPandas()
    with raises("BAD_TYPE", "df") as caught:
        transom.stream(table, time="t")
    assert "df is <pandas.DataFrame>, of type DataFrame" in str(caught.value)
    assert str(caught.value).endswith("such as spark.createDataFrame(rows).")


def test_a_spark_function_is_no_function_of_a_window(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)
    in_pandas = pandas_udf(lambda value: value, "int")  # type: ignore[call-overload]
    for wrapped in (F.udf(lambda value: value, "int"), in_pandas):
        with raises("BAD_TYPE", "fn") as caught:
            windowed.apply(wrapped, "v int")
        assert str(caught.value).endswith("without F.udf or F.pandas_udf.")
