"""A query in Real-Time Mode on two executors, one of which is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.kafka.broker import broker
from tests.cluster.standalone import Standalone
from tests.end_to_end.real_time.kills import Query, Topics, batches, finish
from tests.end_to_end.support.kafka import add_connector
from tests.end_to_end.support.programs import real_time as program

# So long that the executor is lost in the middle of a batch.
BATCH = "10 seconds"
# So many results of the batch have left before.
RESULTS = 5
long = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="starts a cluster again: run by make check-long"
)


def replace_worker(cluster: Standalone) -> None:
    """Spark says of such an executor that its loss is unrelated to the tasks."""
    cluster.remove_worker()
    cluster.add_workers(1)


@pytest.mark.parametrize(
    "lose", [Standalone.kill_executor, pytest.param(replace_worker, marks=long)]
)
def test_a_query_ends_when_an_executor_is_lost_and_is_right_after_a_restart(
    spark: SparkSession, tmp_path: Path, lose: Callable[[Standalone], None]
) -> None:
    add_connector(spark)
    (tmp_path / "broker").mkdir()
    with (
        broker(tmp_path / "broker") as address,
        Standalone(tmp_path / "machines") as cluster,
        closing(Topics(spark, address, seed=0)) as topics,
    ):
        cluster.add_workers(2)
        with topics.sending(), Query(tmp_path, address, BATCH, cluster.url) as query:
            query.wait_until(lambda: batches(tmp_path) > 0)
            committed = topics.results_so_far()
            query.wait_until(lambda: topics.results_so_far() >= committed + RESULTS)
            lose(cluster)
            query.wait_for_failure()
        left = topics.results_so_far()
        with Query(tmp_path, address, BATCH, cluster.url) as query:
            with topics.sending():
                query.wait_until(lambda: topics.results_so_far() > left)
            written = finish(topics, query)
    assert written[program.RESULTS].wrong == []
    assert written[program.LATE].wrong == []
    assert written[program.RESULTS].repeated > 0, "no batch was repeated"
