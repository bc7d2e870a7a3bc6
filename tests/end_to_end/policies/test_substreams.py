"""Windows over substreams: each key follows the watermark of its substream."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import EPOCH
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.time.test_idle import fired, run

SCHEMA = "n int, device string, sensor string, at timestamp, known timestamp"
TENS = transom.Tumbling(size="10 seconds")

# Number, device, sensor, and the seconds of the time and of the arrival.
Input = tuple[int, str | None, str, int | None, int | None]


def timed(rows: list[Input]) -> list[tuple[Any, ...]]:
    def instant(second: int | None) -> datetime | None:
        return None if second is None else EPOCH + timedelta(seconds=second)

    return [(*key, instant(at), instant(known)) for *key, at, known in rows]


def policy(over: Column | str = "device", **settings: Any) -> transom.TimePolicy:
    return transom.TimePolicy("at", arrival="known", over=[over], **settings)


def by_device(rows: DataFrame, *keys: str | Column, **settings: Any) -> DataFrame:
    windowed = transom.stream(rows, time=policy(**settings)).key_by(*keys).window(TENS)
    return windowed.agg(F.sort_array(F.collect_list("n")).alias("rows"))


def shown(results: list[Row]) -> list[tuple[Any, ...]]:
    return sorted(
        (row["device"], (row["window"]["start"] - EPOCH).seconds, row["rows"]) for row in results
    )


@pytest.mark.parametrize("over", [[], ["device"]], ids=str)
def test_a_watermark_of_spark_closes_no_windows_of_a_policy(
    spark: SparkSession, over: list[str]
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        watermarked = rows.withWatermark("at", "0 seconds")
        slow = transom.TimePolicy("at", out_of_order="10 minutes", over=over)
        return (
            transom.stream(watermarked, time=slow).key_by("device").window(TENS).agg(n=F.count("*"))
        )

    batches = [timed([(n, "d", "x", at, at)]) for n, at in enumerate((3, 60, 61, 700))]
    results = run_stream(spark, pipeline, SCHEMA, batches).results
    # The last row moves the watermark of the policy to 100.
    assert shown_counts(results) == [(0, 1), (60, 2)]


def shown_counts(results: list[Row]) -> list[tuple[int, int]]:
    return sorted(((row["window"]["start"] - EPOCH).seconds, row["n"]) for row in results)


def test_the_watermark_of_a_device_is_no_idle_timeout(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=policy(), order="n").key_by("device")
        return stream.window(TENS).with_pane().agg(n=F.count("*"))

    batches = [timed([(0, "d", "x", 3, 3), (1, "d", "x", 15, 15)]), timed([(2, "d", "x", 35, 35)])]
    results = run_stream(spark, pipeline, SCHEMA, batches).results
    assert [row["pane"]["cause"] for row in results] == ["watermark", "watermark"]


def test_a_fast_device_makes_no_row_of_a_slow_device_late(spark: SparkSession) -> None:
    rows: list[Input] = [
        (0, "fast", "x", 15, 15),
        (1, "slow", "x", 3, 16),
        (2, "fast", "x", 32, 32),
        (3, "slow", "x", 7, 33),
        (4, "slow", "x", 11, 34),
    ]
    batches = [timed([row]) for row in rows]
    outcome = run_stream(spark, lambda read: by_device(read, "device"), SCHEMA, batches)
    assert shown(outcome.results) == [("fast", 10, [0]), ("slow", 0, [1, 3])]
    assert outcome.observed()["transom_rows_late"] == 0


def test_the_late_rule_closes_windows_of_silent_devices(spark: SparkSession) -> None:
    rows: list[Input] = [
        (0, "silent", "x", 3, 3),
        (1, "other", "x", 19, 19),
        (2, "other", "x", 20, 20),
    ]
    batches = [timed([row]) for row in rows]

    def pipeline(read: DataFrame) -> DataFrame:
        return by_device(read, "device", late=transom.Adjust("10 seconds"))

    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    # Row 2 moves the floor to 10 in the batch in which it comes.
    by_batch = [shown(results) for results in outcome.by_batch.values() if results]
    assert by_batch == [[("other", 10, [1]), ("silent", 0, [0])]]


@pytest.mark.parametrize("keys", [("device", "sensor"), ("sensor", "device")])
def test_a_sensor_without_rows_follows_its_device(
    spark: SparkSession, keys: tuple[str, str], tmp_path: Path
) -> None:
    rows: list[Input] = [
        (0, "a", "x", 1, 1),
        (1, "a", "y", 2, 2),
        (2, "b", "x", 3, 3),
        (3, "a", "x", 12, 12),
        (4, "a", "x", 25, 25),
    ]
    # Each batch is a run of its own, so the timers of sensors come from the checkpoint.
    given = []
    for row in rows:
        outcome = run_stream(
            spark,
            lambda read: by_device(read, *keys),
            SCHEMA,
            [timed([row])],
            checkpoint=tmp_path,
        )
        given.append(shown(outcome.results))
    assert given == [[], [], [], [("a", 0, [0]), ("a", 0, [1])], [("a", 10, [3])]]


def test_numbered_devices_of_one_key_group_have_watermarks_of_their_own(
    spark: SparkSession,
) -> None:
    rows: list[Input] = [
        (0, "1", "x", 15, 15),
        (1, "2", "y", 3, 16),
        (2, "1", "x", 32, 32),
        (3, "2", "y", 7, 33),
        (4, "2", "x", 11, 34),
    ]

    def pipeline(read: DataFrame) -> DataFrame:
        numbered = read.withColumn("device", F.col("device").cast("int"))
        windowed = transom.stream(numbered, time=policy()).key_by("device", "sensor").window(TENS)
        # Both devices are in one key group.
        return windowed.options(key_groups=1).agg(F.collect_list("n").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, [timed(rows)])
    assert shown(outcome.results) == [(1, 10, [0]), (2, 0, [1, 3])]
    assert outcome.observed()["transom_rows_late"] == 0


def test_a_drained_run_fires_the_windows_of_all_substreams(spark: SparkSession) -> None:
    rows: list[Input] = [(0, "a", "x", 15, 15), (1, "b", "x", 3, 16), (2, "a", "x", 32, 32)]

    def pipeline(read: DataFrame) -> DataFrame:
        windowed = transom.stream(read, time=policy()).key_by("device").window(TENS).drain()
        return windowed.agg(F.collect_list("n").alias("rows"))

    outcome = run_stream(spark, pipeline, SCHEMA, [timed(rows)])
    assert shown(outcome.results) == [("a", 10, [0]), ("a", 30, [2]), ("b", 0, [1])]


@pytest.mark.parametrize("over", [["device"], []])
def test_a_window_is_not_late_before_its_key_has_reached_its_end(
    spark: SparkSession, over: list[str]
) -> None:
    rows: list[Input] = [(0, "slow", "x", 3, 3), (1, "fast", "x", 90, 90), (2, "fast", "x", 95, 95)]

    def pipeline(read: DataFrame) -> DataFrame:
        time = transom.TimePolicy("at", arrival="known", over=over)
        windowed = transom.stream(read, time=time).key_by("device").window(TENS)
        # Both devices are in one key group.
        firing = windowed.trigger(transom.EveryBatch()).with_pane().options(key_groups=1)
        return firing.agg(F.count("*").alias("n")).select("device", "pane.timing", "n")

    outcome = run_stream(spark, pipeline, SCHEMA, [timed(rows)])
    timings = {tuple(row) for row in outcome.results}
    assert {("fast", "early", 2), ("slow", "early", 1)} <= timings
    assert "late" not in {timing for _, timing, _ in timings}


def test_rows_without_a_substream_or_an_arrival_are_dead_letters(spark: SparkSession) -> None:
    rows: list[Input] = [
        (0, "1", "x", 3, 3),
        (1, None, "x", 4, 4),
        (2, "no number", "x", 5, 5),
        (3, "1", "x", 6, None),
        (4, None, "x", None, None),
        (5, "1", "x", 60, 7),
        (6, "1", "x", 30, 30),
        (7, "1", "x", 9, 31),
    ]

    def pipeline(read: DataFrame) -> DataFrame:
        device = F.col("device").cast("int")
        time = policy(device, early=transom.Drop("20 seconds"))
        windowed = transom.stream(read, time=time).key_by(device.alias("device")).window(TENS)
        return windowed.with_late_rows().with_dead_letters().agg(F.count("*").alias("n"))

    outcome = run_stream(spark, pipeline, SCHEMA, [timed(rows[:3]), timed(rows[3:])])
    rows_by_tag = [row for results in outcome.by_batch.values() for row in results]
    letters = [row["dead_letters"] for row in rows_by_tag if row["tag"] == "dead_letters"]
    assert {letter["row"]["n"]: letter["reason"] for letter in letters} == {
        1: "no_substream",
        2: "no_substream",
        3: "no_time",
        4: "no_substream",
        5: "early",
    }
    assert [(row["row"]["n"], row["reason"]) for row in outcome.late] == [(7, "late")]
    assert [row["results"]["n"] for row in rows_by_tag if row["tag"] == "results"] == [1]
    counts = {name: count for name, count in outcome.observed().items() if count}
    assert counts == {
        "transom_rows_in": 8,
        "transom_rows_without_substream": 3,
        "transom_rows_without_time": 1,
        "transom_rows_early": 1,
        "transom_rows_dropped": 1,
        "transom_rows_out_of_order": 1,
        "transom_rows_late": 1,
        "transom_rows_dead_lettered": 5,
        "transom_windows_fired": 1,
    }


def test_each_column_of_the_substream_must_be_a_key(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], SCHEMA)
    for over in ("device", F.upper("device")):
        with pytest.raises(PySparkException, match="device") as raised:
            by_device(rows, "sensor", over=over)
        assert raised.value.getCondition() == "TRANSOM_SUBSTREAM_NOT_IN_KEYS"


def test_a_static_dataframe_gives_the_results_of_a_stream(spark: SparkSession) -> None:
    rows: list[Input] = [
        (0, "a", "x", 15, 15),
        (1, "b", "x", 3, 16),
        (2, "a", "y", 32, 32),
        (3, "b", "y", 7, 33),
        (4, "a", "x", 12, 34),
    ]
    static = spark.createDataFrame(timed(rows), SCHEMA)
    results = by_device(static, "device").collect()
    # Row 4 is late: the watermark of its device is 32.
    assert shown(results) == [("a", 10, [0]), ("a", 30, [2]), ("b", 0, [1, 3])]


def test_estimated_arrivals_close_the_windows_of_silent_devices(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.TimePolicy(
            "at",
            arrival="at",
            over=["source"],
            late=transom.Adjust("5 seconds"),
            estimate_arrival=True,
        )
        windowed = transom.stream(rows, time=time).key_by("source").window(TENS)
        return windowed.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    # Rows 0 and 1 are of different sources. The arrival of the next row is estimated at 4 seconds
    # after 8 when 4 seconds have passed, and at 15 after 7 seconds.
    given = fired(run(spark, tmp_path, pipeline, [(100, [(0, 3), (1, 8)]), (104, []), (107, [])]))
    assert given == [[], [], [(0, 10, [0]), (0, 10, [1])]]


@pytest.mark.parametrize(
    ("settings", "tasks"), [({}, 1), ({"over": ["device"]}, 2), ({"partition": "device"}, 2)]
)
def test_one_task_applies_the_rules_unless_there_are_substreams_or_partitions(
    spark: SparkSession, settings: dict[str, Any], tasks: int
) -> None:
    def pipeline(read: DataFrame) -> DataFrame:
        time = transom.TimePolicy("at", arrival="known", **settings)
        stamped = transom.stream(read, time=time).stamped()
        return stamped.select("n", F.spark_partition_id().alias("task"))

    rows: list[Input] = [(n, str(n), "x", n, n) for n in range(20)]
    results = run_stream(spark, pipeline, SCHEMA, [timed(rows)]).results
    assert sorted(row["n"] for row in results) == list(range(20))
    assert len({row["task"] for row in results}) == tasks


def test_explain_names_the_substreams_and_the_layout(spark: SparkSession) -> None:
    text = transom.explain(by_device(spark.createDataFrame([], SCHEMA), "device"))
    assert "sources by substream device" in text
    assert "over in the TimePolicy" in text
