"""Lifetimes that functions return outside of their window, and what the output policy does then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "at timestamp, until timestamp, n bigint"
HOURS = transom.Tumbling(size="1 hour")
LIFETIME = "lifetime struct<start:timestamp,end:timestamp>"
CLIP = "clip_to_window_end"


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 {text}")


def returning(start: str | None, end: str | None, *, nothing: bool = False) -> Any:
    """A function whose result has this lifetime, or null if it returns nothing as a lifetime."""

    def function(rows: pa.Table) -> pa.Table:
        kind = pa.struct([(name, pa.timestamp("us", "UTC")) for name in ("start", "end")])
        times = {"start": start and at(start), "end": end and at(end)}
        lives = pa.array([None if nothing else times], kind)
        return pa.table({"n": [rows.num_rows], "lifetime": lives})

    return function


def windowed(
    function: Callable[[pa.Table], pa.Table], policy: Any, *, tagged: bool = False
) -> Callable[[DataFrame], DataFrame]:
    """A window from 05:00 to 06:00 that has one row."""

    def pipeline(df: DataFrame) -> DataFrame:
        hours = transom.stream(df, time=transom.TimePolicy("at"), lifetime="until").window(HOURS)
        hours = hours if policy is None else hours.output_policy(policy)
        if tagged:
            hours = hours.with_late_rows()
        return hours.apply(function, f"n long, {LIFETIME}")

    return pipeline


def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(at("05:10"), at("05:20"), 1)], SCHEMA)


def lives(results: list[Row]) -> list[tuple[datetime, datetime] | None]:
    return [row["lifetime"] and tuple(row["lifetime"]) for row in results]


def test_the_point_of_a_count_window_is_on_its_last_row(spark: SparkSession) -> None:
    # S-33: the window ends a microsecond after its last row.
    stream = transom.stream(rows(spark), time="at", lifetime="until")
    windows = stream.window(transom.CountByStart(1))
    points = windows.output_policy("point_align_to_window_end")
    found = points.apply(returning("05:10", "05:20"), f"n long, {LIFETIME}").collect()
    assert lives(found) == [(at("05:10"), at("05:10:00.000001"))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (("05:10", "05:20"), ("05:10", "05:20")),
        (("05:59:59.999999", "07:00"), ("05:59:59.999999", "06:00")),
        (("05:10", None), ("05:10", "06:00")),
        # S-13 and S-22: no result starts before its window.
        (("04:00", "05:30"), ("05:00", "05:30")),
        (("04:00", None), ("05:00", "06:00")),
    ],
    ids=str,
)
@pytest.mark.parametrize("tagged", [False, True])
def test_a_lifetime_is_cut_to_its_window(
    spark: SparkSession,
    returned: tuple[str, str | None],
    expected: tuple[str, str],
    *,
    tagged: bool,
) -> None:
    results = windowed(returning(*returned), CLIP, tagged=tagged)(rows(spark))
    if tagged:
        results = transom.untag(results, "results")
    start, end = expected
    assert lives(results.collect()) == [(at(start), at(end))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "returned",
    [
        # The lifetime starts at the end of the window, or behind it.
        ("06:00", "07:00"),
        ("06:10", None),
        # The lifetime has ended when the window starts.
        ("04:00", "05:00"),
        # The lifetime does not end after its start.
        ("05:10", "05:10"),
        (None, "05:10"),
    ],
    ids=str,
)
def test_a_lifetime_outside_of_its_window_is_an_error(
    spark: SparkSession, returned: tuple[str | None, str | None]
) -> None:
    shown = [str(at(time)) if time else "null" for time in returned]
    message = (
        rf"(?<!\[TRANSOM_FUNCTION_LIFETIME\] )"
        rf"\[TRANSOM_FUNCTION_LIFETIME\] returning\.<locals>\.function returned a result that "
        rf"lasts from {shown[0]} to {shown[1]}, for the window from 2024-01-01 05:00:00 to "
        rf"2024-01-01 06:00:00"
    )
    with pytest.raises(PySparkException, match=message) as caught:
        windowed(returning(*returned), CLIP)(rows(spark)).collect()
    assert caught.value.getCondition() == "USER_RAISED_EXCEPTION"


def test_tagged_rows_and_streams_fail_too(spark: SparkSession) -> None:
    late = windowed(returning("06:00", "07:00"), CLIP, tagged=True)
    with pytest.raises(PySparkException, match="TRANSOM_FUNCTION_LIFETIME"):
        late(rows(spark)).collect()
    batches = [[(at("05:10"), at("05:20"), 1), (at("08:00"), at("08:10"), 2)]]
    with pytest.raises(StreamingQueryException, match="TRANSOM_FUNCTION_LIFETIME"):
        run_stream(spark, windowed(returning("06:00", "07:00"), CLIP), SCHEMA, batches)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, ("06:00", "07:00")),
        ("point_align_to_window_end", ("06:00", "06:00:00.000001")),
    ],
)
def test_other_policies_take_lifetimes_outside_of_the_window(
    spark: SparkSession, policy: Any, expected: tuple[str, str]
) -> None:
    results = windowed(returning("06:00", "07:00"), policy)(rows(spark)).collect()
    assert lives(results) == [(at(expected[0]), at(expected[1]))]


def test_a_result_without_a_lifetime_has_none(spark: SparkSession) -> None:
    results = windowed(returning(None, None, nothing=True), CLIP)(rows(spark)).collect()
    assert lives(results) == [None]


def test_cut_results_are_rows_of_a_further_operator(spark: SparkSession) -> None:
    results = windowed(returning("04:00", "07:00"), CLIP)(rows(spark))
    valid = transom.stream(results, time="lifetime.start", lifetime="lifetime.end")
    found = valid.window(transom.Snapshot()).with_dead_letters().agg(F.sum("n").alias("n"))
    shown = [(row["tag"], row["results"]) for row in found.collect()]
    assert shown == [("results", ((at("05:00"), at("06:00")), 1))]
