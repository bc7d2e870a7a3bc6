"""A query in Real-Time Mode that is killed twice. The module `kills` kills it more often."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.end_to_end.real_time.kills import run_kills
from tests.end_to_end.support.kafka import add_connector


def test_each_result_and_late_row_is_right_and_duplicates_are_identical(
    spark: SparkSession, tmp_path: Path
) -> None:
    add_connector(spark)
    found = run_kills(spark, tmp_path, kills=2)
    assert found.results.wrong == []
    assert found.late.wrong == []
    assert found.results.repeated > 0, "no batch was repeated"
    assert found.late.expected, "no row was late"
