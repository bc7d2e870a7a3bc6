"""Triggers and evictors with the user's own expressions, against a model."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import Step, kept, run_clocked

Rows = list[Row]


def farther(old: Column, new: Column) -> Column:
    return new["value"] - old["value"]


def apart(old: Column, new: Column) -> Column:
    return F.abs(farther(old, new))


def average(rows: Rows) -> float:
    known = [row.value for row in rows if row.value is not None]
    return mean(known) if known else float("inf")


def is_value(row: Row, test: Callable[[int], bool]) -> bool:
    """Whether a predicate on the value holds. It does not hold for null."""
    return row.value is not None and test(row.value)


@dataclass
class FarFromLast:
    """Whether a row is far from the row of the last firing. Called once for each row in order."""

    threshold: float
    fired: Row | None = None

    def __call__(self, row: Row, _: Rows) -> bool:
        last, self.fired = self.fired, self.fired or row
        far = last is not None and is_distance(last, row, lambda far: far > self.threshold)
        self.fired = row if far else self.fired
        return far


def is_distance(old: Row, new: Row, test: Callable[[int], bool]) -> bool:
    return None not in (old.value, new.value) and test(abs(new.value - old.value))


Predicate = Callable[[Row, Rows], bool]


@dataclass(frozen=True)
class Case:
    """A trigger and an evictor, with the functions that model them."""

    trigger: transom.Trigger
    fires: Callable[[], Predicate]
    evictor: transom.Evictor | None = None
    keeps: Predicate = lambda *_: True
    evicts_after: bool = False


CASES = {
    "a row and aggregates": Case(
        transom.When("value > 40 AND count(*) >= 3 AND flag"),
        lambda: lambda row, rows: is_value(row, lambda v: v > 40) and len(rows) >= 3 and row.flag,
    ),
    "aggregates between numbers": Case(
        transom.When("count(*) BETWEEN 2 AND 9 AND size(collect_set(flag)) = 2"),
        lambda: lambda _, rows: 2 <= len(rows) <= 9 and len({row.flag for row in rows}) == 2,
    ),
    "a purge": Case(
        transom.Purging(transom.When("count(*) = 3")),
        lambda: lambda row, _: row.place % 3 == 2,
        # The model does not purge, so this keeps the last three rows only.
        keeps=lambda row, pane: row.place > pane[-1].place - 3,
    ),
    "a distance": Case(
        transom.AfterDelta(apart, threshold=20.5),
        lambda: FarFromLast(20.5),
        transom.KeepNear(apart, threshold=30),
        lambda row, pane: is_distance(row, pane[-1], lambda far: far < 30),
    ),
    "rows above the average": Case(
        transom.AfterCount(4),
        lambda: lambda row, _: row.place % 4 == 3,
        transom.KeepWhere("value >= avg(value)"),
        lambda row, pane: is_value(row, lambda v: v >= average(pane)),
    ),
    "rows by themselves, after the function": Case(
        transom.When("flag"),
        lambda: lambda row, _: row.flag,
        transom.KeepWhere("value % 2 = 0", when="after"),
        lambda row, _: is_value(row, lambda v: v % 2 == 0),
        evicts_after=True,
    ),
}


def model(case: Case, rows: Rows) -> list[list[int | None]]:
    """The values of each result of a key, in the order of the results."""
    contents: Rows = []
    fires = case.fires()
    results = []
    for row in rows:
        contents.append(row)
        if fires(row, contents):
            pane = list(contents)
            left = [row for row in pane if case.keeps(row, pane)]
            results.append([row.value for row in (pane if case.evicts_after else left)])
            contents = contents if case.evictor is None else left
    return results


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    generator = random.Random(4)
    places = [(key, place) for place in range(40) for key in "abc"]
    values = [
        (key, place, generator.choice([None, *range(60)]), generator.random() < 0.4)
        for key, place in places
    ]
    return spark.createDataFrame(values, "key string, place int, value int, flag boolean")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_windows_ask_as_the_rules_say(rows: DataFrame, case: Case) -> None:
    windowed = transom.stream(rows.repartition(3), order="place").key_by("key")
    chosen = windowed.window(transom.Global()).trigger(case.trigger)
    if case.evictor is not None:
        chosen = chosen.evictor(case.evictor)
    # `collect_list` skips null.
    values = F.collect_list(F.coalesce("value", F.lit(-1))).alias("values")
    results = chosen.agg(values).collect()
    by_key: dict[str, Rows] = {}
    for row in rows.collect():
        by_key.setdefault(row.key, []).append(row)
    assert len(results) > len(by_key)
    for key, own in by_key.items():
        expected = [[-1 if v is None else v for v in values] for values in model(case, own)]
        assert [row["values"] for row in results if row.key == key] == expected


def test_what_only_a_condition_reads_changes_no_result_and_goes_with_its_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        trigger = transom.AfterWatermark(early=transom.When("sum(value) >= 10 AND value < 5"))
        windowed = stream.window(transom.Session(gap="5 seconds")).trigger(trigger)
        return windowed.retract().drain().agg(F.max("value").alias("largest"))

    steps: list[Step] = [
        [("a", 1, 4), ("b", 1, 4), ("a", 11, 7)],
        # The first row joins both sessions of a: 4 + 7 + 3. The second row changes only the sum.
        [("a", 6, 3), ("a", 7, 1), ("b", 2, 4)],
        [("b", 3, 4)],
    ]
    results = run_clocked(spark, pipeline, steps, checkpoint=tmp_path).results
    assert [(row["key"], row["change"], row["largest"]) for row in results] == [
        ("a", "+I", 7),
        ("b", "+I", 4),
    ]
    assert kept(spark, tmp_path) == {}


def test_the_row_of_the_last_firing_outlasts_restarts(spark: SparkSession, tmp_path: Path) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        windowed = stream.window(transom.Global()).evictor(transom.KeepRecent("10 seconds"))
        far = windowed.trigger(transom.AfterDelta(farther, threshold=5))
        return far.with_pane().agg(F.collect_list("value").alias("values"))

    runs: list[list[Step]] = [
        [[("a", 1, 1), ("a", 2, 6)], [("a", 13, 7)]],
        [[("a", 14, 12), ("b", 1, 20)], [("a", 15, 13)]],
    ]
    results = [
        (row["pane"]["index"], row["values"])
        for steps in runs
        for row in run_clocked(spark, pipeline, steps, checkpoint=tmp_path).results
    ]
    assert results == [(0, [7]), (1, [7, 12, 13])]
    # The key a has three rows and the row of its last firing. The key b has its only row twice.
    assert kept(spark, tmp_path) == {"keys": 2, "rows": 6}
