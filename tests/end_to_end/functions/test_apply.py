"""Functions over windows in real queries: the rows that they get, and their results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import (
    SCHEMA,
    Step,
    at_rest,
    bounds,
    instant,
    kept,
    run_clocked,
)
from tests.end_to_end.support.queries import Outcome
from transom.windowed import Windowed

TEN = transom.Tumbling(size="10 seconds")
Steps = Callable[[Windowed], Windowed]


def listing() -> Callable[[pa.Table], pa.Table]:
    """A function that returns the values of a window's rows as a list.

    Workers cannot import this module, so the function is local.
    """

    def values(rows: pa.Table) -> pa.Table:
        return pa.table({"values": [rows["value"].to_pylist()]})

    return values


def run(
    spark: SparkSession,
    window: transom.Window,
    steps: list[Step],
    build: Steps = lambda windowed: windowed,
    checkpoint: Path | None = None,
) -> Outcome:
    def pipeline(stream: transom.Stream) -> DataFrame:
        return build(stream.window(window)).apply(listing(), "values array<int>")

    return run_clocked(spark, pipeline, steps, checkpoint=checkpoint)


def shown(rows: list[Row]) -> list[tuple[str, float, list[int]]]:
    """Key, end and values of each result, in the order of the results."""
    return [
        (row["key"], -1 if row["window"] is None else bounds(row)[1], row["values"]) for row in rows
    ]


def test_a_function_over_arrow_needs_no_pandas(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.createDataFrame([("a", instant(1), 7, False)], SCHEMA)
    windowed = transom.stream(rows, time="time").key_by("key").window(TEN)
    with monkeypatch.context() as patched:
        # Python raises ImportError for a module that is None.
        patched.setitem(sys.modules, "pandas", None)
        result = windowed.apply(listing(), "values array<int>")
    assert shown(result.collect()) == [("a", 10, [7])]


@pytest.fixture(params=[1, 3, 10_000])
def batch_size(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[int]:
    """Rows in an Arrow batch, so that batches are smaller or larger than a window."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, request.param)
    yield request.param
    assert before is not None
    spark.conf.set(name, before)


STEPS: list[Step] = [
    [("a", 3, 1), ("b", 1, 2), ("a", 1, 3), (None, 9, 4)],
    [("a", 12, 5), ("a", 9, 6), ("b", 11, 7)],
    15,
    [("b", 19, 8)],
    30,
]
FIRED = {
    ("a", 10, (1, 3, 6)),
    ("b", 10, (2,)),
    (None, 10, (4,)),
    ("a", 20, (5,)),
    ("b", 20, (7, 8)),
}


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("batch_size")
def test_it_gets_the_rows_of_a_window_in_the_order_of_their_arrival(
    spark: SparkSession, tmp_path: Path
) -> None:
    outcome = run(spark, TEN, STEPS, checkpoint=tmp_path)
    assert {(key, end, tuple(values)) for key, end, values in shown(outcome.results)} == FIRED
    assert len(outcome.results) == len(FIRED)
    assert kept(spark, tmp_path) == {}


@pytest.mark.usefixtures("batch_size")
def test_a_static_dataframe_gives_what_a_stream_gives(spark: SparkSession) -> None:
    stream = transom.stream(at_rest(spark, STEPS), time="time")
    windows = stream.key_by("key").window(TEN).apply(listing(), "values array<int>").collect()
    assert {(key, end, tuple(values)) for key, end, values in shown(windows)} == FIRED


def test_a_row_has_all_columns_of_the_input(spark: SparkSession) -> None:
    def columns(rows: pa.Table) -> pa.Table:
        return pa.table({"columns": [rows.column_names]})

    rows = spark.createDataFrame([("a", "2024-01-01 00:00:01", 7)], "key string, at string, n int")
    clock = transom.EventTime(F.to_timestamp("at"), delay="1 second")
    for time in (clock, "at_time"):
        timed = rows.withColumn("at_time", F.to_timestamp("at")) if time == "at_time" else rows
        stream = transom.stream(timed, time=time).key_by(F.upper("key").alias("k"))
        (row,) = stream.window(TEN).apply(columns, "columns array<string>").collect()
        assert row["k"] == "A"
        assert row["columns"] == timed.columns


