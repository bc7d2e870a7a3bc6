"""Spark's own tool spreads the state of a stopped query over another number of partitions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.restarts.crashes.kinds import KINDS
from tests.end_to_end.restarts.crashes.kinds import SCHEMA as KIND_SCHEMA
from tests.end_to_end.restarts.crashes.runs import write_input, write_next_file
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect

SCHEMA = "key string, at timestamp"
KEYS = [f"k{n}" for n in range(8)]


def repartition(spark: SparkSession, folder: Path, partitions: int) -> None:
    """Change the number of state partitions of each operator of a stopped query."""
    skip_in_connect(Reason.JVM)
    spark._streamingCheckpointManager.repartition(str(folder / "checkpoint"), partitions)


def partitions(folder: Path) -> list[set[str]]:
    """The numbers of the state partitions of each operator."""
    operators = sorted((folder / "checkpoint" / "state").glob("[0-9]*"))
    return [{path.name for path in operator.glob("[0-9]*")} for operator in operators]


def by_event_time(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    clock = transom.EventTime("at", delay="10 minutes")
    return transom.stream(rows, time=clock).key_by("key").window(window)


def by_policy(rows: DataFrame) -> DataFrame:
    part = F.when(F.col("key").isin(KEYS[:4]), "0").otherwise("1")
    policy = transom.TimePolicy("at", partition=part, idle_partition="1 second", out_of_order="1 h")
    hours = transom.stream(rows, time=policy).key_by("key").window(transom.Tumbling("1 hour"))
    return hours.agg(n=F.count("*"))


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "slices": lambda rows: by_event_time(rows, transom.Tumbling("1 hour")).agg(n=F.count("*")),
    "keyed": lambda rows: (
        by_event_time(rows, transom.Tumbling("1 hour")).options(layout="keyed").agg(n=F.count("*"))
    ),
    "sessions": lambda rows: by_event_time(rows, transom.Session("30 minutes")).agg(n=F.count("*")),
}


@pytest.mark.parametrize("name", QUERIES)
def test_each_key_keeps_its_state_when_spark_changes_the_number_of_partitions(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    def batch(minute: int) -> list[tuple[str, datetime]]:
        return [(key, datetime(2024, 1, 1, 5, minute)) for key in KEYS]

    first = run_stream(spark, QUERIES[name], SCHEMA, [batch(10), batch(20)], checkpoint=tmp_path)
    assert first.results == []
    repartition(spark, tmp_path, 5)
    last = [("z", datetime(2024, 1, 1, 7))]
    found = run_stream(spark, QUERIES[name], SCHEMA, [batch(30), last], checkpoint=tmp_path)
    assert sorted((row["key"], row["n"]) for row in found.results) == [(key, 3) for key in KEYS]
    assert {row["window"]["end"] for row in found.results} == {datetime(2024, 1, 1, 6)}
    assert partitions(tmp_path) == [{str(n) for n in range(5)}]


# Queries that a run does not drain go on over the same checkpoint.
CONTINUED = [name for name, kind in KINDS.items() if not kind.drains and kind.layout != "Spark"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", CONTINUED if LONG else ["policy-sessions", "lifetimes", "policy-substreams"]
)
def test_a_query_over_other_partitions_gives_the_results_of_one_that_was_not_stopped(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """The two runs have the same batches."""
    write_input(tmp_path / "all")
    write_next_file(tmp_path / "all")
    files = sorted((tmp_path / "all").iterdir())

    def run(folder: Path, files: list[Path]) -> list[object]:
        (folder / "input").mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy2(file, folder / "input" / file.name)
        outcome = run_stream(spark, KINDS[name].query, KIND_SCHEMA, [], checkpoint=folder)
        return [row for _, rows in sorted(outcome.by_batch.items()) for row in rows]

    whole = run(tmp_path / "whole", files)
    stopped = tmp_path / "stopped"
    rows = run(stopped, files[:2])
    repartition(spark, stopped, 5)
    rows += run(stopped, files[2:])
    assert len(whole) > 5
    assert sorted(map(repr, rows)) == sorted(map(repr, whole))
    assert all(found == {str(n) for n in range(5)} for found in partitions(stopped))
