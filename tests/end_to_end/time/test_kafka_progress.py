"""How far a query is behind the end of a Kafka topic, by its progress."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import instant
from tests.end_to_end.support.kafka import Event, Topic


def lags(source: Any, topic: Topic) -> dict[str, int]:
    """The number of rows of each partition that are not read, for partitions that have some."""
    latest, end = (json.loads(source[name])[topic.name] for name in ("latestOffset", "endOffset"))
    lags = {partition: latest[partition] - end[partition] for partition in latest}
    return {partition: lag for partition, lag in lags.items() if lag}


def test_the_progress_has_the_lag_of_each_partition(topic: Topic) -> None:
    topic.send(Event(n, "a", instant(n), instant(n), 0 if n < 9 else 1) for n in range(12))
    rows = topic.read(startingOffsets="earliest", maxOffsetsPerTrigger=4)
    windowed = transom.stream(rows, time=transom.TimePolicy("at")).window(
        transom.Tumbling("5 seconds")
    )
    results = windowed.agg(n=F.count("*"))
    query = results.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    sources = [batch["sources"][0] for batch in query.recentProgress if batch["numInputRows"]]
    assert [lags(source, topic) for source in sources] == [{"0": 6, "1": 2}, {"0": 3, "1": 1}, {}]
    largest = [int(source["metrics"]["maxOffsetsBehindLatest"]) for source in sources]
    assert largest == [6, 3, 0]
