"""The bounds of results as lifetimes of a second operator: sessions at once, and peaks."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

START = datetime(2024, 1, 1)
LONGEST = "30 minutes"


def reports(seed: int) -> list[tuple[str, datetime]]:
    """Rows of five planes in the order of their times, with short and long pauses."""
    chosen = Random(seed)
    minutes = sorted(chosen.randrange(0, 120) for _ in range(90))
    return [(f"N{chosen.randrange(5)}", START + timedelta(minutes=m)) for m in minutes]


def sessions_at_once(rows: DataFrame) -> DataFrame:
    clock = transom.EventTime("at", delay="0 seconds") if rows.isStreaming else "at"
    by_tail = transom.stream(rows, time=clock).key_by("tail").window(transom.Session("4 minutes"))
    lasting = by_tail.agg(rows=F.count("*")).select("tail", "window.start", "window.end")
    policy = transom.TimePolicy("start", out_of_order=LONGEST)
    time = policy if rows.isStreaming else "start"
    reporting = transom.stream(lasting, time=time, lifetime="end", order="end")
    snapshots = reporting.window_all(transom.Snapshot()).options(name="at-once").drain()
    return snapshots.agg(planes=F.count("*")).select("window", "planes")


def peaks(rows: DataFrame) -> DataFrame:
    clock = transom.EventTime("at", delay="0 seconds") if rows.isStreaming else "at"
    flights = transom.stream(
        rows, time=clock, lifetime=transom.Lifetime(duration="7 minutes")
    ).window_all(transom.Snapshot())
    at_once = flights.agg(planes=F.count("*")).select("window.start", "window.end", "planes")
    time = transom.TimePolicy("start") if rows.isStreaming else "start"
    hours = transom.stream(at_once, time=time, lifetime="end", order="start")
    tens = hours.window_all(transom.Tumbling("10 minutes")).options(name="peaks").drain()
    return tens.agg(planes=F.max("planes")).select("window", "planes")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pipeline", [sessions_at_once, peaks])
@pytest.mark.parametrize("seed", range(2))
def test_a_stream_gives_the_results_of_a_static_dataframe(
    spark: SparkSession, pipeline: Callable[[DataFrame], DataFrame], seed: int
) -> None:
    schema = "tail string, at timestamp"
    rows = reports(seed)
    cases = [pipeline(spark.createDataFrame(rows, schema)).collect()]
    cases.append(
        run_stream(
            spark, pipeline, schema, [rows[n : n + 25] for n in range(0, len(rows), 25)]
        ).results
    )
    static, streamed = (
        sorted((row["window"]["start"], row["window"]["end"], row["planes"]) for row in case)
        for case in cases
    )
    assert len(static) > 10
    assert streamed == static