def test_sessions_that_merge_hand_out_the_rows_of_both(spark: SparkSession, tmp_path: Path) -> None:
    session = transom.Session(gap="5 seconds")
    steps: list[Step] = [[("a", 1, 1), ("a", 10, 2), ("b", 3, 3)], [("a", 5, 4)], 40]
    results = shown(run(spark, session, steps, checkpoint=tmp_path).results)
    assert sorted((key, end, sorted(values)) for key, end, values in results) == [
        ("a", 15, [1, 2, 4]),
        ("b", 8, [3]),
    ]
    assert kept(spark, tmp_path) == {}


def test_a_window_without_end_is_handed_out_by_its_trigger(spark: SparkSession) -> None:
    steps: list[Step] = [[("a", n, n) for n in range(3)], [("a", n, n) for n in range(3, 7)]]
    count = transom.AfterCount(2)
    again = run(spark, transom.Global(), steps, lambda w: w.trigger(count))
    assert shown(again.results) == [("a", -1, list(range(n))) for n in (2, 4, 6)]
    anew = run(spark, transom.Global(), steps, lambda w: w.trigger(transom.Purging(count)))
    assert shown(anew.results) == [("a", -1, [n, n + 1]) for n in (0, 2, 4)]


def test_early_and_late_firings_call_it_again(spark: SparkSession) -> None:
    trigger = transom.AfterWatermark(early=transom.AfterCount(2))
    steps: list[Step] = [[("a", n, n) for n in range(3)], 12, [("a", 3, 9)], 60]
    outcome = run(
        spark, TEN, steps, lambda w: w.trigger(trigger).with_pane().allowed_lateness("30 seconds")
    )
    assert [(r["pane"]["timing"], r["pane"]["index"], r["values"]) for r in outcome.results] == [
        ("early", 0, [0, 1]),
        ("on_time", 1, [0, 1, 2]),
        ("late", 2, [0, 1, 2, 9]),
    ]


def test_it_gets_the_rows_that_an_evictor_leaves(spark: SparkSession) -> None:
    steps: list[Step] = [[("a", n, n) for n in range(5)], 12]
    outcome = run(spark, TEN, steps, lambda w: w.evictor(transom.KeepLast(2)))
    assert shown(outcome.results) == [("a", 10, [3, 4])]
    after = run(
        spark,
        TEN,
        steps,
        lambda w: w.evictor(transom.KeepLast(1, when="after")).trigger(transom.AfterCount(2)),
    )
    assert shown(after.results) == [("a", 10, [0, 1]), ("a", 10, [1, 2, 3])]


def test_rows_outlast_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    first: list[Step] = [[("a", 1, 1), ("a", 11, 2)]]
    assert run(spark, TEN, first, checkpoint=tmp_path).results == []
    assert kept(spark, tmp_path)["rows"] == 2
    then = run(spark, TEN, [[("a", 2, 3)], 30], checkpoint=tmp_path)
    assert shown(then.results) == [("a", 10, [1, 3]), ("a", 20, [2])]
    assert kept(spark, tmp_path) == {}


def test_it_may_return_no_rows_or_many(spark: SparkSession) -> None:
    def odd(rows: pa.Table) -> pa.Table:
        return pa.table({"odd": [v for v in rows["value"].to_pylist() if v % 2]})

    outcome = run_clocked(
        spark,
        lambda stream: stream.window(TEN).apply(odd, "odd int"),
        [[("a", 1, 2), ("b", 1, 1), ("b", 2, 2), ("b", 3, 3)], 12],
    )
    assert [(row["key"], row["odd"]) for row in outcome.results] == [("b", 1), ("b", 3)]


