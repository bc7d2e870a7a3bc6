"""A file that was listed before a crash shares a batch with the next file."""

from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

START = datetime(2024, 1, 1)
SCHEMA = "key string, time timestamp"


def counts(rows: DataFrame) -> DataFrame:
    clock = transom.EventTime("time", delay="0 seconds")
    tens = transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling("10 seconds"))
    return tens.agg(n=F.count("*"))


def row(second: int) -> tuple[str, datetime]:
    return ("a", START + timedelta(seconds=second))


def test_files_share_a_batch_after_a_crash_between_two_logs(
    spark: SparkSession, tmp_path: Path
) -> None:
    run_stream(spark, counts, SCHEMA, [[row(1)], [row(2)]], checkpoint=tmp_path)
    # The file source has logged both files. The offset log has only the first batch.
    for log in ("offsets", "commits"):
        for path in (tmp_path / "checkpoint" / log).iterdir():
            if path.name.strip(".").split(".")[0] != "0":
                path.unlink()
    assert (tmp_path / "checkpoint" / "sources" / "0" / "1").exists()
    outcome = run_stream(spark, counts, SCHEMA, [[row(3)], [row(30)]], checkpoint=tmp_path)
    # Spark reads one file in each batch, and two in the first one.
    assert [p.numInputRows for p in outcome.progress if p.numInputRows] == [2, 1]
    assert [r["n"] for r in outcome.results] == [3]
