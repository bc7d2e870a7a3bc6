"""Which queries need Python in Spark's workers, and which calls a failed batch repeats."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import instant
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect
from transom.windowed import Windowed

SCHEMA = "key string, time timestamp, value int"
ROWS = [("a", instant(1), 1), ("a", instant(11), 2), ("a", instant(30), 4)]


def tens(rows: DataFrame) -> Windowed:
    clock = transom.EventTime("time", delay="0 seconds")
    stream = transom.stream(rows, time=clock).key_by("key")
    return stream.window(transom.Tumbling("10 seconds"))


def whole(rows: pa.Table) -> pa.Table:
    return rows.select(["value"])


def test_aggregates_of_spark_need_no_python_in_the_workers(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_in_connect(Reason.PROCESS)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python/here")

    def aggregated(rows: DataFrame) -> DataFrame:
        flags = transom.reduce("value", lambda a, b: a.bitwiseOR(b))
        return tens(rows).agg(n=F.count("*"), flags=flags)

    results = run_stream(spark, aggregated, SCHEMA, [ROWS]).results
    assert [(row["n"], row["flags"]) for row in results] == [(1, 1), (1, 2)]
    with pytest.raises(StreamingQueryException, match="/no/python/here"):
        run_stream(spark, lambda rows: tens(rows).apply(whole, "value int"), SCHEMA, [ROWS])


def test_a_failed_batch_calls_the_function_again_for_its_windows(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"

    def noted(rows: pa.Table, context: transom.Context) -> pa.Table:
        assert context.window is not None
        with calls.open("a") as file:
            file.write(f"{context.window.start:%S}\n")
        return rows.select(["value"])

    def pipeline(rows: DataFrame) -> DataFrame:
        return tens(rows).apply(noted, "value int")

    def fail(rows: DataFrame, batch_id: int) -> None:
        if rows.collect():
            raise ValueError(f"batch {batch_id} cannot be written")

    with pytest.raises(StreamingQueryException, match="batch 1 cannot be written"):
        run_stream(spark, pipeline, SCHEMA, [ROWS], checkpoint=tmp_path, writer=fail)
    assert Counter(calls.read_text().split()) == {"00": 1, "10": 1}
    results = run_stream(spark, pipeline, SCHEMA, [], checkpoint=tmp_path).results
    assert [row["value"] for row in results] == [1, 2]
    assert Counter(calls.read_text().split()) == {"00": 2, "10": 2}
