"""Windows over the results of windows, ours and Spark's: no result is lost."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models.streams import BASE, instant, millis
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import Outcome, run_stream

SCHEMA = "key string, time timestamp, value int"
DELAY = 5_000
TEN = transom.Tumbling(size="10 seconds")


def generated(seed: int, *, behind: int) -> list[list[model.Row]]:
    """Five batches of 40 seconds each. Rows are at most `behind` ms out of order."""
    chosen = random.Random(seed)

    def row(batch: int) -> model.Row:
        time = BASE + batch * 40_000 + chosen.randrange(40_000) - chosen.randrange(behind)
        return chosen.choice("abcd"), time, chosen.randrange(10)

    return [[row(batch) for _ in range(30)] for batch in range(5)]


def as_input(batches: list[list[model.Row]]) -> list[list[tuple[object, ...]]]:
    return [[(key, instant(time), value) for key, time, value in batch] for batch in batches]


# No row is further behind than the delay, so no row is late.
ON_TIME = generated(1, behind=DELAY)
INPUT = as_input(ON_TIME)


def reached(batches: list[list[model.Row]]) -> datetime:
    """The last watermark of the stream."""
    last = instant(model.watermarks(batches, DELAY)[-1])
    assert last is not None
    return last


def windowed(rows: DataFrame, window: transom.Window = TEN) -> transom.Windowed:
    clock = transom.EventTime("time", delay="5 seconds")
    return transom.stream(rows, time=clock).key_by("key").window(window)


def counts(rows: DataFrame, window: transom.Window = TEN) -> DataFrame:
    return windowed(rows, window).agg(F.count("*").alias("rows"), F.sum("value").alias("total"))


def native_counts(spark: SparkSession, window: Column) -> DataFrame:
    """The counts of Spark's batch windows, with the last instant of each window."""
    rows = spark.createDataFrame([row for batch in INPUT for row in batch], SCHEMA)
    grouped = rows.groupBy("key", window.alias("window"))
    counted = grouped.agg(F.count("*").alias("rows"), F.sum("value").alias("total"))
    return counted.withColumn("at", F.col("window.end") - F.expr("interval 1 microsecond"))


def fired(expected: DataFrame) -> list[Row]:
    """The rows whose window has ended by the last watermark."""
    # Spark would push a filter below the step that merges its sessions.
    return [row for row in expected.collect() if row["window"]["end"] <= reached(ON_TIME)]


