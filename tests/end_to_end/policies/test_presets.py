"""Presets give what the documents of their systems print, and joined rows have the later time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.conformance import atlas, azure
from tests.end_to_end.conformance.outcomes import difference
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.seeds import vector

LATE = "eventsLateArrivalMaxDelayInSeconds"
OUT_OF_ORDER = "eventsOutOfOrderMaxDelayInSeconds"
# The settings of a job, by vector. Where it has none, Azure has defaults.
JOBS: dict[str, dict[str, Any]] = {
    "asa-01a-twelve-events-all-policies": {LATE: 300, OUT_OF_ORDER: 120},
    "asa-01c-twelve-events-substreams": {LATE: 300, OUT_OF_ORDER: 120, "over": ["deviceId"]},
    "asa-01e-twelve-events-defaults": {},
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_of_azure_adjusts_the_times_of_the_table(spark: SparkSession, name: str) -> None:
    example = vector(name)
    table = azure.rows_of(example)
    rows = spark.createDataFrame(table.rows, table.schema)
    job = transom.azure.stream(rows, arrival="arrival_time", timestampBy="event_time", **JOBS[name])
    stamps = [azure.stamp_of(example, row) for row in job.stamped().collect()]
    assert sorted(stamps, key=lambda stamp: int(stamp["seq"])) == azure.stamps_of(example)


def test_a_window_of_atlas_waits_three_seconds_for_late_documents(spark: SparkSession) -> None:
    example = vector("atlas-10-default-lateness-3s")
    rows = atlas.rows_of(example)

    def pipeline(read: DataFrame) -> DataFrame:
        documents = transom.atlas.stream(read, timeField="event_time").key_by(
            F.col("key").alias("partition")
        )
        windows = transom.atlas.tumblingWindow(documents, interval={"size": 5, "unit": "minute"})
        return windows.with_late_rows(partly=True).agg(
            F.sort_array(F.collect_list("seq")).alias("seqs")
        )

    outcome = run_stream(spark, pipeline, rows.schema, [[row] for row in rows.rows])
    tagged = [row for batch in outcome.by_batch.values() for row in batch]
    wanted = [atlas.wanted_of(output, dated=False) for output in example["expected"]["outputs"]]
    assert wanted
    assert difference("results", wanted, atlas.results_of(tagged)) is None
    assert atlas.problem_of_late_rows(example, "of the preset", tagged) is None


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


def test_joined_rows_of_one_batch_are_on_time_in_the_order_of_their_times(
    spark: SparkSession,
) -> None:
    times = [datetime(2024, 1, 1, 12) + timedelta(minutes=7 * n) for n in range(60)]

    def late(*, order: bool) -> int:
        def pipeline(rows: DataFrame) -> DataFrame:
            def side(kind: str) -> DataFrame:
                chosen = rows.where(F.col("kind") == kind).select("id", F.col("at").alias(kind))
                return chosen.withWatermark(kind, "30 minutes")

            joined = side("order").join(side("payment"), "id")
            later = F.greatest("order", "payment")
            policy = transom.TimePolicy(later, out_of_order="30 minutes")
            stream = transom.stream(joined, time=policy, order=later if order else ())
            windows = stream.window(transom.Tumbling(size="5 minutes")).with_late_rows()
            return windows.agg(n=F.count("*"))

        batch = [(kind, n, time) for n, time in enumerate(times) for kind in ("order", "payment")]
        return len(run_stream(spark, pipeline, "kind string, id int, at timestamp", [batch]).late)

    assert late(order=True) == 0
    assert late(order=False) > 0


def test_a_left_anti_join_does_not_run_over_two_streams(spark: SparkSession) -> None:
    def side(name: str) -> DataFrame:
        rates = spark.readStream.format("rate").load().withColumnRenamed("timestamp", name)
        return rates.withWatermark(name, "1 minute")

    left = side("started").join(side("stopped"), "value", "left_anti")
    with pytest.raises(AnalysisException, match=r"(?i)left.?anti"):
        left.writeStream.format("noop").start()
