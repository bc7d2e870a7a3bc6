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
# The third row is late, and it comes in the hour that keeps its window. The last row drops it.
LATE: list[Any] = [
    [(1, 1), (2, 1)],
    [(50, 0)],
    [(51, 0)],
    [(3, 1), (52, 0)],
    [(9999, 0)],
    [(10000, 0)],
]
# The third row is not late, and it comes in the batch whose watermark drops its window.
DROPPED: list[Any] = [[(1, 1), (2, 1)], [(50, 0)], [(3, 1), (51, 0)]]
COUNT = transom.AfterCount(2)


def rows_in_results(
    spark: SparkSession,
    trigger: transom.Trigger,
    batches: list[Any] = BATCHES,
    lateness: str = "0 seconds",
) -> int:
    """How many of the rows of the first window a result covers."""

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
        windows = transom.stream(rows, time=clock).window(transom.Tumbling("10 seconds"))
        return windows.allowed_lateness(lateness).trigger(trigger).agg(ids=F.collect_set("second"))

    results = run_stream(spark, pipeline, SCHEMA, batches).results
    return len({second for row in results for second in row["ids"] if second < 10})


@pytest.mark.sampled(2)
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


def test_in_event_time_the_wall_clock_leaves_rows_with_a_warning(spark: SparkSession) -> None:
    advice = r"TRANSOM_ROWS_LEFT.* Write transom.AfterWatermark\(\) "
    with pytest.warns(transom.TransomWarning, match=advice):
        assert rows_in_results(spark, transom.AfterClock(), DROPPED) == 2
    assert rows_in_results(spark, transom.AfterWatermark(), DROPPED) == 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "late",
    [None, transom.AfterCount(2), transom.Every("1 hour", clock="processing")],
    ids=repr,
)
def test_late_rows_that_fire_no_window_are_lost_with_a_warning(
    spark: SparkSession, late: transom.Trigger | None
) -> None:
    with pytest.warns(transom.TransomWarning, match="TRANSOM_LATE_ROWS_LEFT"):
        assert rows_in_results(spark, transom.AfterWatermark(late=late), LATE, "1 hour") == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "trigger",
    [
        transom.AfterWatermark(),
        transom.AfterWatermark(late=transom.Every("1 hour")),
        transom.AfterLateness(),
        transom.EveryBatch(),
    ],
    ids=repr,
)
def test_other_triggers_give_late_rows_a_result(
    spark: SparkSession, trigger: transom.Trigger
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        assert rows_in_results(spark, trigger, LATE, "1 hour") == 3


@pytest.mark.parametrize("trigger", [transom.AfterWatermark(), transom.AfterLateness()], ids=repr)
def test_windows_without_end_warn_of_triggers_for_ends(
    spark: SparkSession, trigger: transom.Trigger
) -> None:
    def pipeline(rows: DataFrame) -> transom.Windowed:
        clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
        windows = transom.stream(rows, time=clock).window(transom.Global())
        with pytest.warns(transom.TransomWarning, match="TRANSOM_NO_END"):
            return windows.trigger(trigger)

    def drained(rows: DataFrame) -> DataFrame:
        return pipeline(rows).drain().agg(n=F.count("*"))

    waiting = run_stream(spark, lambda rows: pipeline(rows).agg(n=F.count("*")), SCHEMA, BATCHES)
    assert waiting.results == []
    assert [row["n"] for row in run_stream(spark, drained, SCHEMA, BATCHES).results] == [4]


@pytest.mark.parametrize(
    "trigger",
    [
        transom.EndOfStream(),
        transom.EveryBatch(),
        transom.AfterCount(100),
        transom.AfterWatermark(early=COUNT),
    ],
    ids=lambda trigger: type(trigger).__name__,
)
def test_windows_without_end_warn_of_no_other_trigger(
    spark: SparkSession, trigger: transom.Trigger
) -> None:
    rows = spark.readStream.format("rate").load()
    clock = transom.EventTime("timestamp", delay="0 seconds")
    windows = transom.stream(rows, time=clock).window(transom.Global())
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        windows.trigger(trigger)


def test_static_rows_end_so_triggers_for_ends_cause_no_warning(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 1), (2, 1), (50, 0)], SCHEMA)
    timed = transom.stream(rows, time=F.timestamp_seconds("second"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        ever = timed.window(transom.Global()).trigger(transom.AfterWatermark())
        tens = timed.window(transom.Tumbling("10 seconds"))
        ended = [tens.trigger(trigger) for trigger in (transom.AfterClock(), transom.EndOfStream())]
    assert [row["n"] for row in ever.agg(n=F.count("*")).collect()] == [3]
    for windows in ended:
        assert sorted(row["n"] for row in windows.agg(n=F.count("*")).collect()) == [1, 2]


def test_windows_that_are_open_when_a_stream_is_drained_fire_by_its_end(
    spark: SparkSession,
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
        windows = transom.stream(rows, time=clock).window(transom.Tumbling("10 seconds"))
        return windows.trigger(transom.EndOfStream()).drain().agg(n=F.count("*"))

    results = run_stream(spark, pipeline, SCHEMA, BATCHES).results
    # The watermark of 50 drops the first window before the input ends.
    assert [(row["window"]["start"].second, row["n"]) for row in results] == [(50, 1)]


@pytest.mark.sampled(2)
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


def rows_of_drained(spark: SparkSession, window: transom.Window, trigger: Any = None) -> int:
    """How many of the four rows of a drained stream a result covers."""

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
        windows = transom.stream(rows, time=clock, order="second").window(window)
        chosen = windows if trigger is None else windows.trigger(trigger)
        return chosen.drain().agg(ids=F.collect_set("second"))

    results = run_stream(spark, pipeline, SCHEMA, [[(1, 1), (2, 1)], [(3, 1), (4, 1)]]).results
    return len({second for row in results for second in row["ids"]})


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("window", "trigger"),
    [
        (transom.Count(3), None),
        (transom.Count(3, 2), None),
        (transom.Count(3, partial=True), None),
        (transom.Global(), transom.AfterCount(3)),
        (transom.Global(), transom.ProcessingTimeout(transom.AfterCount(3), after="1 hour")),
    ],
    ids=repr,
)
def test_rows_that_a_drained_stream_leaves_are_warned_of(
    spark: SparkSession, window: transom.Window, trigger: transom.Trigger | None
) -> None:
    with pytest.warns(transom.TransomWarning, match="TRANSOM_ROWS_LEFT"):
        assert rows_of_drained(spark, window, trigger) == 3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("window", "trigger"),
    [
        (transom.Count(3, 1, partial=True), None),
        (transom.Global(), transom.EndOfStream()),
        (transom.Global(), transom.AfterWatermark(early=transom.Purging(transom.AfterCount(3)))),
        (
            transom.Global(),
            transom.AfterWatermark(
                early=transom.ProcessingTimeout(transom.AfterCount(3), after="1 hour")
            ),
        ),
        (transom.Global(), transom.Every("1 hour", clock="processing")),
    ],
    ids=repr,
)
def test_what_the_warning_of_a_drained_stream_says_to_write_leaves_no_rows(
    spark: SparkSession, window: transom.Window, trigger: transom.Trigger | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        # The results of Global windows come when the stream ends.
        warnings.filterwarnings("ignore", "TRANSOM_NO_END")
        assert rows_of_drained(spark, window, trigger) == 4


def test_a_static_dataframe_leaves_rows_without_a_warning(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(second, 1) for second in range(4)], SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        threes = transom.stream(rows, order="second").window(transom.Count(3)).drain()
        (result,) = threes.agg(seconds=F.collect_list("second")).collect()
    assert result["seconds"] == [0, 1, 2]
