"""Every aggregate over snapshots, against Spark's over the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window as Ranking

import transom
from tests.end_to_end.aggregates.test_aggregates import SEEDS, in_registry
from tests.end_to_end.support.aggregates import CALLS, sample
from tests.end_to_end.support.comparing import assert_same

ROWS = 60
QUERIES = 2
# Over equal values their result depends on rounding, or they divide by zero.
UNSTABLE = {"corr", "kurtosis", "skewness"}


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(QUERIES))
def test_every_aggregate_over_snapshots(spark: SparkSession, rows: DataFrame, part: int) -> None:
    known = in_registry(spark)
    names = (known & CALLS.keys()) - UNSTABLE
    calls = [call for name, called in CALLS.items() if name in names for call in called]
    aggregates = [F.expr(call).alias(call) for call in calls[part::QUERIES]]
    expected = in_snapshots(rows).groupBy("name", "window").agg(*aggregates)
    ours = lived(rows).agg(*aggregates)
    assert ours.columns == expected.columns
    assert_same(ours.collect(), expected.collect(), "name", "window")
