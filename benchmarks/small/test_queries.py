"""Each query of the catalogue at a small size. Its rows are compared with another peer's."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.peers.digest import digest
from benchmarks.peers.spark_once import executed, planned
from benchmarks.queries.catalogue import QUERIES, Query

ROWS = 50_000
# Fewer keys, so that each key has a hundred rows, and because peers in Python are slow.
KEYS = {
    "count-100": 250,
    "session-early": 250,
    "session-function": 250,
    "small-batches": 2_000,
    "overlap-600": 100,
    "lifetimes-1h": 50,
}
# The batch query copies each row into each of its 600 windows, or of its 3,660.
FEWER_ROWS = {"overlap-600": 5_000, "lifetimes-1h": 1_000}


def independent(query: Query) -> str:
    """The fastest peer that computes the query without transom."""
    if query.function:
        return "applyInPandas"
    if query.windows or query.lifetime is not None:
        return "batch"
    if not query.plain:
        return "python"
    # Only a stream drops late rows.
    return "native" if query.late_rows else "batch"


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_returns_the_rows_of_an_independent_peer(
    name: str, spark: SparkSession, benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    query = replace(QUERIES[name], keys=KEYS.get(name, QUERIES[name].keys))
    given = query.input(FEWER_ROWS.get(name, ROWS), files_per_batch=1)
    folder = given.make(tmp_path)
    expected, found = tmp_path / "expected", tmp_path / "found"

    theirs = planned(spark, query, independent(query), folder, files=1, written=True)
    executed(theirs, tmp_path / "theirs", write=expected)
    ours = planned(spark, query, "transom", folder, files=1, written=True)
    benchmark.pedantic(executed, (ours, tmp_path / "ours"), {"write": found})

    rows, hashed = digest(expected)
    assert rows > 0, "a comparison of empty results proves nothing"
    assert digest(found) == (rows, hashed)
    benchmark.extra_info |= {"input_rows": given.size, "result_rows": rows}
