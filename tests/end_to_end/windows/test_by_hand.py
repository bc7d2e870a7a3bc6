"""A hand-written stateful processor and the same query in transom give the same results."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers import by_hand, spark_queries
from benchmarks.queries.catalogue import QUERIES, Query
from tests.end_to_end.support.clocked import START
from tests.end_to_end.support.queries import Batch, run_stream


def test_sessions_with_early_results_are_those_of_a_processor(spark: SparkSession) -> None:
    drawn = random.Random(1)
    # The times have pauses, so that sessions close.
    times = [n * 0.02 + 6 * (n // 400) + drawn.uniform(0, 3) for n in range(2000)]
    rows = [
        (drawn.randrange(5), START + timedelta(seconds=t), 1.0 * n) for n, t in enumerate(times)
    ]
    batches: list[Batch] = [rows[n : n + 250] for n in range(0, len(rows), 250)]

    def results(render: Callable[[DataFrame, Query], DataFrame]) -> Counter[tuple[Any, ...]]:
        def pipeline(rows: DataFrame) -> DataFrame:
            result = render(rows.withWatermark("ts", "3 seconds"), QUERIES["session-early"])
            return result.select("k", "window.start", "window.end", "n", "s")

        outcome = run_stream(spark, pipeline, "k long, ts timestamp, v double", batches)
        return Counter(tuple(row) for row in outcome.results)

    ours = results(spark_queries.with_transom)
    assert ours == results(by_hand.with_state)
    assert ours.total() > 100
