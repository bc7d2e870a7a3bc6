"""A query whose result columns change goes on, and its Parquet files need a schema to be read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import add_batch, parse_schema

SCHEMA = "key string, at timestamp"
Pipeline = Callable[[DataFrame], DataFrame]


def of_spark(rows: DataFrame) -> DataFrame:
    timed = rows.withWatermark("at", "0 seconds")
    return timed.groupBy(F.window("at", "1 hour").alias("window")).agg(F.count("*").alias("n"))


def windowed(rows: DataFrame, time: str = "at") -> transom.Windowed:
    clock = transom.EventTime(time, delay="0 seconds")
    return transom.stream(rows, time=clock).window(transom.Tumbling("1 hour"))


def of_transom(rows: DataFrame) -> DataFrame:
    return windowed(rows).agg(n=F.count("*"))


def renamed(pipeline: Pipeline) -> Pipeline:
    return lambda rows: pipeline(rows).withColumnRenamed("n", "m")


def tagged(rows: DataFrame) -> DataFrame:
    return windowed(rows).with_late_rows().agg(n=F.count("*"))


def run(spark: SparkSession, folder: Path, pipeline: Pipeline, hour: int) -> DataFrame:
    """Run a query over a row of an hour more. Returns its result."""
    add_batch(folder / "in", [("a", datetime(2024, 1, 1, hour))], parse_schema(SCHEMA))
    result = pipeline(spark.readStream.schema(SCHEMA).parquet(str(folder / "in")))
    query = (
        result.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return result


@pytest.mark.parametrize(
    ("before", "after", "columns", "values"),
    [
        (of_spark, renamed(of_spark), "n long, m long", [(1, None), (None, 1)]),
        (of_transom, renamed(of_transom), "n long, m long", [(1, None), (None, 1)]),
        (of_transom, tagged, "n long, results struct<n: long>", [(1, None), (None, (1,))]),
    ],
    ids=["Spark's windows", "another name", "tagged rows"],
)
def test_spark_reads_files_with_changed_columns_by_a_schema_whose_columns_may_be_null(
    spark: SparkSession,
    tmp_path: Path,
    before: Pipeline,
    after: Pipeline,
    columns: str,
    values: list[tuple[object, object]],
) -> None:
    run(spark, tmp_path, before, 1)
    run(spark, tmp_path, before, 3)
    run(spark, tmp_path, after, 5)
    for merged in ("false", "true"):
        reader = spark.read.option("mergeSchema", merged)
        with pytest.raises((Py4JJavaError, PySparkException), match="FAILED_READ_FILE"):
            reader.parquet(str(tmp_path / "out")).collect()
    rows = spark.read.schema(columns).parquet(str(tmp_path / "out")).collect()
    assert sorted(map(tuple, rows), key=repr) == sorted(values, key=repr)


def test_the_columns_before_the_windows_keep_the_name_of_the_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    def with_others(rows: DataFrame) -> DataFrame:
        return of_transom(rows.select("at", F.lit(1).alias("more")))

    run(spark, tmp_path, of_transom, 1)
    run(spark, tmp_path, with_others, 3)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 1
    with pytest.raises(PySparkException, match="TRANSOM_SPEC_CHANGED"):
        run(
            spark,
            tmp_path,
            lambda rows: windowed(rows.withColumnRenamed("at", "time"), "time").agg(n=F.count("*")),
            5,
        )
