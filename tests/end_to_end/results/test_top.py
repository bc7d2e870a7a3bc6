"""The first rows of each window, against Spark's `rank` over a static DataFrame."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window as Ranking

import transom
from tests.end_to_end.results.test_chaining import INPUT, TEN, counts, fired, native_counts
from tests.end_to_end.results.test_chaining import SCHEMA as CHAINED
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import run_stream
from tests.python.conditions import raises
from transom.spec import Layout

SCHEMA = "id int, key string, time timestamp, value int"
NOON = datetime(2024, 1, 1, 12)

Input = tuple[int, str, datetime, int | None]
Order = Callable[[], Sequence[Column | str]]

WINDOWS: dict[str, tuple[transom.Window, Callable[[], Column]]] = {
    "tumbling": (TEN, lambda: F.window("time", "10 seconds")),
    "hopping": (
        transom.Hopping(size="10 seconds", slide="4 seconds"),
        lambda: F.window("time", "10 seconds", "4 seconds"),
    ),
}
ORDERS: dict[str, Order] = {
    "descending": lambda: [F.desc("value")],
    "ascending": lambda: ["value"],
    "nulls last": lambda: [F.asc_nulls_last("value")],
    "by an expression and a column": lambda: [F.desc(F.col("value") % 3), "id"],
}
# Each combination of a layout, a window and an order in one query.
CASES = [
    ("slices", "hopping", "descending"),
    ("slices", "tumbling", "by an expression and a column"),
    ("keyed", "hopping", "ascending"),
    ("keyed", "tumbling", "nulls last"),
]


def inputs(seed: int) -> list[Input]:
    """Rows with many equal values, in no order of time."""
    chosen = random.Random(seed)
    values = [None, *range(6)]
    times = [NOON + timedelta(seconds=chosen.randrange(60)) for _ in range(150)]
    return [(n, chosen.choice("ab"), time, chosen.choice(values)) for n, time in enumerate(times)]


def in_batches(rows: Sequence[Input]) -> list[Sequence[Input]]:
    return [rows[:40], rows[40:90], rows[90:]]


def top(rows: DataFrame, window: transom.Window, layout: Layout, k: int, order: Order) -> DataFrame:
    clock = transom.EventTime("time", delay="2 minutes") if rows.isStreaming else "time"
    windowed = transom.stream(rows, time=clock).key_by("key").window(window)
    drained = windowed.drain() if rows.isStreaming else windowed
    return drained.options(layout=layout).top(k, *order())


def expected(rows: DataFrame, window: Column, k: int, order: Order) -> Counter[Any]:
    ranking = Ranking.partitionBy("key", "window").orderBy(*order())
    ranked = rows.withColumn("window", window).withColumn("rank", F.rank().over(ranking))
    return shown(ranked.where(F.col("rank") <= k).collect())


def shown(rows: Sequence[Row]) -> Counter[Any]:
    names = ("key", "id", "time", "value", "rank")
    return Counter((*row["window"], *(row[name] for name in names)) for row in rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("layout", "window", "order"), CASES)
def test_each_window_has_the_first_rows_in_every_layout(
    spark: SparkSession, layout: Layout, window: str, order: str
) -> None:
    ours, native = WINDOWS[window]
    rows = inputs(seed=len(order))
    static = spark.createDataFrame(rows, SCHEMA)

    def query(read: DataFrame) -> DataFrame:
        return top(read, ours, layout, 2, ORDERS[order])

    wanted = expected(static, native(), 2, ORDERS[order])
    assert len(wanted) > 20
    assert shown(query(static).collect()) == wanted
    assert shown(run_stream(spark, query, SCHEMA, in_batches(rows)).results) == wanted


def test_the_columns_are_keys_window_other_columns_and_rank(spark: SparkSession) -> None:
    rows = spark.createDataFrame(inputs(1), SCHEMA)
    stream = transom.stream(rows, time=F.col("time") + F.expr("INTERVAL 1 SECOND"))
    by_letter = stream.key_by(F.upper("key").alias("letter")).window(TEN)
    own = ["id", "key", "time", "value", "rank"]
    assert by_letter.top(1, "id").columns == ["letter", "window", *own]
    by_key = stream.key_by("key", "id").window(TEN).with_pane()
    assert by_key.top(1, "id").columns == ["key", "id", "window", "pane", "time", "value", "rank"]
    only_keys = transom.stream(rows.select("key")).key_by("key").window(transom.Global())
    counted = only_keys.trigger(transom.EndOfStream()).top(1, "key").groupBy("key", "rank").count()
    assert {row["count"] for row in counted.collect()} == {
        sum(row[1] == key for row in inputs(1)) for key in "ab"
    }


def test_an_evictor_chooses_the_rows_that_are_ranked(spark: SparkSession) -> None:
    values = [9, 1, 5, 7]
    rows = [(n, "a", NOON + timedelta(seconds=n), value) for n, value in enumerate(values)]
    df = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    tens = transom.stream(df, time="time", order="id").window(TEN)
    last = tens.evictor(transom.KeepLast(3)).top(2, F.desc("value"))
    assert sorted((row["rank"], row["value"]) for row in last.collect()) == [(1, 7), (2, 5)]


def test_an_early_result_has_the_first_rows_so_far(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        early = transom.AfterWatermark(early=transom.AfterCount(2))
        tens = transom.stream(rows, time=clock, order="id").window(TEN).trigger(early)
        return tens.with_pane().top(1, F.desc("value"))

    values = [4, 1, 9, 5, 6]
    rows = [(n, "a", NOON + timedelta(seconds=n), value) for n, value in enumerate(values)]
    batches = [[row] for row in [*rows, (5, "a", NOON + timedelta(seconds=60), 0)]]
    results = run_stream(spark, pipeline, SCHEMA, batches).results
    assert [(row["pane"]["timing"], row["value"]) for row in results] == [
        ("early", 4),
        ("early", 9),
        ("on_time", 9),
    ]


def test_only_the_window_of_a_result_is_an_event_time(spark: SparkSession) -> None:
    rates = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    windowed = transom.stream(rates, time="timestamp").window(TEN)
    for result in (
        windowed.top(1, "value"),
        transom.untag(windowed.with_late_rows().top(1, "value"), "results"),
    ):
        times = [
            field.name for field in result.schema if "spark.watermarkDelayMs" in field.metadata
        ]
        assert times == ["window"]


def test_results_of_windows_are_ranked_by_a_second_operator(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        named = counts(rows).withColumnRenamed("window", "counted")
        best = transom.stream(named, time="counted").window(TEN).top(2, F.desc("total"), "key")
        return best.select("window", "rank", "key", "total")

    outcome = run_stream(spark, pipeline, CHAINED, INPUT)
    ranking = Ranking.partitionBy("window").orderBy(F.desc("total"), "key")
    ranked = native_counts(spark, F.window("time", "10 seconds")).withColumn(
        "rank", F.row_number().over(ranking)
    )
    wanted = fired(ranked.where("rank <= 2").select("window", "rank", "key", "total"))
    assert_same(outcome.results, wanted, "window", "rank")


def test_side_outputs_stand_beside_the_rows_and_results_can_be_windowed(
    spark: SparkSession,
) -> None:
    late = (1_000, "a", NOON - timedelta(hours=1), 5)

    def windowed(read: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="2 minutes")
        stream = transom.stream(read, time=clock).key_by("key")
        return stream.window(TEN).with_late_rows().drain().top(2, F.desc("value"))

    rows = inputs(seed=3)
    outcome = run_stream(spark, windowed, SCHEMA, [*in_batches(rows), [late]])
    static = spark.createDataFrame(rows, SCHEMA)
    wanted = expected(static, F.window("time", "10 seconds"), 2, ORDERS["descending"])
    assert shown(outcome.results) == wanted
    assert [row["row"]["id"] for row in outcome.late] == [1_000]

    def counted(read: DataFrame) -> DataFrame:
        best = transom.untag(windowed(read), "results").withColumnRenamed("window", "of")
        again = transom.stream(best, time="of").window(TEN)
        return again.agg(F.count("*").alias("rows"))

    totals = run_stream(spark, counted, SCHEMA, in_batches(rows)).results
    assert sum(row["rows"] for row in totals) == len(outcome.results)


def test_a_checkpoint_keeps_its_number_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    def best(k: int) -> Callable[[DataFrame], DataFrame]:
        return lambda read: top(read, TEN, "auto", k, ORDERS["descending"])

    rows = inputs(seed=4)
    run_stream(spark, best(2), SCHEMA, [rows], checkpoint=tmp_path)
    with pytest.raises(StreamingQueryException, match="TRANSOM_SPEC_CHANGED"):
        run_stream(spark, best(3), SCHEMA, [rows], checkpoint=tmp_path)


def test_bad_arguments_are_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame(inputs(1), SCHEMA)
    windowed = transom.stream(rows, time="time").window(TEN)
    with raises("NOT_POSITIVE", "k"):
        windowed.top(0, "value")
    with raises("BAD_TYPE", "k"):
        windowed.top("value")  # type: ignore[arg-type]
    with raises("NO_ORDER"):
        windowed.top(1)
    with raises("BAD_TYPE", "order_by"):
        windowed.top(1, 2)  # type: ignore[arg-type]
    with raises("BAD_TYPE", "order_by") as caught:
        windowed.top(1, "value DESC")
    assert str(caught.value).endswith("Use F.desc('value').")
    with raises("UNKNOWN_COLUMN", "order_by"):
        windowed.top(1, F.desc("delay"))
    with raises("CONFLICT"):
        windowed.retract().top(1, "value")
    for name in ("rank", "window", "Pane"):
        named = transom.stream(rows.withColumnRenamed("value", name), time="time").window(TEN)
        with raises("RESERVED_NAME", "df") as caught:
            named.top(1, "id")
        assert "withColumnRenamed" in str(caught.value)
