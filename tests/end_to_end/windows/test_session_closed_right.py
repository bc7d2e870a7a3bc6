"""A session that includes its end fires when the watermark is past the end."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from transom.spec.windows.assigners import Closed


def at(second: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


@pytest.mark.parametrize(("closed", "batch"), [("left", 2), ("right", 3)])
def test_a_session_that_includes_its_end_fires_past_it(
    spark: SparkSession, tmp_path: Path, closed: Closed, batch: int
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        by_key = transom.stream(rows, time=clock).key_by("key")
        return by_key.window(transom.Session(gap="5 seconds", closed=closed)).agg(F.count("*"))

    # The session of a ends at 10. Batch 2 has the watermark 10, and batch 3 the watermark 11.
    batches = [[("a", at(5))], [("b", at(10))], [("b", at(11))], [("b", at(12))]]
    outcome = run_stream(
        spark, pipeline, "key string, time timestamp", batches, checkpoint=tmp_path
    )
    fired = {id_ for id_, rows in outcome.by_batch.items() for row in rows if row["key"] == "a"}
    assert fired == {batch}
