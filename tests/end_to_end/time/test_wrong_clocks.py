"""Sources whose clocks are wrong, that are slow or out of order: what each setting makes of them.

Times are seconds since `START`, and tests move the wall clock by hand. The expected rows are worked
out from the rules.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import bounds, instant
from tests.end_to_end.support.queries import Batch, run_stream
from tests.end_to_end.support.wall_clock import Past, recent_progress, run_dated
from tests.end_to_end.time.test_idle import Step, run

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="takes minutes: run by make check-long"
)

DAY = 86_400
HONEST = [60 * minute + 10 for minute in range(3, 13)]
# Half an hour after two rows, one device sends a row of tomorrow. Then ten rows come.
TOMORROW: list[Step] = [
    (1_800, [(0, 10), (1, 130)]),
    (1_805, []),
    (1_805, [(2, 1_805 + DAY)]),
    (1_810, []),
    (1_810, [(n, time) for n, time in enumerate(HONEST, 3)]),
    (1_815, []),
]


def tagged(rows: Sequence[Row], tag: str) -> list[Row]:
    return [row[tag] for row in rows if row["tag"] == tag]


def minutes_with_a_row_of_tomorrow(
    spark: SparkSession, folder: Path, time: transom.TimePolicy | transom.EventTime, rule: Any
) -> tuple[list[tuple[float, int]], list[int], list[str]]:
    """The minutes of the results with their counts, the late rows, and reasons of dead letters."""

    def pipeline(rows: DataFrame) -> DataFrame:
        minutes = transom.stream(rows, time=time).window(transom.Tumbling("1 minute"))
        if rule is not None:
            minutes = minutes.idle_timeout("3 seconds", rule=rule)
        return minutes.with_late_rows().with_dead_letters().agg(n=F.count("*"))

    found = [row for step in run(spark, folder, pipeline, TOMORROW) for row in step]
    return (
        sorted((bounds(row)[0] / 60, row["n"]) for row in tagged(found, "results")),
        sorted(row["row"]["seq"] for row in tagged(found, "late")),
        [row["reason"] for row in tagged(found, "dead_letters")],
    )


@pytest.mark.parametrize("rule", ["greater_of", "last_row"])
def test_a_dropped_row_of_tomorrow_makes_no_row_late(
    spark: SparkSession, tmp_path: Path, rule: str
) -> None:
    policy = transom.TimePolicy("at", early=transom.Drop("5 minutes"))
    found, late, dead = minutes_with_a_row_of_tomorrow(spark, tmp_path, policy, rule)
    assert found == [(minute, 1) for minute in (0, 2, *range(3, 13))]
    assert late == []
    assert dead == ["early"]


@pytest.mark.parametrize(
    ("time", "rule"),
    [
        (transom.TimePolicy("at"), "greater_of"),
        (transom.EventTime("at", delay="1 minute"), None),
    ],
    ids=["TimePolicy", "EventTime"],
)
def test_without_a_rule_for_early_rows_a_row_of_tomorrow_makes_the_others_late(
    spark: SparkSession, tmp_path: Path, time: transom.TimePolicy | transom.EventTime, rule: Any
) -> None:
    found, late, dead = minutes_with_a_row_of_tomorrow(spark, tmp_path, time, rule)
    assert found == [(0, 1), (2, 1)]
    assert late == list(range(3, 13))
    assert dead == []


def test_a_partition_is_idle_only_if_its_silence_reaches_the_limit(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Partition 1 is ten minutes behind, and sends a row every 4 seconds of the 5 allowed ones."""

    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "at",
            partition="source",
            partitions=["0", "1"],
            idle_partition="5 seconds",
            arrival="known",
        )
        minutes = transom.stream(rows, time=policy).window(transom.Tumbling("1 minute"))
        return minutes.with_late_rows().agg(n=F.count("*"))

    behind = 600
    # The wall clock, and the partitions that send a row at this time.
    times = [(0, "01"), (2, "0"), (4, "01"), (6, "0"), (8, "01"), (10, "0"), (12, "0"), (12.9, "")]
    times += [(13, ""), (14, "0"), (20, "1")]
    steps = [
        (
            now,
            [
                (instant(now - (behind if source == "1" else 0)), instant(now), source)
                for source in sources
            ],
        )
        for now, sources in times
    ]
    seen: list[transom.Metrics] = []
    emitted = run_dated(
        spark,
        pipeline,
        "at timestamp, known timestamp, source string",
        steps,
        folder=tmp_path,
        after=lambda query: seen.append(transom.metrics(Past(recent_progress(query)[-1]))),
    )
    idle = [metrics.partitions["1"].idle for metrics in seen]
    assert idle == [*[False] * 8, True, True, False]
    watermarks = [metrics.watermark.replace(tzinfo=None) for metrics in seen if metrics.watermark]
    assert len(watermarks) == len(seen)
    # The largest time of partition 1 is that of the row of 8 seconds, until the partition is idle.
    assert max(watermarks[:8]) == instant(8 - behind)
    assert watermarks[8] == instant(12)
    rows = [[(row["tag"], row["late"]) for row in step] for step in emitted]
    assert not any(tag == "late" for step in rows[:10] for tag, _ in step)
    assert [tag for tag, _ in rows[10]] == ["late"]