def test_a_context_has_the_window_and_the_times(spark: SparkSession) -> None:
    def described(_: pa.Table, context: transom.Context) -> pa.Table:
        window = context.window
        assert window is not None
        return pa.table(
            {
                "name": [context.key["key"]],
                "start": [window["start"]],
                "end": [window.end],
                "watermark": pa.array([context.watermark], pa.timestamp("us", tz="UTC")),
                "clock": [context.clock],
                "cause": [context.pane and context.pane["cause"]],
            }
        )

    schema = (
        "name string, start timestamp, end timestamp, watermark timestamp, clock timestamp, "
        "cause string"
    )
    early = transom.AfterWatermark(early=transom.AfterCount(1))
    steps: list[Step] = [[("a", 1, 1)], 4, [("a", 2, 2)], 12]
    for arguments in ({}, {"agg": [F.count("*").alias("n")]}):
        options: dict[str, Any] = arguments

        def pipeline(stream: transom.Stream, options: dict[str, Any] = options) -> DataFrame:
            return stream.window(TEN).with_pane().trigger(early).apply(described, schema, **options)

        rows = run_clocked(spark, pipeline, steps).results
        assert [(r["name"], r["start"], r["end"]) for r in rows] == [
            ("a", instant(0), instant(10))
        ] * 3
        assert [row["watermark"] for row in rows] == [None, instant(4), instant(12)]
        assert [row["cause"] for row in rows] == ["rows", "rows", "watermark"]
        assert rows[0]["clock"] <= rows[1]["clock"] <= rows[2]["clock"]

        def plain(stream: transom.Stream, options: dict[str, Any] = options) -> DataFrame:
            return stream.window(TEN).apply(described, schema, **options)

        (row,) = run_clocked(spark, plain, steps).results
        assert (row["watermark"], row["cause"]) == (instant(12), None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_aggregates_stand_for_the_rows(spark: SparkSession, layout: Any, tmp_path: Path) -> None:
    def mean(rows: pa.Table) -> pa.Table:
        assert rows.column_names == ["total", "n"]
        (row,) = rows.to_pylist()
        return pa.table({"mean": [row["total"] / row["n"]]})

    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(TEN).options(layout=layout)
        aggregates = [F.sum("value").alias("total"), F.count("*").alias("n")]
        return windowed.apply(mean, "mean double", agg=aggregates)

    steps: list[Step] = [[("a", 1, 1), ("b", 2, 5)], [("a", 3, 2)]]
    assert run_clocked(spark, pipeline, steps, checkpoint=tmp_path).results == []
    if layout == "keyed":
        assert "rows" not in kept(spark, tmp_path)
    results = run_clocked(spark, pipeline, [20], checkpoint=tmp_path).results
    assert sorted((row["key"], row["mean"]) for row in results) == [("a", 1.5), ("b", 5.0)]


def test_late_rows_pass_by_it(spark: SparkSession) -> None:
    steps: list[Step] = [[("a", 1, 1)], 12, [("a", 2, 2), ("a", 13, 3)], 30]
    outcome = run(spark, TEN, steps, lambda w: w.with_late_rows())
    assert shown(outcome.results) == [("a", 10, [1]), ("a", 20, [3])]
    assert [(row["row"]["value"], row["reason"]) for row in outcome.late] == [(2, "late")]


def test_pandas_goes_in_and_comes_out(spark: SparkSession) -> None:
    def newest(rows: Any, context: transom.Context) -> Any:
        assert context.clock.tzinfo == UTC
        return rows.sort_values("time").tail(1)[["value", "time"]]

    outcome = run_clocked(
        spark,
        lambda stream: stream.window(TEN).apply(
            newest, "time timestamp, value long", form="pandas"
        ),
        [[("a", 3, 7), ("a", 1, 8)], 12],
    )
    assert [(row["time"], row["value"]) for row in outcome.results] == [(instant(3), 7)]


def test_results_can_be_windowed_again(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        lists = stream.window(TEN).apply(listing(), "values array<int>")
        minutes = transom.stream(lists, time="window").window(transom.Tumbling(size="1 minute"))
        return minutes.agg(F.sum(F.size("values")).alias("n"))

    steps: list[Step] = [[("a", 1, 1), ("b", 2, 2), ("a", 11, 3), ("a", 61, 4)], 70, 71]
    outcome = run_clocked(spark, pipeline, steps)
    assert [(bounds(row), row["n"]) for row in outcome.results] == [((0, 60), 3)]
