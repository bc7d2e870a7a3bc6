"""Memory limits change no result, and a limit that is no size is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import Stream
from tests.end_to_end.support.queries import run_stream
from transom.spec import Layout

PREFIX = "spark.transom.limits."
NAMES = ("combined", "keys", "segments", "shared", "sessions", "payload", "bundle")


@pytest.fixture
def small(spark: SparkSession) -> Iterator[None]:
    """Limits that a few rows reach."""
    for name in NAMES:
        spark.conf.set(PREFIX + name, "600")
    yield
    for name in NAMES:
        spark.conf.unset(PREFIX + name)


def stream() -> Stream:
    """Six batches of 50 rows, two seconds apart. Each of 7 keys has four of them in a row."""
    rows = [(n, n // 4 % 7, 1_704_067_200_000 + n * 2_000, n) for n in range(300)]
    return Stream(tuple(tuple(rows[n : n + 50]) for n in range(0, 300, 50)), 0, "string")


def results(spark: SparkSession, window: transom.Window, layout: Layout) -> list[str]:
    def pipeline(rows: DataFrame) -> DataFrame:
        ids: Column = F.sort_array(F.collect_list("id")).alias("ids")
        time = transom.EventTime("time", delay="0 seconds")
        windowed = transom.stream(rows, time=time).key_by("key").window(window)
        return windowed.options(layout=layout, key_groups=2).agg(ids, F.count("*"))

    rows = stream()
    return sorted(map(repr, run_stream(spark, pipeline, rows.schema, rows.for_spark()).results))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
@pytest.mark.parametrize(
    "window",
    [
        transom.Hopping(size="1 minute", slide="10 seconds"),
        transom.Session(gap="10 seconds"),
    ],
    ids=["hopping", "sessions"],
)
def test_small_limits_change_no_result(
    spark: SparkSession, window: transom.Window, layout: Layout, request: pytest.FixtureRequest
) -> None:
    expected = results(spark, window, layout)
    assert expected
    request.getfixturevalue("small")
    assert results(spark, window, layout) == expected


@pytest.mark.parametrize("value", ["much", "0", "-1", "3g"])
def test_a_limit_that_is_no_size_is_refused(spark: SparkSession, value: str) -> None:
    rows = spark.createDataFrame([], "time timestamp")
    windowed = transom.stream(rows, time="time").window(transom.Tumbling(size="1 hour"))
    spark.conf.set(f"{PREFIX}combined", value)
    try:
        with pytest.raises(
            IllegalArgumentException, match=f"{PREFIX}combined is {value}"
        ) as caught:
            windowed.agg(F.count("*"))
    finally:
        spark.conf.unset(f"{PREFIX}combined")
    assert caught.value.getCondition() == "TRANSOM_BAD_LIMIT"
