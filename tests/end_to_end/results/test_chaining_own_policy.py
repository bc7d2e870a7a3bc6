"""Second windows with a policy of their own, over the results of several keys in a batch."""

from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, run_stream

START = datetime(2024, 1, 1)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def test_results_of_one_batch_are_on_time_in_the_order_of_their_windows(
    spark: SparkSession,
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        tens = transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling("10 seconds"))
        counts = tens.agg(n=F.count("*"))
        own = transom.TimePolicy(F.window_time("window"))
        second = transom.stream(counts, time=own, order=F.window_time("window"))
        windows = second.window(transom.Tumbling("20 seconds")).options(name="second")
        return windows.with_late_rows().agg(rows=F.sum("n"), results=F.count("*"))

    # One batch fires four windows of each key. The last batches move the second watermark.
    first = [(key, at(second)) for key in "abcdefghij" for second in (1, 11, 21, 31)]
    batches: list[Batch] = [first, [("a", at(100))], [("a", at(200))], [("a", at(300))]]
    outcome = run_stream(spark, pipeline, "key string, time timestamp", batches)
    assert outcome.late == []
    assert sorted(
        (row["window"]["start"], row["rows"], row["results"]) for row in outcome.results
    ) == [
        (at(0), 20, 20),
        (at(20), 20, 20),
        (at(100), 1, 1),
    ]
