"""Presets give what the documents of their systems print, and joined rows have the later time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.time import test_atlas, test_azure

LATE = "eventsLateArrivalMaxDelayInSeconds"
OUT_OF_ORDER = "eventsOutOfOrderMaxDelayInSeconds"
# The settings of a job, by vector. Where it has none, Azure has defaults.
JOBS: dict[str, dict[str, Any]] = {
    "asa-01a-twelve-events-all-policies": {LATE: 300, OUT_OF_ORDER: 120},
    "asa-01c-twelve-events-substreams": {LATE: 300, OUT_OF_ORDER: 120, "over": ["device"]},
    "asa-01e-twelve-events-defaults": {},
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_of_azure_adjusts_the_times_of_the_table(spark: SparkSession, name: str) -> None:
    rows = spark.createDataFrame(test_azure.events(name), test_azure.SCHEMA)
    job = transom.azure.stream(rows, arrival="arrival", timestampBy="event", **JOBS[name])
    assert test_azure.got(job.stamped().collect()) == test_azure.expected(name)


def test_a_window_of_atlas_waits_three_seconds_for_late_documents(spark: SparkSession) -> None:
    name = "atlas-10-default-lateness-3s"

    def pipeline(rows: DataFrame) -> DataFrame:
        windows = transom.atlas.tumblingWindow(
            transom.atlas.stream(rows, timeField="at"), interval={"size": 5, "unit": "minute"}
        )
        return windows.with_late_rows(partly=True).agg(
            F.sort_array(F.collect_list("seq")).alias("seqs")
        )

    batches = [[event] for event in test_atlas.events(name)]
    outcome = run_stream(spark, pipeline, test_atlas.SCHEMA, batches)
    assert test_atlas.results(outcome.results) == test_atlas.expected_results(name)
    assert test_atlas.late(outcome.late) == test_atlas.expected_late(name)


def test_the_later_time_of_two_joined_rows_is_the_time_of_the_result(spark: SparkSession) -> None:
    def at(minute: int) -> datetime:
        return datetime(2024, 1, 1, 12, minute)

    def pipeline(rows: DataFrame) -> DataFrame:
        def side(kind: str) -> DataFrame:
            chosen = rows.where(F.col("kind") == kind).select("id", F.col("at").alias(kind))
            return chosen.withWatermark(kind, "30 minutes")

        joined = side("order").join(side("payment"), "id")
        later = transom.TimePolicy(F.greatest("order", "payment"), out_of_order="30 minutes")
        windows = transom.stream(joined, time=later).window(transom.Tumbling(size="5 minutes"))
        return windows.drain().agg(F.sort_array(F.collect_list("id")).alias("ids"))

    batches = [
        [("order", 1, at(1)), ("payment", 2, at(4)), ("order", 3, at(8))],
        [("payment", 1, at(6)), ("order", 2, at(2)), ("payment", 3, at(9))],
    ]
    outcome = run_stream(spark, pipeline, "kind string, id int, at timestamp", batches)
    found = {row["window"]["start"]: row["ids"] for row in outcome.results}
    assert found == {at(0): [2], at(5): [1, 3]}
