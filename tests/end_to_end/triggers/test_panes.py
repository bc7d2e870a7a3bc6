"""The column `pane` in real queries: which firing of its window a result comes from."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import Step, run_clocked

TEN = transom.Tumbling(size="10 seconds")


def values() -> Column:
    return F.collect_list("value").alias("values")


def test_panes_tell_how_they_stand_to_their_window(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        trigger = transom.AfterWatermark(early=transom.AfterCount(2))
        late = stream.window(TEN).trigger(trigger).allowed_lateness("5 seconds")
        return late.with_pane().agg(values())

    steps: list[Step] = [[("a", 1, 1), ("a", 2, 2)], 10, [("a", 3, 3)], 15]
    panes = [row["pane"] for row in run_clocked(spark, pipeline, steps).results]
    assert panes == [
        Row(index=0, timing="early", is_last=False, number=None, cause="rows"),
        Row(index=1, timing="on_time", is_last=False, number=None, cause="watermark"),
        Row(index=2, timing="late", is_last=False, number=None, cause="rows"),
    ]


def test_only_a_firing_at_the_end_of_the_lateness_is_the_last(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        late = stream.window(TEN).trigger(transom.AfterLateness()).allowed_lateness("5 seconds")
        return late.with_pane().agg(values())

    steps: list[Step] = [[("a", 1, 1)], 10, [("a", 3, 3)], 15]
    panes = [row["pane"] for row in run_clocked(spark, pipeline, steps).results]
    assert panes == [Row(index=0, timing="late", is_last=True, number=None, cause="watermark")]


def test_both_rows_of_a_change_have_the_pane_of_the_new_firing(spark: SparkSession) -> None:
    def pipeline(stream: transom.Stream) -> DataFrame:
        trigger = transom.AfterWatermark(early=transom.AfterCount(1))
        return stream.window(TEN).trigger(trigger).retract().with_pane().agg(values())

    # The firing at the end repeats the values, so it emits nothing.
    steps: list[Step] = [[("a", 1, 1)], [("a", 2, 2)], 10]
    rows = run_clocked(spark, pipeline, steps).results
    assert [(row["change"], row["pane"]["index"], row["pane"]["is_last"]) for row in rows] == [
        ("+I", 0, False),
        ("-U", 1, False),
        ("+U", 1, False),
    ]
