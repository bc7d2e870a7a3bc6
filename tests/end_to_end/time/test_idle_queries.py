"""What the progress and a listener say while a query is idle."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

import transom
from tests.end_to_end.support.queries import add_batch, parse_schema
from tests.end_to_end.support.wall_clock import Past, wait_until

INTERVAL = "spark.sql.streaming.noDataProgressEventInterval"
SCHEMA = "at timestamp"


@pytest.fixture
def _often(spark: SparkSession) -> Iterator[None]:
    """Let Spark report idle queries more often than every ten seconds."""
    assert spark.conf.get(INTERVAL) == "10000ms"
    spark.conf.set(INTERVAL, "300ms")
    yield
    spark.conf.unset(INTERVAL)


class Events(StreamingQueryListener):
    """Counts the updates with a batch, and those of an idle query."""

    def __init__(self) -> None:
        self.batches = self.idle = 0

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        assert "window" in event.progress.observedMetrics
        self.batches += 1

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802, ARG002
        self.idle += 1

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Do nothing."""


@pytest.mark.usefixtures("_often")
def test_an_idle_query_keeps_the_counts_of_its_last_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [(datetime(2024, 1, 1, 0, minute),) for minute in (1, 2, 30)]
    add_batch(tmp_path / "input", rows, parse_schema(SCHEMA))
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    clock = transom.EventTime("at", delay="1 hour")
    counts = transom.stream(stream, time=clock).window(transom.Tumbling("10 minutes"))
    events = Events()
    spark.streams.addListener(events)
    query = counts.agg(n=F.count("*")).writeStream.format("noop").start()
    try:
        query.processAllAvailable()
        wait_until(query, lambda: events.idle >= 2)
        updates = query.recentProgress
        metrics = transom.metrics(query)
    finally:
        query.stop()
        spark.streams.removeListener(events)
    with_counts = ["window" in update.observedMetrics for update in updates]
    # The listener gets a batch as progress, and an update without a batch as idle.
    idle = with_counts.count(False)
    assert with_counts == [True] * events.batches + [False] * idle
    assert idle >= 2
    assert metrics == transom.metrics(Past(updates[events.batches - 1]))
    assert metrics.earliest_open == datetime(2024, 1, 1, tzinfo=UTC)
