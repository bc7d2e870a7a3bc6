"""A late row lists at most 1,000 of the windows that it missed, and says whether it missed more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "n int, at timestamp"
LIMIT = 1000
WATERMARK = 9000

HOPPING = transom.Hopping(size="1 hour", slide="1 second")
CUMULATE = transom.Cumulate(size="1 hour", step="1 second")
# The windows that each row lists end in each of the seconds after it.
SPANS = "transform(sequence(1, 3600), i -> struct(at, at + make_dt_interval(0, 0, 0, i)))"


def of_rows() -> transom.Custom:
    return transom.Custom(F.expr(SPANS).cast("array<struct<start: timestamp, end: timestamp>>"))


# With each of these windows, or with each one of a pair, a row in the first half of an hour is in
# windows that end in each of the seconds after it.
CASES = [
    pytest.param(lambda: HOPPING, {"layout": "slices"}, 1, id="slices"),
    pytest.param(lambda: HOPPING, {"layout": "keyed"}, 1, id="keyed"),
    pytest.param(lambda: CUMULATE, {"layout": "slices"}, 1, id="cycle of slices"),
    pytest.param(lambda: CUMULATE, {"layout": "keyed"}, 1, id="cycle of the keyed layout"),
    pytest.param(
        lambda: transom.Windows({"hop": HOPPING, "sum": CUMULATE}), {}, 2, id="several windows"
    ),
    pytest.param(of_rows, {}, 1, id="windows of rows"),
]


def at(second: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def ends(late: Row) -> list[int]:
    return [int((w["end"] - at(0)).total_seconds()) for w in late["missed_windows"]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("window", "options", "each"), CASES)
def test_a_late_row_lists_the_first_1000_windows(
    spark: SparkSession, window: Callable[[], transom.Window], options: dict[str, Any], each: int
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.EventTime("at", delay="0 seconds")
        windowed = transom.stream(rows, time=time).key_by().window(window()).options(**options)
        return windowed.with_late_rows(partly=True).agg(F.count("*").alias("rows"))

    # A row that misses the windows of the last seconds before the watermark is partly late.
    few, exactly, more = (WATERMARK - LIMIT // each + second for second in (1, 0, -1))
    times = [0, few, exactly, more]
    batches = [
        [(0, at(WATERMARK))],
        [(1, at(WATERMARK))],
        [(2 + i, at(t)) for i, t in enumerate(times)],
    ]
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    late = {row["row"]["n"]: row for row in outcome.late}
    assert {n: row["reason"] for n, row in late.items()} == {
        2: "late",
        **dict.fromkeys((3, 4, 5), "late_partly"),
    }
    assert {n: row["missed_windows_truncated"] for n, row in late.items()} == {
        2: True,
        3: False,
        4: False,
        5: True,
    }
    for n, time in enumerate(times, 2):
        missed = [end for end in range(time + 1, WATERMARK + 1) for _ in range(each)]
        assert ends(late[n]) == missed[:LIMIT]
