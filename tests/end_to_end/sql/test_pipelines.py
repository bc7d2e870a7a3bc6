"""A pipeline whose flows are SQL files. Spark's command runs it, twice."""

import os
from pathlib import Path

import pytest

from tests.end_to_end.connect.test_pipelines import PIPELINE, SETTINGS, rows_of, run, write

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="make check-long runs pipelines"
)

FLOWS = """
CREATE STREAMING TABLE flights AS
SELECT origin, to_timestamp(at) AS departed
FROM STREAM raw_flights;

CREATE STREAMING TABLE hours AS
SELECT origin, window.start AS hour, count(*) AS n
FROM STREAM flights WATERMARK departed DELAY OF INTERVAL 10 MINUTES
GROUP BY origin, transom_tumbling(departed, '1 hour');

CREATE MATERIALIZED VIEW days AS
SELECT window.start AS day, sum(n) AS n FROM hours
GROUP BY transom_tumbling(hour, '1 day');
"""

SOURCE = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()


@dp.temporary_view
def raw_flights():
    return spark.readStream.schema("origin string, at string").csv("<folder>/flights")
"""


def test_sql_files_window_a_stream_and_a_table(tmp_path: Path) -> None:
    write(tmp_path / "flows" / "flights.sql", FLOWS, tmp_path)
    write(tmp_path / "flows" / "source.py", SOURCE, tmp_path)
    write(tmp_path / "spark-pipeline.yml", PIPELINE, tmp_path)
    write(tmp_path / "conf" / "spark-defaults.conf", SETTINGS, tmp_path)
    first = "JFK,2013-01-01 05:40:00\nJFK,2013-01-01 05:45:00\nLGA,2013-01-01 06:50:00\n"
    write(tmp_path / "flights" / "0.csv", first, tmp_path)
    run(tmp_path)
    assert [(row["origin"], row["n"]) for row in rows_of(tmp_path, "hours")] == [("JFK", 2)]
    assert [row["n"] for row in rows_of(tmp_path, "days")] == [2]
    second = "JFK,2013-01-02 09:10:00\nJFK,2013-01-03 12:00:00\n"
    write(tmp_path / "flights" / "1.csv", second, tmp_path)
    run(tmp_path)
    hours = sorted((row["origin"], row["n"]) for row in rows_of(tmp_path, "hours"))
    assert hours == [("JFK", 1), ("JFK", 2), ("LGA", 1)]
    assert sorted(str(row["n"]) for row in rows_of(tmp_path, "days")) == ["1", "3"]
