"""The code that Spark generates for a time policy serves all batches of a query."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.sessions import COMPILED, Reason, settings, skip_in_connect

SCHEMA = "k int, t timestamp"


def test_only_the_first_batches_compile_code(spark: SparkSession, tmp_path: Path) -> None:
    # Without an arrival column, a row arrives with its batch: at another time in each batch.
    skip_in_connect(Reason.JVM)
    compiled: list[int] = []

    def count(results: DataFrame, _: int) -> None:
        results.collect()
        compiled.append(compilations(spark))

    for minute in range(5):
        rows = spark.range(1, numPartitions=1).select(
            F.lit(1).alias("k"), F.timestamp_seconds(F.lit(60 * minute)).alias("t")
        )
        rows.write.mode("append").parquet(str(tmp_path / "input"))
    input_rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    stream = transom.stream(
        input_rows.parquet(str(tmp_path / "input")), time=transom.TimePolicy("t")
    )
    counts = stream.key_by("k").window(transom.Tumbling("1 minute")).agg(n=F.count("*"))
    writer = counts.writeStream.foreachBatch(count)
    checkpoint = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with settings(spark, COMPILED):
        checkpoint.trigger(availableNow=True).start().awaitTermination()
    first, *_, third, fourth, fifth = compiled
    assert first > 0
    assert third == fourth == fifth


def compilations(spark: SparkSession) -> int:
    """How often Spark has compiled generated code in this JVM."""
    jvm: Any = spark._jvm
    metrics = getattr(jvm.org.apache.spark.metrics.source, "CodegenMetrics$")
    compiled: int = getattr(metrics, "MODULE$").METRIC_COMPILATION_TIME().getCount()
    return compiled
