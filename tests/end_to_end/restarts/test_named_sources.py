"""Sources with names, which may come and go over the same checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.sessions import settings

SETTINGS = {
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
}
HOUR = transom.Tumbling("1 hour")


@pytest.fixture(autouse=True)
def names(spark: SparkSession) -> Iterator[None]:
    """Let Spark tell sources apart by their names."""
    with settings(spark, SETTINGS):
        yield


def by_watermark(rows: DataFrame) -> DataFrame:
    stream = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    return stream.key_by("k").window(HOUR).agg(n=F.count("*"))


def idle(rows: DataFrame) -> DataFrame:
    policy = transom.TimePolicy("at")
    stream = transom.stream(rows, time=policy)
    return stream.key_by("k").window(HOUR).idle_timeout("1 day").agg(n=F.count("*"))


def by_the_clock(rows: DataFrame) -> DataFrame:
    trigger = transom.AfterWatermark(early=transom.Every("1 day", clock="processing"))
    stream = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    windows = stream.key_by("k").window(HOUR).trigger(trigger).options(name="by.the-clock")
    return windows.agg(n=F.count("*"))


def drained(rows: DataFrame) -> DataFrame:
    stream = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    return stream.key_by("k").window(HOUR).drain().agg(n=F.count("*"))


class Sources:
    """Folders that a query reads under their names."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def write(self, name: str, hour: int, minute: int) -> None:
        """Add a row to a source."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        row = {"k": "a", "at": f"2024-01-01 {hour:02}:{minute:02}:00"}
        (folder / f"{hour:02}{minute:02}.json").write_text(json.dumps(row))

    def read(self, name: str) -> DataFrame:
        """Read a source under its name."""
        reader = self.spark.readStream.name(name).schema("k string, at timestamp")
        return reader.json(str(self.folder / name))

    def run(self, windows: Callable[[DataFrame], DataFrame], *names: str) -> dict[int, int]:
        """Read all rows of some sources. Return the count of rows of each hour that has ended."""
        rows: DataFrame | None = None
        for name in names:
            rows = self.read(name) if rows is None else rows.union(self.read(name))
        assert rows is not None
        found: dict[int, int] = {}

        def keep(batch: DataFrame, _: int) -> None:
            for row in batch.collect():
                start: datetime = row["window"]["start"]
                assert start.hour not in found
                found[start.hour] = row["n"]

        writer = windows(rows).writeStream.outputMode("append").foreachBatch(keep)
        checkpoint = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        query = checkpoint.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("windows", [by_watermark, idle, by_the_clock])
def test_windows_stay_open_while_sources_come_and_go(
    spark: SparkSession, tmp_path: Path, windows: Callable[[DataFrame], DataFrame]
) -> None:
    sources = Sources(spark, tmp_path)
    sources.write("first", 10, 5)
    assert sources.run(windows, "first") == {}
    sources.write("first", 10, 15)
    sources.write("second", 10, 25)
    assert sources.run(windows, "second", "first") == {}
    sources.write("second", 11, 0)
    assert sources.run(windows, "second") == {10: 3}
    sources.write("first", 12, 0)
    assert sources.run(windows, "first", "second") == {11: 1}


def test_drain_with_names(spark: SparkSession, tmp_path: Path) -> None:
    sources = Sources(spark, tmp_path)
    for name, hour in (("first", 10), ("second", 10), ("second", 11)):
        sources.write(name, hour, 5)
    assert sources.run(drained, "first", "second") == {10: 2, 11: 1}


def test_spark_refuses_drain_over_inputs_with_watermarks_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    sources = Sources(spark, tmp_path)
    for name in ("first", "second"):
        sources.write(name, 10, 5)
    first, second = (
        sources.read(name).withWatermark("at", "0 seconds") for name in ("first", "second")
    )
    windows = transom.stream(first.union(second), time="at").window(HOUR).drain()
    writer = windows.agg(n=F.count("*")).writeStream.format("noop")
    checkpoint = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(AnalysisException, match="DUPLICATE_SOURCE_NAMES"):
        checkpoint.trigger(availableNow=True).start()
