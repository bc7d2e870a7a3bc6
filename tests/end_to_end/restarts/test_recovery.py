"""Two procedures of the pages on operations: go back to a copy, and cut between two queries."""

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, add_batch, parse_schema

SCHEMA = "key string, time timestamp, value int"
START = datetime(2024, 1, 1)
# Key, second of the window's start and end, and the total of a result.
Total = tuple[str, int, int, int]


def batch(*rows: tuple[str, int, int]) -> Batch:
    return [(key, START + timedelta(seconds=second), value) for key, second, value in rows]


# The third batch fires the windows that end at 10, the fifth those that end at 20 and 30.
BATCHES = [
    batch(("a", 1, 1), ("b", 2, 2)),
    batch(("a", 9, 4), ("b", 12, 8)),
    batch(("a", 19, 16)),
    batch(("a", 21, 32), ("b", 13, 64)),
    batch(("b", 39, 128)),
]


def totals(rows: DataFrame, size: int = 10) -> DataFrame:
    clock = transom.EventTime("time", delay="9 seconds")
    window = transom.Tumbling(timedelta(seconds=size))
    windowed = transom.stream(rows, time=clock).key_by("key").window(window)
    return windowed.agg(total=F.sum("value"))


def twice(rows: DataFrame) -> DataFrame:
    """A bad deployment: it counts each value twice, which the stored spec does not show."""
    return totals(rows.withColumn("value", F.col("value") * 2))


class Deployment:
    """A query over the files in a folder, whose results a sink stores in another."""

    def __init__(self, spark: SparkSession, folder: Path, sink: str) -> None:
        self.spark = spark
        self.input, self.out = folder / "input", folder / "out"
        self.checkpoint = folder / "checkpoint"
        self.sink = sink

    def arrive(self, batches: list[Batch]) -> None:
        for rows in batches:
            add_batch(self.input, rows, parse_schema(SCHEMA))

    def run(self, pipeline: Callable[[DataFrame], DataFrame]) -> None:
        files = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        writer = pipeline(files.parquet(str(self.input))).writeStream
        if self.sink == "files":
            writer = writer.format("parquet").option("path", str(self.out))
        else:
            writer = writer.foreachBatch(self.save)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(300)

    def save(self, rows: DataFrame, batch_id: int) -> None:
        rows.write.mode("overwrite").parquet(f"{self.out}/batch={batch_id}")

    def results(self) -> list[Total]:
        return sorted(
            (
                row["key"],
                (row["window"]["start"] - START).seconds,
                (row["window"]["end"] - START).seconds,
                row["total"],
            )
            for row in self.spark.read.parquet(str(self.out)).collect()
        )


EXPECTED = [
    ("a", 0, 10, 5),
    ("a", 10, 20, 16),
    ("a", 20, 30, 32),
    ("b", 0, 10, 2),
    ("b", 10, 20, 72),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sink", ["files", "foreachBatch"])
def test_a_copy_undoes_a_bad_deployment(spark: SparkSession, tmp_path: Path, sink: str) -> None:
    query = Deployment(spark, tmp_path, sink)
    query.arrive(BATCHES[:3])
    query.run(totals)
    assert query.results() == [each for each in EXPECTED if each[1] == 0]
    copy = tmp_path / "copy"
    shutil.copytree(query.checkpoint, copy / "checkpoint")
    if sink == "files":
        shutil.copytree(query.out / "_spark_metadata", copy / "log")

    query.arrive(BATCHES[3:4])
    query.run(twice)
    query.arrive(BATCHES[4:])
    query.run(twice)
    wrong = query.results()
    assert ("a", 20, 30, 64) in wrong
    assert ("b", 10, 20, 8 + 2 * 64) in wrong

    shutil.rmtree(query.checkpoint)
    shutil.copytree(copy / "checkpoint", query.checkpoint)
    if sink == "files":
        shutil.rmtree(query.out / "_spark_metadata")
        shutil.copytree(copy / "log", query.out / "_spark_metadata")
    else:
        last = max(int(commit.name) for commit in (copy / "checkpoint/commits").glob("[0-9]*"))
        for written in query.out.glob("batch=*"):
            if int(written.name.removeprefix("batch=")) > last:
                shutil.rmtree(written)
    query.run(totals)
    assert query.results() == EXPECTED


def test_two_queries_that_are_cut_at_an_end_lose_no_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The new query has windows of 5 seconds. The cut is at 20."""
    old = Deployment(spark, tmp_path / "old", "files")
    old.arrive(BATCHES)
    old.run(totals)
    new = Deployment(spark, tmp_path / "new", "files")
    # Rows before the cut by at least the size of a window: all since the second batch.
    new.arrive(BATCHES[1:])
    new.run(lambda rows: totals(rows, size=5))
    before = [each for each in old.results() if each[2] <= 20]
    after = [each for each in new.results() if each[1] >= 20]
    assert before == [each for each in EXPECTED if each[2] <= 20]
    assert after == [("a", 20, 25, 32)]
