"""Keys of every type that Spark can group by, and times of both types."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from pyspark.errors import AnalysisException, PySparkValueError
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import run_stream

START = datetime(2024, 1, 1)

# Six values of each type. Some are equal for Spark but have different bytes. A seventh is null.
KEYS: dict[str, list[str]] = {
    "boolean": ["true", "false"] * 3,
    "tinyint": ["-1Y", "0Y", "1Y", "127Y", "-128Y", "1Y"],
    "smallint": ["-1S", "0S", "1S", "32767S", "-32768S", "1S"],
    "int": ["-1", "0", "1", "2147483647", "-2147483648", "1"],
    "bigint": ["-1L", "0L", "1L", "9223372036854775807L", "2L", "1L"],
    "float": ["0F", "-0F", "float('NaN')", "-float('NaN')", "1F", "float('Infinity')"],
    "double": ["0D", "-0D", "double('NaN')", "1e-300D", "1D", "-1D"],
    "decimal(10,2)": ["0", "-0.00", "1.10", "1.1", "-1.10", "99999999.99"],
    "decimal(38,10)": ["0", "1", "-1", "1.0", "9" * 28 + ".5", "-" + "9" * 28 + ".5"],
    "string": ["''", "'a'", "'A'", "'a '", "'\\u00e9'", "'e\\u0301'"],
    "string collate UTF8_LCASE": ["'a'", "'A'", "'b'", "'B'", "''", "'aB'"],
    "string collate UNICODE_CI": ["'a'", "'A'", "'\\u00e9'", "'e\\u0301'", "'\\u00c9'", "'e'"],
    "string collate UTF8_BINARY_RTRIM": ["'a'", "'a '", "'a  '", "' a'", "''", "' '"],
    "char(3)": ["'a'", "'ab'", "'abc'", "'a'", "''", "'A'"],
    "varchar(3)": ["'a'", "'ab'", "'abc'", "'a '", "''", "'A'"],
    "binary": ["X''", "X'00'", "X'0000'", "X'FF'", "X'00FF'", "X'00'"],
    "date": [f"date'{day}'" for day in ("1969-12-31", "1970-01-01", "2024-02-29") * 2],
    "timestamp": [f"timestamp'{at}'" for at in ("1969-12-31 23:59:59.999999", "2024-01-01") * 3],
    "timestamp_ntz": [f"timestamp_ntz'{at}'" for at in ("1969-12-31 23:59:59.9", "2024-01-01") * 3],
    "interval day to second": ["interval 1 day", "interval 24 hours", "interval -1 second"] * 2,
    "interval year to month": ["interval 1 year", "interval 12 months", "interval -1 month"] * 2,
    "void": ["null"] * 6,
    "array<string>": ["array()", "array('a')", "array(null)", "array('a', 'b')"]
    + ["array('')"] * 2,
    "array<double>": ["array(0D)", "array(-0D)", "array(double('NaN'))", "array(1D)"]
    + ["array(null)"] * 2,
    "array<string collate UTF8_LCASE>": ["array('a')", "array('A')", "array('a', 'b')"] * 2,
    "array<array<int>>": ["array(array(1), array())", "array(array(), array(1))", "array()"] * 2,
    "struct<a:int,b:struct<c:string,d:double>>": [
        "named_struct('a', 1, 'b', named_struct('c', 'x', 'd', 0D))",
        "named_struct('a', 1, 'b', named_struct('c', 'x', 'd', -0D))",
        "named_struct('a', 1, 'b', null)",
        "named_struct('a', null, 'b', named_struct('c', null, 'd', null))",
        "named_struct('a', 2, 'b', named_struct('c', 'x', 'd', double('NaN')))",
        "named_struct('a', null, 'b', null)",
    ],
    "struct<a:string collate UTF8_LCASE,b:int>": [
        f"named_struct('a', {text}, 'b', {n})" for text in ("'x'", "'X'", "null") for n in (1, 2)
    ],
    "map<string,int>": [
        "map('a', 1, 'b', 2)",
        "map('b', 2, 'a', 1)",
        "map('a', 2, 'b', 1)",
        "map()",
        "map('a', null)",
        "map('a', 1)",
    ],
    "array<map<int,string>>": ["array(map(1, 'a', 2, 'b'))", "array(map(2, 'b', 1, 'a'))"] * 3,
    "struct<m:map<int,map<int,int>>>": [
        "named_struct('m', map(1, map(1, 1, 2, 2), 2, map()))",
        "named_struct('m', map(2, map(), 1, map(2, 2, 1, 1)))",
        "named_struct('m', null)",
    ]
    * 2,
}


AGGREGATES = ("count(*) AS n", "sum(id) AS sum")
NAMES = [f"key_{i}" for i in range(len(KEYS))]


def keyed(spark: SparkSession) -> DataFrame:
    """Rows for each type: the column of this type has a key, all other key columns are null."""
    kinds = list(KEYS)
    columns = [
        F.when(F.col("kind") == kind, F.expr(f"get(array({values}), cast(id % 7 AS int))"))
        .cast(kind)
        .alias(name)
        for (kind, made), name in zip(KEYS.items(), NAMES, strict=True)
        for values in [", ".join(made)]
    ]
    return (
        spark.range(70 * len(kinds))
        .withColumn("kind", F.array(*map(F.lit, kinds))[F.col("id") % len(kinds)])
        .withColumn("id", F.floor(F.col("id") / len(kinds)))
        .select(
            "id",
            "kind",
            F.expr(f"timestamp'{START}' + make_dt_interval(0, 0, 0, id % 30)").alias("time"),
            *columns,
        )
    )


def shown(name: str, kind: str) -> Column:
    """The key as text. Equal keys have the same text."""
    if "interval" in kind or kind == "void":
        return F.col(name).cast("string").alias(name)
    text = F.to_json(F.struct(F.col(name).alias("key")), {"sortMapKeys": "true"})
    if "collate" in kind:
        # UNICODE_CI ignores how accents are composed. RTRIM ignores blanks at the end.
        text = F.lower(F.collate(text, "UTF8_BINARY"))
        text = F.regexp_replace(F.replace(text, F.lit("e\u0301"), F.lit("\u00e9")), ' +"', '"')
    return text.alias(name)


def all_shown(results: DataFrame) -> DataFrame:
    return results.select(*map(shown, NAMES, KEYS), "kind", "window", "n", "sum")


def windowed(rows: DataFrame) -> transom.Windowed:
    keyed = transom.stream(rows, time="time").key_by("kind", *NAMES)
    return keyed.window(transom.Tumbling(size="10 seconds"))


def assert_keyed_as_spark(rows: DataFrame, ours: list[Row]) -> None:
    grouped = rows.groupBy("kind", *NAMES, F.window("time", "10 seconds"))
    expected = all_shown(grouped.agg(*map(F.expr, AGGREGATES))).collect()
    assert {row["kind"] for row in expected} == KEYS.keys()
    assert_same(ours, expected, "kind", *NAMES, "window")


def test_keys_of_every_type_are_grouped_as_spark_groups_them(spark: SparkSession) -> None:
    rows = keyed(spark).repartition(3).cache()
    ours = windowed(rows).agg(*map(F.expr, AGGREGATES))
    assert [ours.schema[n].dataType for n in NAMES] == [rows.schema[n].dataType for n in NAMES]
    assert_keyed_as_spark(rows, all_shown(ours).collect())
    rows.unpersist()


def test_keys_of_every_type_go_through_the_state(spark: SparkSession) -> None:
    # Parquet has no column without a type.
    (nothing,) = (name for name, kind in zip(NAMES, KEYS, strict=True) if kind == "void")
    rows = keyed(spark).drop(nothing).cache()

    def pipeline(streaming: DataFrame) -> DataFrame:
        timed = streaming.withColumn(nothing, F.lit(None)).withWatermark("time", "1 minute")
        return all_shown(windowed(timed).drain().agg(*map(F.expr, AGGREGATES)))

    batches = [rows.where(F.col("id") % 2 == part) for part in range(2)]
    outcome = run_stream(spark, pipeline, rows.schema, batches)
    assert_keyed_as_spark(rows.withColumn(nothing, F.lit(None)), outcome.results)
    rows.unpersist()


def times(spark: SparkSession, kind: str) -> DataFrame:
    rows = [(f"k{i % 3}", START + timedelta(seconds=i * 7 % 60), i) for i in range(60)]
    return spark.createDataFrame(rows, f"name string, time {kind}, value int")


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_windows_have_the_type_of_the_time(spark: SparkSession, kind: str, zone: str) -> None:
    rows = times(spark, kind)
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        ours = (
            transom.stream(rows, time="time")
            .key_by("name")
            .window(transom.Hopping(size="10 seconds", slide="4 seconds", offset="-1 second"))
            .agg(F.sum("value").alias("sum"), F.max("time").alias("last"))
        )
        window = F.window("time", "10 seconds", "4 seconds", "-1 second")
        native = rows.groupBy("name", window).agg(
            F.sum("value").alias("sum"), F.max("time").alias("last")
        )
        assert ours.schema.simpleString() == native.schema.simpleString()
        assert_same(ours.collect(), native.collect(), "name", "window")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_stream_needs_times_with_a_zone_as_sparks_watermark_does(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    streaming = rate.withColumn("wall", F.col("timestamp").cast("timestamp_ntz"))
    with pytest.raises(PySparkValueError) as error:
        transom.stream(streaming, time=transom.EventTime("wall", delay="0 seconds"))
    assert error.value.getCondition() == "TRANSOM_NOT_A_TIMESTAMP"


def test_keys_may_be_expressions_fields_and_constants(spark: SparkSession) -> None:
    rows = times(spark, "timestamp").withColumn("both", F.struct("name", "value"))
    keys = (F.upper("name").alias("upper"), F.col("both.name"), F.lit(1), F.col("value") % 2)
    ours = (
        transom.stream(rows, time="time")
        .key_by(*keys)
        .window(transom.Tumbling(size="10 seconds"))
        .agg(F.count("*").alias("n"))
    )
    assert ours.columns == ["upper", "name", "1", "(value % 2)", "window", "n"]
    selected = rows.select(*keys, "time")
    native = selected.groupBy(*selected.columns[:-1], F.window("time", "10 seconds")).count()
    assert Counter(map(tuple, ours.collect())) == Counter(map(tuple, native.collect()))


def test_keys_that_spark_cannot_group_by_are_refused(spark: SparkSession) -> None:
    rows = times(spark, "timestamp").withColumn("json", F.parse_json(F.lit("1")))
    with pytest.raises(AnalysisException) as error:
        transom.stream(rows, time="time").key_by("json").window(
            transom.Tumbling(size="10 seconds")
        ).agg(F.count("*"))
    assert error.value.getCondition() == "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE"


@pytest.mark.parametrize(
    "key",
    [
        "window(time, '10 seconds')",
        "window(time, '10 seconds', '5 seconds')",
        "window(time, '10 seconds', '5 seconds').start",
    ],
)
def test_a_key_may_be_a_window_of_spark(spark: SparkSession, key: str) -> None:
    # Spark's analyzer computes such a key, and its copies of rows, in nodes of their own.
    values = [("1970-01-01 00:00:03", 1), ("1970-01-01 00:00:17", 2), ("1970-01-01 00:01:10", 4)]
    rows = spark.createDataFrame(values, "at string, value int").select(
        F.col("at").cast("timestamp").alias("time"), "value"
    )
    column = F.expr(key).alias("key")
    by_key = transom.stream(rows, time="time", order="value").key_by(column)
    ours = by_key.window(transom.Tumbling(size="1 minute")).agg(F.sum("value").alias("sum"))
    minute = F.date_trunc("minute", "time")
    keyed_rows = rows.select(column, minute.alias("start"), "value")
    expected = keyed_rows.groupBy("key", "start").agg(F.sum("value").alias("sum"))
    assert_same(
        ours.select("key", F.col("window.start").alias("start"), "sum").collect(),
        expected.collect(),
        "key",
        "start",
    )
