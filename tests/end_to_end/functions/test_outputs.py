"""Side outputs of functions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.support.clocked import SCHEMA, Step, bounds, instant, run_clocked

TEN = transom.Tumbling(size="10 seconds")


def sorted_out(windowed: transom.Windowed) -> DataFrame:
    """Count rows. Emit odd values and large values as side outputs."""

    def count(rows: pa.Table, context: transom.Context) -> pa.Table:
        values = rows["value"].to_pylist()
        context.output("odd", pa.table({"value": [v for v in values if v % 2]}))
        context.output("large", pa.table({"least": [v for v in values if v > 5]}))
        return pa.table({"n": [len(values)]})

    outputs = {"odd": "value int", "large": "least long"}
    return windowed.apply(count, "n int", outputs=outputs)


def shown(rows: list[Row], value: str) -> list[tuple[Any, ...]]:
    return sorted((row["key"], bounds(row)[1], row[value]) for row in rows)


def test_outputs_come_out_beside_results_and_late_rows(spark: SparkSession) -> None:
    first: Step = [("a", 1, 1), ("a", 2, 6), ("b", 3, 7)]
    steps: list[Step] = [first, 12, [("a", 2, 9), ("a", 13, 3)], 30]
    outcome = run_clocked(
        spark, lambda stream: sorted_out(stream.window(TEN).with_pane().with_late_rows()), steps
    )
    rows = [row for batch in outcome.by_batch.values() for row in batch]
    by_tag = {tag: [row[tag] for row in rows if row["tag"] == tag] for tag in rows[0].__fields__}
    assert list(by_tag) == ["tag", "results", "late", "odd", "large"]
    assert shown(by_tag["results"], "n") == [("a", 10, 2), ("a", 20, 1), ("b", 10, 1)]
    assert shown(by_tag["odd"], "value") == [("a", 10, 1), ("a", 20, 3), ("b", 10, 7)]
    assert shown(by_tag["large"], "least") == [("a", 10, 6), ("b", 10, 7)]
    assert [row["row"]["value"] for row in by_tag["late"]] == [9]
    assert by_tag["odd"][0].__fields__ == ["key", "window", "value"]


def test_each_output_has_its_writer(spark: SparkSession) -> None:
    rows = [("a", instant(1), 7, False), ("a", instant(2), 2, False)]
    stream = transom.stream(spark.createDataFrame(rows, SCHEMA), time="time").key_by("key")
    tagged = sorted_out(stream.window(TEN))
    written: dict[str, list[tuple[Any, ...]]] = {}

    def writer(tag: str, value: str) -> Any:
        def write(rows: DataFrame, _: int) -> None:
            written[tag] = shown(rows.collect(), value)

        return write

    transom.route(
        results=writer("results", "n"), odd=writer("odd", "value"), large=writer("large", "least")
    )(tagged, 0)
    assert written == {"results": [("a", 10, 2)], "odd": [("a", 10, 7)], "large": [("a", 10, 7)]}
    assert transom.untag(tagged, "odd").columns == ["key", "window", "value"]
