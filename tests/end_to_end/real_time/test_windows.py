"""Each kind of window in Real-Time Mode, against a model or against the same rows at rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models import real_time as real_time_model
from tests.end_to_end.models.streams import BASE, instant, millis
from tests.end_to_end.support.real_time import Pipeline, Values, real_time, run_real_time

SCHEMA = "id int, key string, time timestamp, value int, gap int"
DELAY = 4_000
LAST = "last"
# So far ahead that the watermark passes the end of each window of other rows.
FAR = 1_000_000_000

Modelled = tuple[str, int | None, int]
Sources = list[list[Values]]


def sources(seed: int, *, partitions: int = 3, disorder: int = 3_000) -> Sources:
    """Rows of three minutes: out of order, some keys and times null, one source behind."""
    chosen = random.Random(seed)

    def row(number: int, partition: int, count: int) -> Values:
        time = number * 180_000 // count - 10_000 * partition - chosen.randrange(disorder)
        return (
            1_000 * partition + number,
            chosen.choice("abc"),
            instant(BASE + time // 500 * 500),
            chosen.randrange(100),
            chosen.choice([1, 4, 9]),
        )

    counts = [chosen.randrange(40, 80) for _ in range(partitions)]
    return [[row(n, p, count) for n in range(count)] for p, count in enumerate(counts)]


def with_end(rows: Sources) -> Sources:
    """The rows with a last row in each source, after which all windows of the others are over."""
    return [[*part, (-1, LAST, instant(BASE + FAR), 0, 1)] for part in rows]


def modelled(rows: Sources) -> list[list[model.Row]]:
    return [[(row[1], millis(row[2]), row[3]) for row in part] for part in rows]


def clocked(rows: DataFrame) -> transom.Stream:
    delay = timedelta(milliseconds=DELAY)
    return transom.stream(rows, time=transom.EventTime("time", delay=delay)).key_by("key")


def counted(window: transom.Window) -> Pipeline:
    return lambda rows: (
        clocked(rows).window(window).with_late_rows().agg(n=F.count("*"), s=F.sum("value"))
    )


def shown(results: Sequence[Row]) -> list[model.Result]:
    return sorted(
        (
            row["key"],
            millis(row["window"]["start"]),
            millis(row["window"]["end"]),
            row["n"],
            row["s"],
        )
        for row in results
    )


MINUTE = 60_000
GRIDS: dict[str, tuple[transom.Window, model.Assign, int]] = {
    "tumbling": (transom.Tumbling("7 seconds"), model.tumbling(7_000), 0),
    "offset": (
        transom.Tumbling("10 seconds", offset="3 seconds"),
        model.tumbling(10_000, 3_000),
        0,
    ),
    "hopping": (transom.Hopping("10 seconds", "4 seconds"), model.hopping(10_000, 4_000), 0),
    "sampling": (transom.Hopping("4 seconds", "10 seconds"), model.hopping(4_000, 10_000), 0),
    "cumulating": (transom.Cumulate("20 seconds", "5 seconds"), model.cumulate(20_000, 5_000), 0),
    "ends included": (
        transom.Tumbling("5 seconds", closed="right"),
        model.tumbling(5_000),
        1,
    ),
    "calendar": (
        transom.Calendar("day", time_zone="Australia/Lord_Howe"),
        model.calendar("day", "Australia/Lord_Howe"),
        0,
    ),
}


# A row may be 20 seconds behind its source, and the watermark is only 4.
@pytest.mark.parametrize("name", GRIDS)
def test_grids_have_the_results_of_a_model(spark: SparkSession, tmp_path: Path, name: str) -> None:
    window, assign, tick = GRIDS[name]
    rows = with_end(sources(seed=len(name), disorder=20_000))
    outcome = run_real_time(spark, counted(window), SCHEMA, [rows], tmp_path)
    fired, late = real_time_model.grid(modelled(rows), DELAY, assign, tick=tick)
    assert shown(outcome.results) == sorted(fired)
    assert sorted(
        (row["row"]["key"], millis(row["row"]["time"]), row["row"]["value"]) for row in outcome.late
    ) == sorted(late)
    assert fired
    assert (late != []) == (name != "calendar")


@pytest.mark.parametrize("inclusive", [True, False])
def test_sessions_have_the_results_of_a_model(
    spark: SparkSession,
    tmp_path: Path,
    inclusive: bool,  # noqa: FBT001, a parameter of the test
) -> None:
    window = transom.Session("2 seconds", inclusive=inclusive)
    rows = with_end(sources(seed=3))
    outcome = run_real_time(spark, counted(window), SCHEMA, [rows], tmp_path)
    fired = real_time_model.sessions(modelled(rows), DELAY, 2_000, inclusive=inclusive)
    assert shown(outcome.results) == sorted(fired)
    assert outcome.late == []


def listed(window: transom.Windowed) -> DataFrame:
    return window.agg(n=F.count("*"), ids=F.sort_array(F.collect_list("id")))


def gap() -> Column:
    return F.make_dt_interval(secs=F.col("gap"))


AT_REST: dict[str, Callable[[transom.Stream], DataFrame]] = {
    "a gap for each row": lambda s: listed(s.window(transom.Session(gap()))),
    "a gap that does not touch": lambda s: listed(
        s.window(transom.Session("3 seconds", inclusive=False))
    ),
    "sessions that end after some time": lambda s: listed(
        s.window(transom.Session("6 seconds", max_duration="20 seconds"))
    ),
    "a time zone": lambda s: listed(
        s.window(transom.Calendar("month", time_zone="America/New_York"))
    ),
    "days that end at their last instant": lambda s: listed(
        s.window(transom.Calendar("day", time_zone="Asia/Kathmandu", closed="right"))
    ),
    "windows of a column": lambda s: listed(
        s.window(
            transom.Custom(
                F.array(
                    F.struct(
                        F.col("time").alias("start"),
                        (F.col("time") + F.expr("interval 3 seconds")).alias("end"),
                    )
                )
            )
        )
    ),
    "several windows in one pass": lambda s: listed(
        s.window(
            transom.Windows(
                {
                    "short": transom.Tumbling("5 seconds"),
                    "long": transom.Hopping("30 seconds", "10 seconds"),
                    "session": transom.Session("3 seconds"),
                }
            )
        )
    ),
    "the keyed layout": lambda s: listed(
        s.window(transom.Tumbling("9 seconds")).options(layout="keyed")
    ),
    "many aggregates": lambda s: s.window(transom.Tumbling("9 seconds")).agg(
        F.count("*").alias("n"),
        F.avg("value").alias("mean"),
        F.min("time").alias("first"),
        F.max_by("id", F.struct("value", "id")).alias("best"),
        F.count_distinct("value").alias("distinct"),
        F.approx_count_distinct("value").alias("about"),
        F.sum("value").alias("sum"),
        F.expr("count(*) FILTER (WHERE value > 50)").alias("large"),
        F.sort_array(F.collect_set("value")).alias("set"),
        F.percentile("value", F.lit(0.5)).alias("median"),
        F.expr("max(named_struct('a', value, 'b', id))").alias("largest"),
    ),
    "a retraction": lambda s: listed(s.window(transom.Tumbling("9 seconds")).retract()),
    "a top": lambda s: s.window(transom.Tumbling("20 seconds")).top(3, F.desc("value"), "id"),
}


@pytest.mark.parametrize("name", AT_REST)
def test_windows_have_the_results_of_rows_at_rest(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        return AT_REST[name](clocked(rows))

    rows = with_end(sources(seed=len(name)))
    at_rest = spark.createDataFrame([row for part in rows for row in part], SCHEMA)
    expected = pipeline(at_rest).where(F.col("key") != LAST).collect()
    outcome = run_real_time(spark, pipeline, SCHEMA, [rows], tmp_path)
    assert sorted(map(str, outcome.results)) == sorted(map(str, expected))
    assert expected


def test_windows_over_all_rows_have_one_key(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        delay = timedelta(milliseconds=DELAY)
        stream = transom.stream(rows, time=transom.EventTime("time", delay=delay))
        return stream.window_all(transom.Tumbling("1 minute")).agg(n=F.count("*"))

    rows = with_end(sources(seed=1))
    outcome = run_real_time(spark, pipeline, SCHEMA, [rows], tmp_path)
    at_rest = spark.createDataFrame([row for part in rows for row in part], SCHEMA)
    last = instant(BASE + FAR - MINUTE)
    expected = pipeline(at_rest).where(F.col("window.start") < F.lit(last)).collect()
    assert sorted(map(str, outcome.results)) == sorted(map(str, expected))


def test_rows_that_no_window_can_take_are_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        windows = clocked(rows).window(transom.Tumbling("10 seconds"))
        return windows.with_late_rows().with_dead_letters().agg(n=F.count("*"))

    rows: Sources = [
        [
            (0, "a", None, 1, 1),
            (1, "a", instant(BASE), 1, 1),
            (2, "a", None, 1, 1),
            (3, "a", instant(BASE + 30_000), 1, 1),
            (4, "a", instant(BASE + 1_000), 1, 1),
            (5, None, None, 1, 1),
        ]
    ]
    with real_time(spark, pipeline, SCHEMA, 1, tmp_path) as query:
        query.start()
        query.add(0, rows[0])
        query.settle()
        found: list[Any] = query.rows
    by_tag = {tag: [row for row in found if row["tag"] == tag] for tag in {r["tag"] for r in found}}
    assert [row["results"]["n"] for row in by_tag["results"]] == [1]
    assert [row["late"]["row"]["id"] for row in by_tag["late"]] == [4]
    dead = [
        (row["dead_letters"]["row"]["id"], row["dead_letters"]["reason"])
        for row in by_tag["dead_letters"]
    ]
    assert sorted(dead) == [(0, "no_time"), (2, "no_time"), (5, "no_time")]
