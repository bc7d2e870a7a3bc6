"""On PySpark 4.2, which runs no windows in Real-Time Mode, the trigger is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.real_time import IS_SUPPORTED
from tests.end_to_end.support.sessions import Reason, skip_in_connect

MINUTES = transom.Tumbling("1 minute")


def real_time_rows(spark: SparkSession) -> DataFrame:
    """Rows of a source in memory that supports the real-time mode."""
    jvm = spark._jvm
    assert jvm is not None
    sources = jvm.org.apache.spark.sql.execution.streaming.sources
    encoder = jvm.org.apache.spark.sql.Encoders.STRING()
    source = sources.LowLatencyMemoryStream.apply(spark._jsparkSession, 1, encoder)
    rows = DataFrame(source.toDF(), spark)
    return rows.select(F.to_timestamp("value").alias("at"))


def by_watermark(rows: DataFrame) -> DataFrame:
    stream = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    return stream.window_all(MINUTES).agg(n=F.count("*"))


def by_policy(rows: DataFrame) -> DataFrame:
    return (
        transom.stream(rows, time=transom.TimePolicy("at")).window_all(MINUTES).agg(n=F.count("*"))
    )


def by_the_clock(rows: DataFrame) -> DataFrame:
    return (
        transom.stream(rows, time=transom.ProcessingTime()).window_all(MINUTES).agg(n=F.count("*"))
    )


@pytest.mark.skipif(IS_SUPPORTED, reason="Windows run in Real-Time Mode here.")
@pytest.mark.parametrize("windows", [by_watermark, by_policy, by_the_clock])
def test_windows_are_refused(
    spark: SparkSession, tmp_path: Path, windows: Callable[[DataFrame], DataFrame]
) -> None:
    skip_in_connect(Reason.JVM)
    writer: Any = windows(real_time_rows(spark)).writeStream.format("console").outputMode("update")
    checkpoint = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = checkpoint.trigger(realTime="5 seconds").start()
    with pytest.raises(StreamingQueryException, match=r"TRANSOM_REAL_TIME.*PySpark 4\.2"):
        query.awaitTermination(120)
    assert not (tmp_path / "checkpoint" / "state").exists()
