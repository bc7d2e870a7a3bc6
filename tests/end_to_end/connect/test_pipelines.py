"""A pipeline whose flows window each other. Spark's command runs it, twice."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

import transom

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="make check-long runs pipelines"
)

FLOWS = """
import pyarrow as pa
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

import transom

spark = SparkSession.active()


@dp.table
def flights():
    return spark.readStream.schema("origin string, departed string").csv("<folder>/flights")


@dp.table
def hours():
    departed = transom.EventTime(F.to_timestamp("departed"), delay="10 minutes")
    stream = transom.stream(spark.readStream.table("flights"), time=departed).key_by("origin")
    return stream.window(transom.Tumbling(size="1 hour")).agg(F.count("*").alias("n"))


@dp.table
def days():
    ended = transom.EventTime("window", delay="0 seconds")
    stream = transom.stream(spark.readStream.table("hours"), time=ended)
    return stream.window(transom.Tumbling(size="1 day")).agg(F.max("n").alias("most"))


def count_all(rows, context):
    seen = (context.key_state["seen"] or 0) + rows.num_rows
    context.key_state["seen"] = seen
    return pa.table({"seen": [seen]})


@dp.table
def flights_so_far():
    schema = StructType([StructField("seen", LongType())])
    departed = transom.EventTime(F.to_timestamp("departed"), delay="10 minutes")
    stream = transom.stream(spark.readStream.table("flights"), time=departed).key_by("origin")
    return stream.window(transom.Tumbling("1 hour")).apply(count_all, schema, key_state=schema)


@dp.table
def first_flights():
    departed = transom.EventTime(F.to_timestamp("departed"), delay="10 minutes")
    stream = transom.stream(spark.readStream.table("flights"), time=departed).key_by("origin")
    return stream.window(transom.Tumbling("1 hour")).top(1, "departed")
"""

PIPELINE = """
name: flights
storage: file://<folder>/storage
libraries:
  - glob:
      include: flows/**
"""

SETTINGS = """
spark.jars <jar>
spark.sql.extensions transom.spark.Extensions
spark.connect.extensions.relation.classes transom.spark.ConnectRelations
spark.sql.streaming.stateStore.providerClass <provider>
spark.sql.catalogImplementation hive
spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:;databaseName=<folder>/catalog;create=true
spark.sql.warehouse.dir <folder>/tables
spark.sql.shuffle.partitions 1
spark.sql.session.timeZone UTC
spark.ui.enabled false
"""


def write(path: Path, text: str, folder: Path) -> None:
    values = {
        "folder": str(folder),
        "jar": transom.jar_path(),
        "provider": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    }
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def run(folder: Path) -> None:
    home = Path(pyspark.__file__).parent
    done = subprocess.run(
        [home / "bin" / "spark-pipelines", "run"],
        cwd=folder,
        env=os.environ
        | {
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "PYSPARK_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def rows_of(folder: Path, table: str) -> list[dict[str, object]]:
    files = sorted((folder / "tables" / table).glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_a_flow_windows_another_and_a_second_run_continues(tmp_path: Path) -> None:
    write(tmp_path / "flows" / "flows.py", FLOWS, tmp_path)
    write(tmp_path / "spark-pipeline.yml", PIPELINE, tmp_path)
    write(tmp_path / "conf" / "spark-defaults.conf", SETTINGS, tmp_path)
    first = "JFK,2024-01-01 05:40:00\nJFK,2024-01-01 05:45:00\nLGA,2024-01-01 06:50:00\n"
    write(tmp_path / "flights" / "0.csv", first, tmp_path)
    run(tmp_path)
    assert sorted((row["origin"], row["n"]) for row in rows_of(tmp_path, "hours")) == [("JFK", 2)]
    assert rows_of(tmp_path, "days") == []
    second = "JFK,2024-01-02 09:10:00\nJFK,2024-01-03 12:00:00\n"
    write(tmp_path / "flights" / "1.csv", second, tmp_path)
    run(tmp_path)
    assert sorted((row["origin"], row["n"]) for row in rows_of(tmp_path, "hours")) == [
        ("JFK", 1),
        ("JFK", 2),
        ("LGA", 1),
    ]
    assert [row["most"] for row in rows_of(tmp_path, "days")] == [2]
    assert sorted((row["origin"], row["seen"]) for row in rows_of(tmp_path, "flights_so_far")) == [
        ("JFK", 2),
        ("JFK", 3),
        ("LGA", 1),
    ]
    assert sorted(
        (row["origin"], row["departed"], row["rank"]) for row in rows_of(tmp_path, "first_flights")
    ) == [
        ("JFK", "2024-01-01 05:40:00", 1),
        ("JFK", "2024-01-02 09:10:00", 1),
        ("LGA", "2024-01-01 06:50:00", 1),
    ]
