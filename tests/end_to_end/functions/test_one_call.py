"""A firing is one call of the function and one result in the counts, whatever it returns."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.support.clocked import SCHEMA, instant, run_clocked

TEN = transom.Tumbling(size="10 seconds")


def sizes(rows: pa.Table) -> pa.Table:
    return pa.table({"size": [rows.num_rows]})


def test_a_window_without_rows_after_its_evictor_calls_the_function(spark: SparkSession) -> None:
    rows = [("a", instant(1), 1, False), ("a", instant(2), 2, False), ("b", instant(3), 9, False)]
    tens = (
        transom.stream(spark.createDataFrame(rows, SCHEMA), time="time").key_by("key").window(TEN)
    )
    kept = tens.evictor(transom.KeepWhere("value > 5")).apply(sizes, "size int")
    assert sorted((row["key"], row["size"]) for row in kept.collect()) == [("a", 0), ("b", 1)]


def test_a_window_counts_as_one_result_however_many_rows_the_function_returns(
    spark: SparkSession,
) -> None:
    def thrice(rows: pa.Table) -> pa.Table:
        return pa.concat_tables([rows.select(["value"])] * 3)

    def pipeline(stream: transom.Stream) -> DataFrame:
        return stream.window(TEN).apply(thrice, "value int")

    outcome = run_clocked(spark, pipeline, [[("a", 1, 1), ("a", 2, 2)], 30])
    assert len(outcome.results) == 6
    assert outcome.observed()["transom_windows_fired"] == 1
