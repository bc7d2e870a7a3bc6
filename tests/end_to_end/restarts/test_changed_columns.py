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


def windowed(rows: DataFrame) -> transom.Windowed:
    clock = transom.EventTime("at", delay="0 seconds")
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


@pytest.mark.sampled(3)
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
    # From Spark 4.3 on, all columns of Spark's own windows may be null.
    required = before is not of_spark or spark.version < "4.3"
    for merged in ("false", "true") if required else ():
        reader = spark.read.option("mergeSchema", merged)
        with pytest.raises((Py4JJavaError, PySparkException), match="FAILED_READ_FILE"):
            reader.parquet(str(tmp_path / "out")).collect()
    rows = spark.read.schema(columns).parquet(str(tmp_path / "out")).collect()
    assert sorted(map(tuple, rows), key=repr) == sorted(values, key=repr)


def by_key(rows: DataFrame, time: str = "at", key: str = "key", read: str = "key") -> DataFrame:
    clock = transom.EventTime(time, delay="0 seconds")
    keyed = transom.stream(rows, time=clock).key_by(key)
    return keyed.window(transom.Tumbling("1 hour")).agg(n=F.max(read))


def test_the_time_the_keys_and_the_columns_of_aggregates_keep_their_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    run(spark, tmp_path, by_key, 1)
    run(spark, tmp_path, lambda rows: by_key(rows.withColumn("more", F.lit(1))), 3)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 1
    changes: list[Pipeline] = [
        lambda rows: by_key(rows.withColumnRenamed("at", "other"), time="other"),
        lambda rows: by_key(rows.withColumn("other", F.col("key")), key="other"),
        lambda rows: by_key(rows.withColumn("other", F.col("key")), read="other"),
    ]
    for hour, change in enumerate(changes, 5):
        with pytest.raises(PySparkException, match="TRANSOM_SPEC_CHANGED"):
            run(spark, tmp_path, change, hour)
