"""Rows that cannot be assigned to a window: they are counted and never end a query."""

from __future__ import annotations

from collections import Counter
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.results.test_route import at
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import Batch, run_stream

SCHEMA = "key string, micros long, value int"
# The years -29719 and 33658.
LONG_AGO, FAR_AWAY = -(10**18), 10**18


def second(number: int) -> int:
    return number * 1_000_000


def by_key(rows: DataFrame, window: transom.Window) -> transom.Windowed:
    clock = transom.EventTime(F.timestamp_micros("micros"), delay="0 seconds")
    return transom.stream(rows, time=clock).key_by("key").window(window)


def shown(dead: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter((tuple(row["row"]), row["reason"], row["time"]) for row in dead)


def test_rows_without_a_usable_time_stand_beside_late_rows(spark: SparkSession) -> None:
    def counts(rows: DataFrame) -> DataFrame:
        tens = by_key(rows, transom.Tumbling(size="10 seconds")).options(name="tens")
        return tens.with_late_rows().with_dead_letters().agg(F.count("*").alias("n"))

    batches: list[Batch] = [
        [("a", second(1), 1), ("a", None, 2), (None, LONG_AGO, 3)],
        [("a", second(30), 4)],
        [("a", second(31), 5)],
        [("b", second(5), 6), ("b", None, 7), ("b", FAR_AWAY, 8)],
    ]
    results, late, dead = Kept(), Kept(), Kept()
    writer = transom.route(results=results, late=late, dead_letters=dead)
    outcome = run_stream(spark, counts, SCHEMA, batches, writer=writer)

    # Spark's watermark has followed the time far in the future, so all windows have fired.
    assert [(row["key"], row["window"]["start"], row["n"]) for row in results.rows] == [
        ("a", at(0), 1),
        ("a", at(30), 2),
    ]
    assert [tuple(row["row"]) for row in late.rows] == [("b", second(5), 6)]
    assert shown(dead.rows) == Counter(
        [
            (("a", None, 2), "no_time", None),
            ((None, LONG_AGO, 3), "time_out_of_range", None),
            (("b", None, 7), "no_time", None),
            (("b", FAR_AWAY, 8), "time_out_of_range", None),
        ]
    )
    assert dead.rows[0].__fields__ == late.rows[0].__fields__
    assert {row["watermark"] for row in dead.rows} == {None, at(30)}
    assert {(row["operator"], tuple(row["missed_windows"])) for row in dead.rows} == {("tens", ())}
    (query,) = {progress.id for progress in outcome.progress}
    assert {row["query"] for row in late.rows + dead.rows} == {str(query)}
    assert all(row["processed_at"].year > 2000 for row in dead.rows)
    observed = outcome.observed("tens")
    assert observed["transom_rows_without_time"] == 2
    assert observed["transom_rows_out_of_range"] == 2
    assert observed["transom_rows_late"] == 1


@pytest.mark.parametrize(
    "window", [transom.Tumbling(size="10 seconds"), transom.Session(gap="10 seconds")], ids=str
)
def test_they_name_their_query_in_every_thread(spark: SparkSession, window: transom.Window) -> None:
    dead = Kept()

    def save(rows: DataFrame, batch_id: int) -> None:
        reading = Thread(target=dead, args=(transom.untag(rows, "dead_letters"), batch_id))
        reading.start()
        reading.join()

    def first(rows: DataFrame) -> DataFrame:
        windowed = by_key(rows, window).trigger(transom.AfterCount(1))
        return windowed.with_dead_letters().agg(F.count("*").alias("n"))

    outcome = run_stream(spark, first, SCHEMA, [[("a", None, 1)]], writer=save)
    (query,) = {progress.id for progress in outcome.progress}
    assert [row["query"] for row in dead.rows] == [str(query)]


def test_a_time_that_cannot_be_parsed_makes_a_dead_letter(spark: SparkSession) -> None:
    def counts(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime(F.try_to_timestamp("written"), delay="0 seconds")
        tens = transom.stream(rows, time=clock).window(transom.Tumbling(size="10 seconds"))
        return tens.with_dead_letters().drain().agg(F.count("*").alias("n"))

    batches: list[Batch] = [[("1970-01-01 00:00:21",), ("at noon",)], [("1970-01-01 00:00:22",)]]
    outcome = run_stream(spark, counts, "written string", batches)
    assert [(row["window"]["start"], row["n"]) for row in outcome.results] == [(at(20), 2)]
    tagged = [row for batch in outcome.by_batch.values() for row in batch]
    dead = [row["dead_letters"] for row in tagged if row["tag"] == "dead_letters"]
    assert shown(dead) == Counter([(("at noon",), "no_time", None)])
    assert outcome.observed()["transom_rows_without_time"] == 1


def test_they_pass_by_functions_over_windows_of_single_keys(spark: SparkSession) -> None:
    def longest(rows: pa.Table) -> pa.Table:
        return pa.table({"longest": [max(rows["value"].to_pylist())]})

    def sessions(rows: DataFrame) -> DataFrame:
        gap = F.make_dt_interval(secs=F.col("value"))
        windowed = by_key(rows, transom.Session(gap=gap)).with_late_rows().with_dead_letters()
        return windowed.apply(longest, "longest int")

    batches: list[Batch] = [
        [("a", second(1), 3), ("a", second(2), 0), ("a", second(2), -1), ("b", second(3), None)],
        [("a", second(3), 4), ("b", second(40), 1), ("a", None, 1)],
        [("b", second(41), 1)],
        [("a", second(4), 2)],
    ]
    rows = [
        row
        for batch in run_stream(spark, sessions, SCHEMA, batches).by_batch.values()
        for row in batch
    ]
    results = [row["results"] for row in rows if row["tag"] == "results"]
    assert [(tuple(row["window"]), row["longest"]) for row in results] == [((at(1), at(7)), 4)]
    assert [row["late"]["row"]["value"] for row in rows if row["tag"] == "late"] == [2]
    assert shown([row["dead_letters"] for row in rows if row["tag"] == "dead_letters"]) == Counter(
        [
            (("a", second(2), 0), "bad_gap", at(2)),
            (("a", second(2), -1), "bad_gap", at(2)),
            (("b", second(3), None), "bad_gap", at(3)),
            (("a", None, 1), "no_time", None),
        ]
    )


def test_a_static_dataframe_has_them_too(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("a", second(1), 3), ("a", second(2), 0), ("b", None, 1), ("b", FAR_AWAY, 2)], SCHEMA
    )
    end = "timestamp_micros(micros) + make_dt_interval(0, 0, 0, value)"
    own = F.expr(f"array(named_struct('start', timestamp_micros(micros), 'end', {end}))")
    without_time = [
        (("b", None, 1), "no_time", None),
        (("b", FAR_AWAY, 2), "time_out_of_range", None),
    ]

    for window, bad, n in [
        (transom.Tumbling(size="10 seconds"), [], 2),
        (transom.Custom(windows=own), [(("a", second(2), 0), "bad_windows", at(2))], 1),
    ]:
        windowed = by_key(rows, window).with_late_rows().with_dead_letters()
        tagged = windowed.agg(F.count("*").alias("n")).cache()
        assert [row["n"] for row in transom.untag(tagged, "results").collect()] == [n]
        assert transom.untag(tagged, "late").collect() == []
        dead = transom.untag(tagged, "dead_letters").collect()
        assert shown(dead) == Counter([*without_time, *bad])
        assert {(row["watermark"], row["query"]) for row in dead} == {(None, None)}


def test_a_gap_or_a_list_of_windows_that_fails_ends_the_query(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a", second(1), 0)], SCHEMA)
    gap = F.make_dt_interval(F.lit(0), F.lit(0), F.lit(0), F.expr("1 / value"))
    instant = F.expr("timestamp_seconds(1 / value)")
    listed = F.array(F.struct(instant.alias("start"), instant.alias("end")))
    for window in (transom.Session(gap), transom.Custom(listed)):
        counts = by_key(rows, window).with_dead_letters().agg(n=F.count("*"))
        with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
            counts.collect()