FIRST: dict[str, tuple[transom.Window, Callable[[], Column]]] = {
    "tumbling": (TEN, lambda: F.window("time", "10 seconds")),
    "hopping": (
        transom.Hopping(size="10 seconds", slide="4 seconds"),
        lambda: F.window("time", "10 seconds", "4 seconds"),
    ),
    "sessions": (
        transom.Session(gap="6 seconds"),
        lambda: F.session_window("time", "6 seconds"),
    ),
}
SECOND: dict[str, tuple[transom.Window, Callable[[], Column]]] = {
    "the same": (TEN, lambda: F.window("at", "10 seconds")),
    "larger": (transom.Tumbling(size="1 minute"), lambda: F.window("at", "1 minute")),
    "overlapping": (
        transom.Hopping(size="20 seconds", slide="10 seconds"),
        lambda: F.window("at", "20 seconds", "10 seconds"),
    ),
    "sessions": (
        transom.Session(gap="2 seconds"),
        lambda: F.session_window("at", "2 seconds"),
    ),
}
PAIRS = [("tumbling", second) for second in SECOND] + [
    ("hopping", "larger"),
    ("sessions", "the same"),
    ("sessions", "sessions"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_window_over_windows_gives_what_spark_gives_in_batch(
    spark: SparkSession, first: str, second: str
) -> None:
    (inner, native_inner), (outer, native_outer) = FIRST[first], SECOND[second]

    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(counts(rows, inner), time="window").window(outer)
        return windowed.agg(F.count("*").alias("windows"), F.sum("rows").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, INPUT)
    grouped = native_counts(spark, native_inner()).groupBy(native_outer().alias("window"))
    expected = fired(grouped.agg(F.count("*").alias("windows"), F.sum("rows").alias("rows")))
    assert expected, "the stream should end windows"
    assert_same(outcome.results, expected, "window")


def three_operators(rows: DataFrame) -> DataFrame:
    """Three window operators in a row, with windows of ten seconds."""
    first = windowed(rows).options(name="first").agg(F.sum("value").alias("total"))
    second = transom.stream(first, time="window").key_by("key").window(TEN).options(name="second")
    third = transom.stream(second.agg(F.sum("total").alias("total")), time="window").window(TEN)
    return third.options(name="third").agg(
        F.count("*").alias("keys"), F.sum("total").alias("total")
    )


def of_all_keys(results: list[model.Result]) -> Counter[tuple[int, int, int, int]]:
    """Each window with its number of keys and the sum over all keys."""
    totals: dict[tuple[int, int], list[int]] = defaultdict(list)
    for _, start, end, _, total in results:
        totals[start, end].append(total)
    return Counter((*window, len(each), sum(each)) for window, each in totals.items())


def shown(*outcomes: Outcome) -> Counter[tuple[int, int, int, int]]:
    return Counter(
        (millis(row["window"]["start"]), millis(row["window"]["end"]), row["keys"], row["total"])
        for outcome in outcomes
        for row in outcome.results
    )


def test_the_last_of_three_operators_of_one_size_has_all_rows_of_the_first(
    spark: SparkSession,
) -> None:
    batches = generated(2, behind=120_000)
    expected, late = model.grid(batches, DELAY, model.tumbling(10_000))
    outcome = run_stream(spark, three_operators, SCHEMA, as_input(batches))

    assert shown(outcome) == of_all_keys(expected)
    assert late, "the stream should have late rows"
    assert outcome.observed("first")["transom_rows_late"] == len(late)
    for operator in ("second", "third"):
        observed = outcome.observed(operator)
        assert observed["transom_rows_in"] == len(expected)
        assert observed["transom_rows_late"] == 0


def test_a_restart_between_operators_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    batches = generated(3, behind=120_000)
    # After its last batch, a run has a batch without data.
    expected, _ = model.grid([*batches[:2], [], *batches[2:]], DELAY, model.tumbling(10_000))
    given = as_input(batches)
    parts = [
        run_stream(spark, three_operators, SCHEMA, part, checkpoint=tmp_path)
        for part in (given[:2], given[2:])
    ]
    assert shown(*parts) == of_all_keys(expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("native", "in_batch"),
    [
        (lambda: F.window("window", "10 seconds"), lambda: F.window("at", "10 seconds")),
        (
            lambda: F.window(F.window_time("window"), "30 seconds"),
            lambda: F.window("at", "30 seconds"),
        ),
        (
            lambda: F.session_window(F.window_time("window"), "15 seconds"),
            lambda: F.session_window("at", "15 seconds"),
        ),
    ],
    ids=["the same", "larger", "sessions"],
)
def test_sparks_own_windows_behind_ours(
    spark: SparkSession, native: Callable[[], Column], in_batch: Callable[[], Column]
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        grouped = counts(rows).groupBy("key", native().alias("window"))
        return grouped.agg(F.sum("rows").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, INPUT)
    grouped = native_counts(spark, F.window("time", "10 seconds")).groupBy(
        "key", in_batch().alias("window")
    )
    expected = fired(grouped.agg(F.sum("rows").alias("rows")))
    assert expected, "the stream should end windows"
    assert_same(outcome.results, expected, "key", "window")


def test_our_windows_behind_sparks_own(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("time", "5 seconds")
        counted = timed.groupBy("key", F.window("time", "10 seconds")).count()
        return transom.stream(counted, time="window").window(TEN).agg(F.sum("count").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, INPUT)
    grouped = native_counts(spark, F.window("time", "10 seconds")).groupBy("window")
    assert_same(outcome.results, fired(grouped.agg(F.sum("rows").alias("rows"))), "window")


def test_duplicates_among_results_are_dropped_by_spark(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return counts(rows).dropDuplicatesWithinWatermark(["window"])

    outcome = run_stream(spark, pipeline, SCHEMA, INPUT)
    expected = fired(native_counts(spark, F.window("time", "10 seconds")))
    assert Counter(row["window"] for row in outcome.results) == Counter(
        {row["window"] for row in expected}
    )
    assert {(row["key"], *row["window"], row["rows"]) for row in outcome.results} <= {
        (row["key"], *row["window"], row["rows"]) for row in expected
    }


def test_rows_without_duplicates_from_spark_are_windowed(spark: SparkSession) -> None:
    twice = [[*batch, *batch] for batch in INPUT]

    def pipeline(rows: DataFrame) -> DataFrame:
        single = rows.withWatermark("time", "5 seconds").dropDuplicatesWithinWatermark()
        windowed = transom.stream(single, time="time").key_by("key").window(TEN)
        return windowed.agg(F.count("*").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, twice)
    rows = spark.createDataFrame([row for batch in INPUT for row in batch], SCHEMA).distinct()
    expected = rows.groupBy("key", F.window("time", "10 seconds")).agg(F.count("*").alias("rows"))
    assert_same(outcome.results, fired(expected), "key", "window")


def test_windows_in_a_row_are_their_last_instants(spark: SparkSession) -> None:
    # A window that ends at 10 belongs to the window [0, 10), not to [10, 20).
    rows = [("a", instant(BASE) + timedelta(seconds=9.999999), 1)]  # type: ignore[operator]
    df = spark.createDataFrame(rows, SCHEMA)
    inner = transom.stream(df, time="time").window(TEN).agg(F.count("*").alias("rows"))
    outer = transom.stream(inner, time="window").window(TEN).agg(F.sum("rows").alias("rows"))
    assert outer.collect() == inner.collect()


def test_windows_that_a_table_stores_get_a_watermark_of_their_own(spark: SparkSession) -> None:
    def hour(start: int) -> tuple[tuple[datetime, datetime], int]:
        begin = datetime(2024, 1, 1) + timedelta(hours=start)
        return (begin, begin + timedelta(hours=1)), start

    def days(rows: DataFrame) -> DataFrame:
        ended = transom.EventTime("window", delay="0 seconds")
        by_day = transom.stream(rows, time=ended).window(transom.Tumbling(size="1 day"))
        return by_day.with_late_rows().agg(F.max("n").alias("most"))

    schema = "window struct<start: timestamp, end: timestamp>, n int"
    batches = [[hour(5), hour(23)], [hour(33)], [hour(24)], [hour(2)]]
    outcome = run_stream(spark, days, schema, batches)
    assert [(row["window"]["start"].day, row["most"]) for row in outcome.results] == [(1, 23)]
    # The late row has no hidden column.
    assert [row["row"].asDict()["n"] for row in outcome.late] == [2]
    assert list(outcome.late[0]["row"].asDict()) == ["window", "n"]
