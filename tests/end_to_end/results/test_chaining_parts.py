"""A first operator that gives parts of its windows, which a second operator adds up."""

from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, run_stream

START = datetime(2024, 1, 1)
SCHEMA = "salt int, time timestamp, value int"
EARLY = transom.AfterWatermark(early=transom.AfterCount(2))
# Three batches of five seconds each, and a row that ends all windows.
ROWS = [(n % 3, START + timedelta(seconds=n / 4), n) for n in range(60)]
BATCHES: list[Batch] = [
    ROWS[:20],
    ROWS[20:40],
    ROWS[40:],
    [(0, START + timedelta(seconds=100), 0)],
    [(0, START + timedelta(seconds=200), 0)],
]


def totals(spark: SparkSession, trigger: transom.Trigger) -> dict[datetime, tuple[int, int]]:
    """The number of rows and the sum of the values of each window, over all salts."""

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        salted = transom.stream(rows, time=clock).key_by("salt")
        fives = salted.window(transom.Tumbling("5 seconds"))
        parts = fives.trigger(trigger).agg(n=F.count("*"), total=F.sum("value"))
        whole = transom.stream(parts, time="window").window(transom.Tumbling("5 seconds"))
        return whole.options(name="whole").agg(n=F.sum("n"), total=F.sum("total"))

    results = run_stream(spark, pipeline, SCHEMA, BATCHES).results
    return {
        row["window"]["start"]: (row["n"], row["total"])
        for row in results
        if row["window"]["start"] < START + timedelta(seconds=15)
    }


def by_hand() -> dict[datetime, tuple[int, int]]:
    expected: dict[datetime, tuple[int, int]] = {}
    for _, time, value in ROWS:
        start = time.replace(second=time.second // 5 * 5, microsecond=0)
        n, total = expected.get(start, (0, 0))
        expected[start] = (n + 1, total + value)
    return expected


def test_purged_parts_add_up_to_the_whole(spark: SparkSession) -> None:
    assert totals(spark, transom.Purging(EARLY)) == by_hand()


def test_results_so_far_add_up_to_more(spark: SparkSession) -> None:
    found = totals(spark, EARLY)
    assert found.keys() == by_hand().keys()
    for start, (n, total) in found.items():
        assert n > by_hand()[start][0]
        assert total > by_hand()[start][1]
