"""`transom_top` returns the rows of `Windowed.top`, and Spark's `rank` without windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.sql.flights import SCHEMA, flights, live_flights
from tests.end_to_end.support.twins import check_twin

TOP = "transom_top(2, struct(tail, delay)) WITHIN GROUP (ORDER BY delay DESC, tail)"


@pytest.fixture(autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """The table of the rows."""
    flights(spark).createOrReplaceTempView("flights")
    yield
    spark.catalog.dropTempView("flights")


def hours(rows: DataFrame, time: object = "departed") -> transom.Windowed:
    by_origin = transom.stream(rows, time=time).key_by("origin")  # type: ignore[arg-type]
    return by_origin.window(transom.Tumbling("1 hour"))


def test_the_rows_are_those_of_python(spark: SparkSession) -> None:
    rows = flights(spark)
    first = (
        hours(rows)
        .with_pane()
        .top(2, F.desc("delay"), "tail")
        .select("origin", "window", "pane", "tail", "delay", "rank")
    )
    text = f"""CREATE OR REPLACE TEMP VIEW first AS
        SELECT origin, window, pane, inline({TOP}) FROM rows
        GROUP BY origin, transom_tumbling(departed, '1 hour', with_pane => true)"""
    check_twin(spark, text, {"rows": rows, "first": first})


def test_a_stream_has_early_results_and_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = live_flights(spark, tmp_path / "in")
    first = (
        hours(rows, transom.EventTime("departed", delay="5 minutes"))
        .trigger(transom.AfterWatermark(early=transom.AfterCount(1)))
        .with_late_rows()
        .drain()
        .agg(F.expr(TOP).alias("rows"))
    )
    text = f"""CREATE OR REPLACE TEMP VIEW first AS SELECT * FROM transom_side_outputs(
        TABLE(SELECT origin, window, {TOP} AS rows FROM rows
              GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '5 minutes',
                  trigger => transom_after_watermark(early => transom_after_count(1)),
                  drain => true)),
        late_rows => 'late')"""
    check_twin(spark, text, {"rows": rows, "first": first})


def test_all_columns_and_a_filter(spark: SparkSession) -> None:
    (row,) = spark.sql("""
        SELECT transom_top(1, struct(*)) WITHIN GROUP (ORDER BY delay DESC)
            FILTER (WHERE delay < 40) AS rows
        FROM flights GROUP BY transom_tumbling(departed, '1 day')""").collect()
    (first,) = row.rows
    assert (first.tail, first.delay, first.rank) == ("N3", 20, 1)
    assert first.__fields__ == [*flights(spark).columns, "rank"]


def test_each_of_several_tops_reads_the_rows_that_it_stored(
    spark: SparkSession, tmp_path: Path
) -> None:
    def run(columns: str) -> list[Row]:
        live = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
        live.createOrReplaceTempView("live")
        results = spark.sql(f"""
            SELECT transom_top(1, struct(tail)) WITHIN GROUP (ORDER BY delay) AS least,
                transom_top(1, struct({columns})) WITHIN GROUP (ORDER BY delay DESC) AS most
            FROM live GROUP BY transom_tumbling(departed, '1 day', delay => '0 seconds')""")
        writer = results.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return spark.read.schema(results.schema).parquet(str(tmp_path / "out")).collect()

    live_flights(spark, tmp_path / "in", batches=1)
    assert run("delay") == []
    later = flights(spark).limit(1).withColumn("departed", F.expr("departed + INTERVAL 2 DAYS"))
    later.write.mode("append").parquet(str(tmp_path / "in"))
    # The stored rows have no column `tail`.
    (row,) = run("tail, delay")
    assert row.least == [Row(tail="N2", rank=1)]
    assert row.most == [Row(tail=None, delay=60, rank=1)]


def test_groups_without_windows(spark: SparkSession) -> None:
    found = spark.sql(f"SELECT origin, inline({TOP}) FROM flights GROUP BY origin")
    ranked = spark.sql("""
        SELECT origin, tail, delay, rank FROM (
            SELECT *, rank() OVER (PARTITION BY origin ORDER BY delay DESC, tail) AS rank
            FROM flights)
        WHERE rank <= 2""")
    assert sorted(found.collect()) == sorted(ranked.collect())


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("transom_top(0, struct(tail)) WITHIN GROUP (ORDER BY delay)", "TRANSOM_NOT_POSITIVE"),
        ("transom_top('2', struct(tail)) WITHIN GROUP (ORDER BY delay)", "TRANSOM_BAD_TYPE"),
        ("transom_top(delay, struct(tail)) WITHIN GROUP (ORDER BY delay)", "TRANSOM_BAD_TYPE"),
        ("transom_top(2, tail) WITHIN GROUP (ORDER BY delay)", "TRANSOM_BAD_TYPE"),
        (
            "transom_top(2, struct(tail AS rank)) WITHIN GROUP (ORDER BY delay)",
            "TRANSOM_RESERVED_NAME",
        ),
        ("transom_top(2) WITHIN GROUP (ORDER BY delay)", "TRANSOM_MISSING_ARGUMENT"),
        (
            "transom_top(2, struct(tail), delay) WITHIN GROUP (ORDER BY delay)",
            "TRANSOM_MISPLACED",
        ),
        (
            "transom_top(2, struct(tail))",
            "INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING",
        ),
        (
            "transom_top(DISTINCT 2, struct(tail)) WITHIN GROUP (ORDER BY delay)",
            "INVALID_WITHIN_GROUP_EXPRESSION.DISTINCT_UNSUPPORTED",
        ),
    ],
)
def test_a_mistake(spark: SparkSession, call: str, condition: str) -> None:
    with pytest.raises(PySparkException) as found:
        spark.sql(f"SELECT {call} FROM flights GROUP BY transom_tumbling(departed, '1 hour')")
    assert found.value.getCondition() == condition
