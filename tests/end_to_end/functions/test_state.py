"""Functions that keep state, for a window or for a key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.aggregates.test_udaf import listed
from tests.end_to_end.support import wall_clock as clock
from tests.end_to_end.support.clocked import SCHEMA, Step, at_rest, bounds, instant, run_clocked
from tests.end_to_end.support.queries import state_rows

TEN = transom.Tumbling(size="10 seconds")
EARLY = transom.AfterWatermark(early=transom.AfterCount(2))
STEPS: list[Step] = [
    [("a", 1, 1), ("b", 1, 2), ("a", 2, 3), (None, 9, 4)],
    [("a", 12, 5), ("a", 9, 6), ("a", 8, 7), ("b", 11, 8)],
    12,
    [("a", 3, 9), ("b", 19, 10)],
]
END: list[Step] = [40, 90]


def counted(windowed: transom.Windowed, agg: Sequence[Column] = ()) -> DataFrame:
    """The number of rows, of calls for the window, and of calls for the key."""
    # A worker cannot receive Columns, so the function must not refer to `agg`.
    is_aggregated = len(agg) > 0

    def count(rows: pa.Table, context: transom.Context) -> pa.Table:
        of_window, of_key = context.window_state, context.key_state
        of_window["calls"] = (of_window["calls"] or 0) + 1
        of_key["calls"] = (of_key["calls"] or 0) + 1
        of_key["since"] = of_key["since"] or datetime(2024, 1, 1, tzinfo=UTC)
        assert of_key["since"] == datetime(2024, 1, 1, tzinfo=UTC)
        n = rows["n"][0].as_py() if is_aggregated else rows.num_rows
        values = {"n": n, "in_window": of_window["calls"], "of_key": of_key["calls"]}
        return pa.Table.from_pylist([values])

    return windowed.trigger(EARLY).apply(
        count,
        "n long, in_window long, of_key long",
        agg=agg,
        window_state="calls int",
        key_state="calls int, since timestamp",
    )


def shown(rows: Any) -> list[tuple[Any, ...]]:
    return [(r["key"], bounds(r)[1], r["n"], r["in_window"], r["of_key"]) for r in rows]


def by_key(rows: list[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    return {key: [row[1:] for row in rows if row[0] == key] for key in {row[0] for row in rows}}


def test_it_is_there_in_later_calls_and_goes_with_its_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        return counted(stream.window(TEN).allowed_lateness("20 seconds").with_late_rows())

    first = run_clocked(spark, pipeline, STEPS, checkpoint=tmp_path)
    assert by_key(shown(first.results)) == {
        "a": [(10, 2, 1, 1), (10, 4, 2, 2), (10, 4, 3, 3), (10, 5, 4, 4)],
        "b": [(10, 1, 1, 1), (20, 2, 1, 2)],
        None: [(10, 1, 1, 1)],
    }
    assert len(state_rows(spark, tmp_path, "window_state")) == 4
    last = run_clocked(spark, pipeline, [*END, [("a", 4, 11)]], checkpoint=tmp_path)
    assert by_key(shown(last.results)) == {"a": [(20, 1, 1, 5)], "b": [(20, 2, 2, 3)]}
    assert [row["row"]["value"] for row in last.late] == [11]
    assert state_rows(spark, tmp_path, "window_state") == []
    assert len(state_rows(spark, tmp_path, "key_state")) == 3


def test_by_the_wall_clock_it_goes_with_its_window_too(spark: SparkSession, tmp_path: Path) -> None:
    def numbered(rows: pa.Table, context: transom.Context) -> pa.Table:
        context.window_state["calls"] = (context.window_state["calls"] or 0) + 1
        return pa.table({"calls": [context.window_state["calls"]], "n": [rows.num_rows]})

    def pipeline(rows: DataFrame) -> DataFrame:
        # Such a window is purged, so at its end no row has its key.
        by_name = transom.stream(rows, time=transom.ProcessingTime()).key_by(
            F.collate("name", "UTF8_LCASE").alias("name")
        )
        trigger = transom.Purging(transom.AfterCount(1))
        windowed = by_name.window(TEN).trigger(trigger)
        return windowed.apply(numbered, "calls int, n int", window_state="calls int")

    def run(steps: list[clock.Step]) -> list[tuple[str, int, int]]:
        given = clock.run_on_clock(spark, pipeline, "name string", steps, folder=tmp_path)
        return [(row["name"], row["calls"], row["n"]) for rows in given for row in rows]

    assert run([3, [("a",), ("b",)], 9, [("A",)]]) == [("a", 1, 1), ("b", 1, 1), ("A", 2, 1)]
    assert len(state_rows(spark, tmp_path, "window_state")) == 2
    assert run([9.5, [("a",)], 11, [("a",), ("A",)]]) == [("a", 3, 1), ("a", 1, 1), ("A", 2, 1)]
    assert len(state_rows(spark, tmp_path, "window_state")) == 1
    assert run([21]) == []
    assert state_rows(spark, tmp_path, "window_state") == []
    assert state_rows(spark, tmp_path, "keys", operator=1) == []


def test_an_operator_behind_it_closes_by_the_same_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    def count(rows: pa.Table, context: transom.Context) -> pa.Table:
        context.window_state["calls"] = (context.window_state["calls"] or 0) + 1
        return pa.table({"n": [rows.num_rows], "calls": [context.window_state["calls"]]})

    def pipeline(stream: transom.Stream) -> DataFrame:
        counts = stream.window(TEN).apply(count, "n int, calls int", window_state="calls int")
        minutes = transom.stream(counts, time="window").window(transom.Tumbling(size="1 minute"))
        return minutes.agg(F.sum("n").alias("n"), F.max("calls").alias("calls"))

    steps: list[Step] = [[("a", 1, 1), ("b", 2, 2), ("a", 11, 3), ("a", 61, 4)], 70, 71]
    outcome = run_clocked(spark, pipeline, steps, checkpoint=tmp_path)
    assert [(bounds(row), row["n"], row["calls"]) for row in outcome.results] == [((0, 60), 3, 1)]


def test_a_static_dataframe_gives_what_a_stream_gives(spark: SparkSession) -> None:
    stream = transom.stream(at_rest(spark, STEPS), time="time")
    count = F.count("*")
    # Without rows this division would be an error.
    aggregates = [count.alias("n"), (F.count("value") / count).alias("one"), listed().alias("u")]
    for agg in ([], aggregates):
        windowed = counted(stream.key_by("key").window(TEN), agg)
        assert by_key(shown(windowed.collect())) == {
            "a": [(10, 2, 1, 1), (10, 4, 2, 2), (10, 5, 3, 3), (20, 1, 1, 4)],
            "b": [(20, 2, 1, 1), (10, 1, 1, 2), (20, 2, 2, 3)],
            None: [(10, 1, 1, 1)],
        }


def test_windows_without_keys_and_without_end_keep_theirs(
    spark: SparkSession, tmp_path: Path
) -> None:
    def total(rows: pa.Table, context: transom.Context) -> pa.Table:
        before = context.window_state["total"] or 0
        context.window_state["total"] = before + sum(rows["value"].to_pylist())
        context.output("before", pa.table({"total": [before]}))
        return pa.table({"total": [context.window_state["total"]]})

    def pipeline(stream: transom.Stream) -> DataFrame:
        trigger = transom.Purging(transom.AfterCount(2))
        windowed = transom.stream(stream._df, time="time").window(transom.Global()).trigger(trigger)
        outputs = {"before": "total long"}
        return windowed.apply(total, "total long", window_state="total long", outputs=outputs)

    steps: list[Step] = [[("a", 1, 1), ("b", 2, 2)], [("a", 3, 3), ("b", 4, 4)]]
    for run, (total_, before) in zip(steps, [(3, 0), (10, 3)], strict=True):
        outcome = run_clocked(spark, pipeline, [run], checkpoint=tmp_path)
        rows = [row for batch in outcome.by_batch.values() for row in batch]
        assert [row["results"]["total"] for row in rows if row["results"]] == [total_]
        assert [row["before"]["total"] for row in rows if row["before"]] == [before]


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"calls": "many"}, "'calls' has the type string instead of int32"),
        ({"call": 1}, "it has 'call'"),
    ],
)
def test_state_has_its_schema(spark: SparkSession, state: dict[str, Any], problem: str) -> None:
    def keep(rows: pa.Table, context: transom.Context) -> pa.Table:
        context.key_state.update(state)
        return rows.select(["value"])

    rows = spark.createDataFrame([("a", instant(1), 7, False)], SCHEMA)
    windowed = transom.stream(rows, time="time").key_by("key").window(TEN)
    with pytest.raises(Exception, match="TRANSOM_FUNCTION_SCHEMA") as caught:
        windowed.apply(keep, "value int", key_state="calls int").collect()
    assert problem in str(caught.value)


def test_nested_values_that_a_function_leaves_untouched_stay(spark: SparkSession) -> None:
    def keep(rows: pa.Table, context: transom.Context) -> pa.Table:
        state = context.key_state
        if state["point"] is None:
            state.update(point={"x": 1, "y": 2}, counts={"a": 3}, points=[{"x": 4, "y": 5}])
        found = [state["point"]["y"], state["counts"]["a"], state["points"][0]["x"]]
        return pa.table({"found": [found], "n": [rows.num_rows]})

    rows = [("a", instant(1), 7, False), ("a", instant(11), 7, False), ("a", instant(21), 7, False)]
    windowed = transom.stream(spark.createDataFrame(rows, SCHEMA), time="time").key_by("key")
    kept = windowed.window(TEN).apply(
        keep,
        "found array<long>, n long",
        key_state="point struct<x: long, y: long>, counts map<string, long>, "
        "points array<struct<x: long, y: long>>",
    )
    assert [row["found"] for row in kept.collect()] == [[2, 3, 4]] * 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["key_state", "window_state"])
def test_what_is_kept_cannot_be_changed_over_a_checkpoint(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    def start(state: str, step: Step) -> None:
        def pass_on(rows: pa.Table, _: transom.Context) -> pa.Table:
            return rows.select(["value"])

        given: Any = {name: state}
        run_clocked(
            spark,
            lambda stream: stream.window(TEN).apply(pass_on, "value int", **given),
            [step],
            checkpoint=tmp_path,
        )

    start("calls int", [("a", 1, 1)])
    text = rf"TRANSOM_SPEC_CHANGED.*function\.{name}"
    with pytest.raises(StreamingQueryException, match=text):
        start("calls long", 30)
