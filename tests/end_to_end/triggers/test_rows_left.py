"""The warning about rows without a result is right: it comes if, and only if, rows are lost."""

import warnings
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "second long, v int"
# The three rows of the first window end with their batch. The next row moves the watermark.
BATCHES: list[Any] = [[(1, 1), (2, 1), (3, 2)], [(50, 0)]]
COUNT = transom.AfterCount(2)


def rows_in_results(spark: SparkSession, trigger: transom.Trigger) -> int:
    """How many of the first three rows a result covers."""

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
        windows = transom.stream(rows, time=clock).window(transom.Tumbling("10 seconds"))
        return windows.trigger(trigger).agg(ids=F.collect_set("second"))

    results = run_stream(spark, pipeline, SCHEMA, BATCHES).results
    return len({second for row in results for second in row["ids"] if second < 10})


@pytest.mark.parametrize(
    "trigger",
    [
        COUNT,
        transom.Purging(COUNT),
        transom.AfterDelta(lambda old, new: new["v"] - old["v"], threshold=5),
        transom.When("second = 2"),
        transom.EndOfStream(),
    ],
    ids=lambda trigger: type(trigger).__name__,
)
def test_rows_after_the_last_firing_are_lost_with_a_warning(
    spark: SparkSession, trigger: transom.Trigger
) -> None:
    with pytest.warns(transom.TransomWarning, match="TRANSOM_ROWS_LEFT"):
        assert rows_in_results(spark, trigger) < 3


@pytest.mark.parametrize(
    "trigger",
    [
        transom.AfterCount(1),
        transom.EveryBatch(),
        transom.Every("3 seconds"),
        transom.AfterLateness(),
        transom.AfterWatermark(early=COUNT),
        transom.AfterWatermark(early=transom.Purging(COUNT)),
        transom.ProcessingTimeout(COUNT, after="1 hour"),
    ],
    ids=lambda trigger: type(trigger).__name__,
)
def test_other_triggers_give_all_rows_a_result(
    spark: SparkSession, trigger: transom.Trigger
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        assert rows_in_results(spark, trigger) == 3
