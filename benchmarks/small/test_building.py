"""The time to build a spec in Python, and the time to build Spark's plan."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pytest_benchmark.fixture import BenchmarkFixture

import transom
from benchmarks.peers import spark_once
from benchmarks.queries.catalogue import QUERIES
from transom.spec.message import encode


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A stream that no query reads."""
    return spark_once.source(spark, tmp_path, files=1)


@pytest.mark.benchmark(group="spec", warmup=True)
@pytest.mark.parametrize("name", ["tumbling-10k", "hopping-60-1", "session-early", "count-100"])
def test_building_a_spec(name: str, rows: DataFrame, benchmark: BenchmarkFixture) -> None:
    query = QUERIES[name]

    def built() -> str:
        windowed = transom.stream(rows, time="ts").key_by("k").window(query.window)
        if query.trigger is not None:
            windowed = windowed.trigger(query.trigger)
        return json.dumps(encode(windowed._spec)[0])

    message = json.loads(benchmark(built))
    assert message["window"]["kind"] == query.parameters["window"]


@pytest.mark.benchmark(group="plan", warmup=True)
@pytest.mark.parametrize("peer", ["transom", "native"])
@pytest.mark.parametrize("name", ["tumbling-10k", "hopping-60-1", "session-10k"])
def test_building_a_plan(
    name: str, peer: str, rows: DataFrame, benchmark: BenchmarkFixture
) -> None:
    planned = benchmark(spark_once.PEERS[peer], rows, QUERIES[name])
    assert planned.columns == ["k", "window", "n", "s"]
    assert planned.isStreaming