UNSORTED = [
    (1, datetime(2025, 7, 7, 12, 41, 30), "u1", 20),
    (2, datetime(2025, 7, 7, 12, 29, 56), "u1", 1_034),
    (3, datetime(2025, 7, 7, 12, 26, 15), "u1", 34),
    (4, datetime(2025, 7, 7, 12, 26, 16), "u2", 70),
]
NEWEST = ("u1", 40, 1, 20)
BY_EVENT_TIME = transom.EventTime("at", delay="0 seconds")


@pytest.mark.parametrize(
    ("time", "batches", "expected", "late"),
    [
        # The first row moves the watermark to 12:41:30, and each row meets the watermark before it.
        (transom.TimePolicy("at"), [UNSORTED], [NEWEST], [2, 3, 4]),
        # No row of the first batch is late.
        (BY_EVENT_TIME, [UNSORTED], [("u1", 25, 2, 1_068), NEWEST, ("u2", 25, 1, 70)], []),
        # The second batch has the late watermark of the first one, which had none.
        (
            BY_EVENT_TIME,
            [[row] for row in UNSORTED],
            [("u1", 25, 1, 1_034), NEWEST],
            [3, 4],
        ),
    ],
    ids=["row by row", "one batch", "a batch for each row"],
)
def test_rows_behind_a_newest_first_row(
    spark: SparkSession,
    time: transom.TimePolicy | transom.EventTime,
    batches: list[Batch],
    expected: list[tuple[Any, ...]],
    late: list[int],
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=time, order="n").key_by("user")
        fives = stream.window(transom.Tumbling("5 minutes")).allowed_lateness("1 minute")
        totals = fives.with_late_rows().drain()
        return totals.agg(F.count("*").alias("n"), F.sum("value").alias("total"))

    outcome = run_stream(spark, pipeline, "n int, at timestamp, user string, value int", batches)
    # A lateness may give a window several results, of which the last one has all rows.
    found = {
        (row["user"], row["window"]["start"].minute): (row["n"], row["total"])
        for row in outcome.results
    }
    assert sorted((*key, *values) for key, values in found.items()) == expected
    assert sorted(row["row"]["n"] for row in outcome.late) == late


def test_rows_of_a_static_data_frame_have_no_order_of_arrival(spark: SparkSession) -> None:
    rows = spark.createDataFrame(UNSORTED, "n int, at timestamp, user string, value int")
    fives = transom.stream(rows, time="at").key_by("user").window(transom.Tumbling("5 minutes"))
    found = fives.agg(F.count("*").alias("n"), F.sum("value").alias("total")).collect()
    assert sorted((r["user"], r["window"]["start"].minute, r["n"], r["total"]) for r in found) == [
        ("u1", 25, 2, 1_068),
        NEWEST,
        ("u2", 25, 1, 70),
    ]


ARRIVALS = [
    (1, "12:04:00", "12:04:00"),
    (2, "12:06:00", "12:06:00"),
    (3, "12:03:00", "12:06:30"),
    (4, "12:11:00", "12:11:00"),
]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("Adjust", [(5, 1), (10, 2), (15, 1)]), ("Drop", [(5, 1), (10, 1), (15, 1)])],
)
def test_a_late_arrival_tolerance_keeps_no_window_open(
    spark: SparkSession, rule: Any, expected: list[tuple[int, int]]
) -> None:
    noon = datetime(2024, 1, 1)
    rows = spark.createDataFrame(
        [(n, *(datetime.fromisoformat(f"{noon:%Y-%m-%d} {t}") for t in ts)) for n, *ts in ARRIVALS],
        "n int, event timestamp, arrival timestamp",
    ).coalesce(1)
    stream = transom.azure.stream(
        rows,
        arrival="arrival",
        timestampBy="event",
        eventsOutOfOrderMaxDelayInSeconds=0,
        eventsLateArrivalMaxDelayInSeconds=300,
        eventsOutOfOrderPolicy=rule,
    )
    fives = stream.window(transom.azure.TumblingWindow("minute", 5)).agg(n=F.count("*"))
    assert sorted((row["window"]["end"].minute, row["n"]) for row in fives.collect()) == expected
    stamps = {row["n"]: row["stamp"] for row in stream.stamped().collect()}
    assert {n: stamp["rules"] for n, stamp in stamps.items()} == {
        1: [],
        2: [],
        3: ["out_of_order"],
        4: [],
    }
    if rule == "Adjust":
        assert stamps[3]["time"] == noon + timedelta(hours=12, minutes=6)
