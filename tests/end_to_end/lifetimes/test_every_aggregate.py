"""Every aggregate over snapshots and rolling windows, against Spark's over the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window as Ranking

import transom
from tests.end_to_end.aggregates.test_aggregates import DISTINCT, SEEDS, STREAMED, in_registry
from tests.end_to_end.support.aggregates import CALLS, sample
from tests.end_to_end.support.comparing import assert_same
from tests.end_to_end.support.queries import run_stream

ROWS = 60
QUERIES = 2


@pytest.fixture(scope="module", params=SEEDS)
def rows(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[DataFrame]:
    """Rows that last some seconds. Some times are equal, and some rows have no end."""
    lasts = "make_dt_interval(0, 0, 0, 1 + pmod(hash(id, 1), 15))"
    cached = (
        sample(spark, ROWS, request.param)
        .withColumn("time", F.date_trunc("second", "time"))
        .withColumn("until", F.expr(f"if(pmod(hash(id, 2), 9) = 0, null, time + {lasts})"))
        .cache()
    )
    yield cached
    cached.unpersist()


def lived(rows: DataFrame) -> transom.Windowed:
    timed = transom.stream(rows, time="time", lifetime="until")
    return timed.key_by("name").window(transom.Snapshot())


def in_snapshots(rows: DataFrame) -> DataFrame:
    """Each row with each snapshot in which it is, by the definition.

    A snapshot lasts from one start or end of a row of its key to the next.
    """
    stops = rows.select("name", F.explode(F.array("time", "until")).alias("start")).distinct()
    following = F.lead("start").over(Ranking.partitionBy("name").orderBy("start"))
    spans = stops.where("start IS NOT NULL").withColumn("end", following).where("end IS NOT NULL")
    window = F.struct("start", "end").alias("window")
    is_live = F.expr("time <= window.start AND (until IS NULL OR until >= window.end)")
    return rows.join(spans.select("name", window), "name").where(is_live)


def in_rolling(rows: DataFrame) -> DataFrame:
    """Each row with each window of 8 seconds in which it is: those that end while it is live."""
    leaves = F.expr("time + INTERVAL 8 SECONDS")
    ends = rows.select("name", F.explode(F.array("time", leaves)).alias("end")).distinct()
    window = F.struct(F.expr("end - INTERVAL 8 SECONDS").alias("start"), "end").alias("window")
    is_live = F.expr("time <= window.end AND time > window.start")
    return rows.join(ends.select("name", window), "name").where(is_live)


@pytest.mark.parametrize("part", range(QUERIES))
def test_every_aggregate_over_snapshots(spark: SparkSession, rows: DataFrame, part: int) -> None:
    known = in_registry(spark)
    calls = [call for name, called in CALLS.items() if name in known for call in called]
    aggregates = [F.expr(call).alias(call) for call in calls[part::QUERIES]]
    expected = in_snapshots(rows).groupBy("name", "window").agg(*aggregates)
    ours = lived(rows).agg(*aggregates)
    assert ours.columns == expected.columns
    assert_same(ours.collect(), expected.collect(), "name", "window")


def test_aggregates_of_each_kind_over_rolling_windows(rows: DataFrame) -> None:
    aggregates = [F.expr(call).alias(call) for call in STREAMED]
    by_key = transom.stream(rows, time="time").key_by("name")
    ours = by_key.window(transom.Rolling("8 seconds")).agg(*aggregates)
    expected = in_rolling(rows).groupBy("name", "window").agg(*aggregates)
    assert_same(ours.collect(), expected.collect(), "name", "window")


def test_aggregates_of_each_kind_over_snapshots_of_a_stream_that_restarts(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    plain, distinct = ([F.expr(call).alias(call) for call in c] for c in (STREAMED, DISTINCT))
    # No Parquet file has intervals of months.
    given = rows.drop("json", "months")
    batches = [given.where(F.col("id") % 3 == part) for part in range(3)]
    # A later row closes all windows.
    later = given.where("id = 0").withColumns(
        {"time": F.expr("time + INTERVAL 1 DAY"), "until": F.lit(None).cast("timestamp")}
    )
    results: list[Row] = []
    for part in (batches[:1], [*batches[1:], later]):
        results += run_stream(
            spark,
            lambda read: lived(read.withWatermark("time", "1 hour")).agg(*plain, *distinct),
            given.schema,
            part,
            checkpoint=tmp_path,
        ).results
    grouped = in_snapshots(given).groupBy("name", "window")
    # Spark cannot plan ordered and distinct aggregates in one query.
    expected = grouped.agg(*plain).join(grouped.agg(*distinct), ["name", "window"])
    assert_same(results, expected.collect(), "name", "window")
