"""Early results of a session that grows while they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import START, bounds
from tests.end_to_end.support.wall_clock import Step, run_on_clock

GAP = 30
# A row every second, and a clock that moves with the rows. The last row moves time past the end.
LAST = 11
STEPS: list[Step] = [step for second in range(LAST + 1) for step in (second, [(second,)])]
END: list[Step] = [100, [(100,)]]
EVERY = transom.Every("5 seconds", clock="processing", aligned=False)

Result = tuple[float, float, int]


def run(
    spark: SparkSession,
    folder: Path,
    steps: Callable[[transom.Windowed], transom.Windowed],
    more: list[Step] = END,
) -> list[list[Row]]:
    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.withColumn("at", F.lit(START) + F.expr("make_dt_interval(0, 0, 0, second)"))
        clock = transom.EventTime("at", delay="0 seconds")
        session = transom.stream(timed, time=clock).window(transom.Session(f"{GAP} seconds"))
        return steps(session).agg(n=F.count("*"))

    return run_on_clock(spark, pipeline, "second int", [*STEPS, *more], folder=folder)


def results(given: list[list[Row]]) -> list[Result]:
    return [(*bounds(row), row["n"]) for rows in given for row in rows]


def test_parts_that_a_timer_purges_add_up_to_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    trigger = transom.Purging(transom.AfterWatermark(early=EVERY))
    found = results(run(spark, tmp_path, lambda w: w.trigger(trigger)))
    assert sum(n for _, _, n in found) == LAST + 1
    assert [n for _, _, n in found[:2]] == [6, 5]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ends", [True, False])
def test_a_session_fires_with_each_number_of_rows(
    spark: SparkSession, tmp_path: Path, *, ends: bool
) -> None:
    five = transom.AfterCount(5)
    trigger = transom.AfterWatermark(early=five) if ends else five

    def triggered(windowed: transom.Windowed) -> transom.Windowed:
        if ends:
            return windowed.trigger(trigger)
        with pytest.warns(UserWarning, match="TRANSOM_ROWS_LEFT"):
            return windowed.trigger(trigger)

    found = results(run(spark, tmp_path, triggered))
    last = [(0, LAST + GAP, LAST + 1)] if ends else []
    assert found == [(0, 4 + GAP, 5), (0, 9 + GAP, 10), *last]
