"""Spark reads from files only the columns that an operator needs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.sessions import COMPILED, Reason, settings, skip_in_connect

COLUMNS = "k long, ts timestamp, v double, a timestamp, text string, other long"
POLICY = transom.TimePolicy("ts", arrival="a", late=transom.Drop("1 minute"))

Query = Callable[[DataFrame], DataFrame]


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Path:
    """A folder of files with two columns that no query reads."""
    folder = tmp_path / "files"
    row = "1L, timestamp'2024-01-01 00:00:01', 2.5D, timestamp'2024-01-01 00:00:02', 'x', 3L"
    rows = spark.sql(f"SELECT {row}").toDF(*(column.split()[0] for column in COLUMNS.split(", ")))
    rows.coalesce(1).write.parquet(str(folder))
    return folder


def totals(time: str | transom.TimePolicy) -> Query:
    """Totals of tumbling windows."""

    def query(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=time).key_by("k")
        return stream.window(transom.Tumbling(size="10 seconds")).agg(F.sum("v").alias("s"))

    return query


def filtered(query: Query) -> Query:
    """The same query over some of the rows."""
    return lambda rows: query(rows.where("v > 0"))


QUERIES = {
    "event time": (totals("ts"), ["k", "ts", "v"]),
    "policy": (totals(POLICY), ["k", "ts", "v", "a"]),
    "filtered event time": (filtered(totals("ts")), ["k", "ts", "v"]),
    "filtered policy": (filtered(totals(POLICY)), ["k", "ts", "v", "a"]),
}


def columns_read(plan: str) -> list[str]:
    """The columns of the only scan in a physical plan."""
    (schema,) = re.findall(r"ReadSchema: struct<(.*?)>", plan)
    return [column.split(":")[0] for column in schema.split(",")]


def reads_columns_in_place(plan: str) -> bool:
    """Whether the map side reads the columns of the files, and no node between copies rows."""
    return re.search(r"MapSide [^\n]*\n[^\n]*- (\*\(\d+\) )?ColumnarToRow", plan) is not None


@pytest.mark.parametrize("name", QUERIES)
def test_of_a_static_dataframe(spark: SparkSession, files: Path, name: str) -> None:
    skip_in_connect(Reason.JVM)
    query, expected = QUERIES[name]
    result = query(spark.read.schema(COLUMNS).parquet(str(files)))
    assert columns_read(result._jdf.queryExecution().executedPlan().toString()) == expected
    assert [row.s for row in result.collect()] == [2.5]


@pytest.mark.parametrize("name", ["policy", "filtered policy"])
def test_of_a_stream(spark: SparkSession, files: Path, tmp_path: Path, name: str) -> None:
    skip_in_connect(Reason.JVM)
    query, expected = QUERIES[name]
    result = query(spark.readStream.schema(COLUMNS).parquet(str(files)))
    writer = result.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    # Only compiled code reads the columns of files in place.
    with settings(spark, COMPILED):
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
    plan = running._jsq.streamingQuery().lastExecution().executedPlan().toString()
    assert columns_read(plan) == expected
    assert reads_columns_in_place(plan) == (not name.startswith("filtered"))
