"""Each source has a watermark of its own, and windows fire by the least of them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds, instant, seconds
from tests.end_to_end.support.real_time import LONG_BATCH, Values, real_time, run_real_time

SCHEMA = "key string, time timestamp, value int"
TEN = transom.Tumbling("10 seconds")


def tens(rows: DataFrame) -> DataFrame:
    by_key = transom.stream(rows, time=transom.EventTime("time", delay="0 seconds")).key_by("key")
    return by_key.window(TEN).with_late_rows().agg(values=F.sort_array(F.collect_list("value")))


def at(*rows: tuple[str, float | None, int]) -> list[Values]:
    return [(key, None if s is None else instant(s), value) for key, s, value in rows]


def test_a_window_fires_while_the_batch_runs(spark: SparkSession, tmp_path: Path) -> None:
    with real_time(spark, tens, SCHEMA, 1, tmp_path) as query:
        query.start(LONG_BATCH)
        query.add(0, at(("a", 1, 1), ("b", 2, 2), ("a", 10, 3)))
        query.wait_for(2)
        query.add(0, at(("a", 20, 4)))
        query.wait_for(3)
        found = [(row["key"], bounds(row), row["values"]) for row in query.outcome.results]
    assert sorted(found[:2]) == [("a", (0, 10), [1]), ("b", (0, 10), [2])]
    assert found[2:] == [("a", (10, 20), [3])]


def test_the_slowest_source_holds_windows_back(spark: SparkSession, tmp_path: Path) -> None:
    with real_time(spark, tens, SCHEMA, 2, tmp_path) as query:
        query.start()
        query.add(0, at(("a", 1, 1), ("a", 50, 2)))
        query.add(1, at(("a", 9, 3)))
        query.settle()
        assert query.rows == []
        query.add(1, at(("a", 10, 4)))
        query.settle()
        (fired,) = query.outcome.results
        assert (bounds(fired), fired["values"]) == ((0, 10), [1, 3])


def test_a_source_without_a_row_holds_windows_back(spark: SparkSession, tmp_path: Path) -> None:
    with real_time(spark, tens, SCHEMA, 3, tmp_path) as query:
        query.start()
        query.add(0, at(("a", 1, 1), ("a", 50, 2)))
        query.add(1, at(("a", 1, 3), ("a", 50, 4)))
        query.settle()
        # A row without a time says nothing about the time of its source.
        query.add(2, at(("a", None, 5)))
        query.settle()
        assert query.rows == []
        query.add(2, at(("a", 40, 6)))
        query.settle()
        assert [row["values"] for row in query.outcome.results] == [[1, 3]]


def test_a_row_is_late_by_its_own_source_alone(spark: SparkSession, tmp_path: Path) -> None:
    steps = [
        [at(("a", 1, 1), ("a", 30, 2)), at(("a", 2, 3))],
        # Both rows are in a window that is open, as the second source is at 2 seconds.
        [at(("a", 3, 4)), at(("a", 4, 5))],
        [[], at(("a", 30, 6))],
    ]
    outcome = run_real_time(spark, tens, SCHEMA, steps, tmp_path)
    assert [(bounds(row), row["values"]) for row in outcome.results] == [((0, 10), [1, 3, 5])]
    (late,) = outcome.late
    assert (late["row"]["value"], late["reason"]) == (4, "late")
    assert seconds(late["watermark"]) == 30
    assert [bounds_of(window) for window in late["missed_windows"]] == [(0, 10)]


def bounds_of(window: object) -> tuple[float, float]:
    return seconds(window["start"]), seconds(window["end"])  # type: ignore[index]


def test_watermarks_survive_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    steps = [
        [at(("a", 1, 1), ("a", 30, 2)), at(("a", 2, 3))],
        # The first source has no row in this run, and the second is at 9 seconds.
        [[], at(("a", 9, 4))],
        # The first source is at 30 seconds.
        [at(("a", 5, 5)), at(("a", 6, 6), ("a", 10, 7))],
    ]
    outcome = run_real_time(spark, tens, SCHEMA, steps, tmp_path, restart=True)
    assert [(bounds(row), row["values"]) for row in outcome.results] == [((0, 10), [1, 3, 4, 6])]
    assert [row["row"]["value"] for row in outcome.late] == [5]


def test_rows_may_be_joined_with_a_static_table(spark: SparkSession, tmp_path: Path) -> None:
    names = spark.createDataFrame([("a", "Ann"), ("b", "Bob")], "key string, name string")

    def named(rows: DataFrame) -> DataFrame:
        # Without the hint, Spark would add a shuffle, which it refuses in this mode.
        both = rows.join(F.broadcast(names), "key")
        clock = transom.EventTime("time", delay="0 seconds")
        by_name = transom.stream(both, time=clock).key_by("name")
        return by_name.window(TEN).agg(n=F.count("*"))

    rows = at(("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("a", 11, 4))
    outcome = run_real_time(spark, named, SCHEMA, [[rows]], tmp_path)
    assert sorted((row["name"], row["n"]) for row in outcome.results) == [("Ann", 1), ("Bob", 1)]
