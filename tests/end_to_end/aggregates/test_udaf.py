"""Aggregates in Python, in real queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import Step, bounds, kept, run_clocked
from tests.python.conditions import raises
from transom.spec import Layout

TEN = transom.Tumbling(size="10 seconds")
STEPS: list[Step] = [
    [("a", 1, 1), ("b", 1, 2), ("a", 2, 3), (None, 9, 4), ("a", 3, 5)],
    [("a", 12, 5), ("a", 9, 6), ("b", 11, 7)],
    15,
    [("b", 19, 8), ("a", 8, 99)],
    30,
]


def listing() -> transom.Accumulator[Any]:
    """An accumulator that lists values and counts calls of `add`.

    Workers cannot import this module, so its class is local to the function.
    """

    class Listing(transom.Accumulator[tuple[list[int], int]]):
        state = "held array<int>, adds int"

        def init(self) -> tuple[list[int], int]:
            return [], 0

        def add(self, acc: tuple[list[int], int], rows: pa.Table) -> tuple[list[int], int]:
            return acc[0] + rows["value"].to_pylist(), acc[1] + 1

        def merge(
            self, left: tuple[list[int], int], right: tuple[list[int], int]
        ) -> tuple[list[int], int]:
            return left[0] + right[0], left[1] + right[1]

        def result(self, acc: tuple[list[int], int]) -> dict[str, Any]:
            return {"held": sorted(acc[0]), "adds": acc[1]}

    return Listing()


def listed(value: Column | str = "value") -> Column:
    return transom.udaf(listing(), value, returns="held array<int>, adds int")


def shown(rows: list[Row]) -> set[tuple[Any, ...]]:
    return {(row["key"], bounds(row)[1], tuple(row["u"]["held"])) for row in rows}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_it_stands_beside_other_aggregates(
    spark: SparkSession, layout: Layout, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(TEN).options(layout=layout).with_late_rows()
        negated = listed((-F.col("value")).alias("value"))["held"]
        return windowed.agg(listed().alias("u"), F.count("*").alias("n"), negated.alias("negated"))

    first = run_clocked(spark, pipeline, STEPS[:2], checkpoint=tmp_path)
    assert first.results == []
    outcome = run_clocked(spark, pipeline, STEPS[2:], checkpoint=tmp_path)
    assert shown(outcome.results) == {
        ("a", 10, (1, 3, 5, 6)),
        ("b", 10, (2,)),
        (None, 10, (4,)),
        ("a", 20, (5,)),
        ("b", 20, (7, 8)),
    }
    assert all(row["n"] == len(row["u"]["held"]) for row in outcome.results)
    assert all(row["negated"] == sorted(-v for v in row["u"]["held"]) for row in outcome.results)
    assert [row["row"]["value"] for row in outcome.late] == [99]
    adds = {row["key"]: row["u"]["adds"] for row in outcome.results if bounds(row)[1] == 10}
    # The slice log adds the rows of each batch before the exchange. The keyed layout adds all rows
    # of the window at once.
    assert adds["a"] == (2 if layout == "slices" else 1)
    if layout == "keyed":
        assert kept(spark, tmp_path) == {}


def test_sessions_take_in_rows_behind_the_watermark(spark: SparkSession) -> None:
    steps: list[Step] = [[("a", 1, 1), ("a", 10, 2)], 12, [("a", 8, 3), ("a", 2, 99)], 40]
    session = transom.Session(gap="5 seconds")
    outcome = run_clocked(
        spark, lambda stream: stream.window(session).agg(listed().alias("u")), steps
    )
    assert shown(outcome.results) == {("a", 6, (1,)), ("a", 15, (2, 3))}


def test_early_firings_have_the_rows_so_far(spark: SparkSession) -> None:
    steps: list[Step] = [[("a", n, n) for n in range(5)], 12]
    trigger = transom.AfterWatermark(early=transom.AfterCount(2))
    outcome = run_clocked(
        spark, lambda stream: stream.window(TEN).trigger(trigger).agg(listed().alias("u")), steps
    )
    assert [row["u"]["held"] for row in outcome.results] == [
        [0, 1],
        [0, 1, 2, 3],
        [0, 1, 2, 3, 4],
    ]


@pytest.mark.parametrize(
    "window",
    [
        transom.Hopping(size="30 seconds", slide="10 seconds", closed="right"),
        transom.Session(gap="3 seconds"),
    ],
)
def test_over_a_static_dataframe_accumulators_are_made_before_rows_move(
    spark: SparkSession, window: transom.Window
) -> None:
    rows = spark.range(0, 600, 1, 2).select(
        F.when(F.col("id") % 3 != 0, F.concat(F.lit("k"), F.col("id") % 3)).alias("key"),
        F.when(F.col("id") < 590, F.timestamp_seconds(F.lit(10) * (F.col("id") % 20))).alias("at"),
        F.col("id").cast("int").alias("value"),
    )
    windowed = transom.stream(rows, time="at").key_by("key").window(window)
    expected = F.sort_array(F.collect_list("value"))
    results = windowed.agg(listed().alias("u"), expected.alias("all")).collect()
    assert len(results) >= 60
    assert all(row["u"]["held"] == row["all"] for row in results)
    # The batch of a task has rows in at most four slices of a window.
    assert max(row["u"]["adds"] for row in results) <= 8 < max(len(row["all"]) for row in results)


def test_of_all_rows_each_task_makes_a_part(spark: SparkSession) -> None:
    rows = spark.range(0, 600, 1, 3).select(
        F.timestamp_seconds(F.col("id") % 7).alias("at"), F.col("id").cast("int").alias("value")
    )
    (row,) = transom.stream(rows, time="at").window_all(TEN).agg(listed().alias("u")).collect()
    assert row["u"]["held"] == list(range(600))
    assert row["u"]["adds"] == 3


def test_one_that_raises_ends_the_query_and_is_named(spark: SparkSession) -> None:
    class Failing(type(listing())):  # type: ignore[misc]
        def add(self, *_: Any) -> Any:
            raise LookupError("no such value")

    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(TEN).agg(transom.udaf(Failing(), "value", returns="int"))

    with pytest.raises(StreamingQueryException) as caught:
        run_clocked(spark, pipeline, [[("a", 1, 1)], 30])
    assert "[TRANSOM_FUNCTION_FAILED]" in str(caught.value)
    assert "Failing.add failed for a window's rows: LookupError: no such" in str(caught.value)


def test_the_state_of_a_checkpoint_keeps_its_type(spark: SparkSession, tmp_path: Path) -> None:
    def start(accumulator: transom.Accumulator[Any], step: Step) -> None:
        aggregate = transom.udaf(accumulator, "value", returns="held array<int>, adds int")
        run_clocked(
            spark,
            lambda stream: stream.window(TEN).agg(aggregate.alias("u")),
            [step],
            checkpoint=tmp_path,
        )

    start(listing(), [("a", 1, 1)])
    wider = type("Wider", (type(listing()),), {"state": "held array<long>, adds int"})()
    with pytest.raises(StreamingQueryException, match="TRANSOM_SPEC_CHANGED"):
        start(wider, 30)


@pytest.mark.usefixtures("spark")
def test_it_is_checked_where_it_is_given() -> None:
    one = listing()
    with raises("BAD_TYPE", "accumulator"):
        transom.udaf(type(one), "value", returns="int")  # type: ignore[arg-type]
    with raises("BAD_TYPE", "cols"):
        transom.udaf(one, returns="int")
    with raises("BAD_TYPE", "cols"):
        transom.udaf(one, 3, returns="int")  # type: ignore[arg-type]
    with raises("BAD_SCHEMA", "returns"):
        transom.udaf(one, "value", returns="no_type")
    with raises("BAD_TYPE", "returns"):
        transom.udaf(one, "value", returns=int)  # type: ignore[arg-type]
    for state, condition in (("n", "BAD_SCHEMA"), ("int", "BAD_SCHEMA"), (None, "BAD_TYPE")):
        with raises(condition, "state"):
            transom.udaf(type("Other", (type(one),), {"state": state})(), "v", returns="int")
    with raises("BAD_FUNCTION", "merge"):
        other = type("Other", (type(one),), {"merge": lambda self, acc: (self, acc)})
        transom.udaf(other(), "v", returns="int")
