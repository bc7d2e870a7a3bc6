"""Aggregates in Python that remove the rows which have left a window."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_by_hand import SCHEMA, row
from tests.end_to_end.models.streams import cut
from tests.end_to_end.support.queries import run_restarted

RETURNS = "held array<int>, changes int"


def removing() -> transom.Accumulator[Any]:
    """An accumulator that lists numbers, and counts how many it has added and removed.

    Workers cannot import this module, so its class is local to the function.
    """

    class Removing(transom.Accumulator[tuple[list[int], int]]):
        state = RETURNS

        def init(self) -> tuple[list[int], int]:
            return [], 0

        def add(self, acc: tuple[list[int], int], rows: pa.Table) -> tuple[list[int], int]:
            return acc[0] + rows["n"].to_pylist(), acc[1] + rows.num_rows

        def remove(self, acc: tuple[list[int], int], rows: pa.Table) -> tuple[list[int], int]:
            held = list(acc[0])
            for number in rows["n"].to_pylist():
                held.remove(number)
            return held, acc[1] + rows.num_rows

        def merge(
            self, left: tuple[list[int], int], right: tuple[list[int], int]
        ) -> tuple[list[int], int]:
            return left[0] + right[0], left[1] + right[1]

        def result(self, acc: tuple[list[int], int]) -> dict[str, Any]:
            return {"held": sorted(acc[0]), "changes": acc[1]}

    return Removing()


def generated(seed: int) -> list[tuple[Any, ...]]:
    """Rows of two keys, a little out of order. Some have no end."""
    chosen = random.Random(seed)
    rows = []
    for n in range(120):
        start = n / 2 + chosen.randrange(4)
        end = None if chosen.random() < 0.05 else start + 1 + chosen.randrange(20)
        rows.append(row(n, chosen.choice("ab"), start, end))
    return rows


def pipeline(window: transom.Window, lifetime: Any) -> Any:
    def query(rows: DataFrame) -> DataFrame:
        time = transom.TimePolicy("start", out_of_order="4 seconds")
        stream = transom.stream(rows, time=time, order="n", lifetime=lifetime)
        returned = transom.udaf(removing(), "n", returns=RETURNS).alias("python")
        twice = transom.udaf(removing(), "n", returns=RETURNS)["held"].alias("twice")
        listed = F.sort_array(F.collect_list("n")).alias("listed")
        return stream.key_by("key").window(window).agg(returned, twice, listed)

    return query


def changes(results: list[Row]) -> list[tuple[int, int]]:
    """For each result how many rows it has, and how many were added and removed for it."""
    for result in results:
        assert result["python"]["held"] == result["listed"]
        assert result["twice"] == result["listed"]
    return [(len(result["listed"]), result["python"]["changes"]) for result in results]


WINDOWS: list[tuple[transom.Window, Any]] = [
    (transom.Snapshot(), "until"),
    (transom.Hopping(size="10 seconds", slide="2 seconds"), "until"),
    (transom.Rolling("9 seconds"), None),
    (transom.CountByStart(5), None),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("window", "lifetime"), WINDOWS, ids=repr)
def test_a_window_holds_what_is_left_of_the_window_before(
    spark: SparkSession, window: transom.Window, lifetime: str | None
) -> None:
    rows, chosen = generated(7), random.Random(7)
    query = pipeline(window, lifetime)
    batches = cut(rows, chosen)[-4:]
    batches = [rows[: len(rows) - sum(map(len, batches))], *batches]
    outcome = run_restarted(spark, query, SCHEMA, batches, 2)
    stream = changes(outcome.results)
    static = changes(query(spark.createDataFrame(rows, SCHEMA)).collect())
    for counts in (stream, static):
        assert len(counts) > 40
        # A window that is not the first one of its key in a batch adds no row again.
        assert sum(held != changed for held, changed in counts) > len(counts) / 2


def test_rows_whose_end_is_another_row_are_removed(spark: SparkSession) -> None:
    rows = [at for n in range(20) for at in (row(n, "a", n, None), row(n, "a", n, n + 5))]
    rows = sorted(rows, key=lambda at: (at[3] or at[2], at[0]))
    lifetime = transom.Lifetime("until", id=["n"])
    outcome = run_restarted(spark, pipeline(transom.Snapshot(), lifetime), SCHEMA, [rows], 0)
    counts = changes(outcome.results)
    assert max(held for held, _ in counts) == 5
    assert sum(held != changed for held, changed in counts) > 10


def test_several_windows_in_one_pass_add_the_rows_again(spark: SparkSession) -> None:
    both = transom.Windows([transom.Snapshot(), transom.Tumbling("10 seconds")])
    results = pipeline(both, "until")(spark.createDataFrame(generated(3), SCHEMA))
    counts = changes(results.collect())
    assert len(counts) > 40
    assert all(held == changed for held, changed in counts)


def test_a_list_of_no_rows_is_not_taken_for_changes(spark: SparkSession) -> None:
    rows = spark.createDataFrame(generated(3), SCHEMA)
    snapshots = transom.stream(rows, time="start", lifetime="until").window(transom.Snapshot())
    empty = F.expr("collect_list(n) FILTER (WHERE false)").alias("empty")
    found = snapshots.agg(empty, F.count("*").alias("rows")).collect()
    assert len(found) > 40
    assert all(result["empty"] == [] and result["rows"] > 0 for result in found)


def test_a_filter_on_results_keeps_the_chain_of_windows(spark: SparkSession) -> None:
    rows = spark.createDataFrame(generated(5), SCHEMA)
    results = pipeline(transom.Snapshot(), "until")(rows)
    some = results.where("key = 'a' AND window.start > timestamp'2024-01-01 00:00:20'")
    assert 10 < len(changes(some.collect())) < results.count()


def test_floating_point_sums_depend_on_what_was_removed(spark: SparkSession) -> None:
    class Total(transom.Accumulator[tuple[float]]):
        state = "total double"

        def init(self) -> tuple[float]:
            return (0.0,)

        def add(self, acc: tuple[float], rows: pa.Table) -> tuple[float]:
            return (acc[0] + sum(n / 10 for n in rows["n"].to_pylist()),)

        def remove(self, acc: tuple[float], rows: pa.Table) -> tuple[float]:
            return (acc[0] - sum(n / 10 for n in rows["n"].to_pylist()),)

        def merge(self, left: tuple[float], right: tuple[float]) -> tuple[float]:
            return (left[0] + right[0],)

        def result(self, acc: tuple[float]) -> float:
            return acc[0]

    def query(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("start")
        stream = transom.stream(rows, time=policy, order="n").key_by("key")
        total = transom.udaf(Total(), "n", returns="double")
        return stream.window(transom.Rolling("3 seconds")).agg(total.alias("total"))

    rows = [row(n, "a", n, None) for n in range(1, 20)]
    runs = [[rows], [[each] for each in rows]]
    one, many = (
        [r["total"] for r in run_restarted(spark, query, SCHEMA, batches, 0).results]
        for batches in runs
    )
    assert len(one) > 10
    assert one != many
    assert one == pytest.approx(many)
