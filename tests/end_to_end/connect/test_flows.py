"""Functions over windows in a flow of a pipeline, where Spark tells neither columns nor types.

Each query is built as in a flow and as outside of one, and then runs in this session.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkValueError
from pyspark.pipelines.add_pipeline_analysis_context import add_pipeline_analysis_context
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import transom
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import is_connect
from tests.python.conditions import raises

pytestmark = pytest.mark.skipif(
    not is_connect(),
    reason="make test-connect runs the tests of flows: they need a Connect session",
)

SCHEMA = "origin string, at timestamp, delay int"
NUMBER = StructType([StructField("n", LongType())])
STATE = StructType([StructField("seen", LongType()), StructField("last", TimestampType())])
NOTED = StructType([StructField("note", StringType())])
BOUNDS = StructType([StructField("start", TimestampType()), StructField("end", TimestampType())])
LIVED = StructType([StructField("n", LongType()), StructField("lifetime", BOUNDS)])


def total(rows: pa.Table) -> pa.Table:
    return pa.table({"n": [sum(rows["delay"].to_pylist())]})


def noted(rows: pa.Table, context: transom.Context) -> pa.Table:
    text = f"{context.key} {context.window}"
    context.output("notes", pa.table({"note": [text]}))
    return total(rows)


def counted(rows: pa.Table, context: transom.Context) -> pa.Table:
    seen = (context.key_state["seen"] or 0) + rows.num_rows
    context.key_state.update(seen=seen, last=rows["at"][0].as_py())
    return pa.table({"n": [seen]})


class Total(transom.Accumulator[tuple[int]]):
    state = StructType([StructField("total", LongType())])

    def init(self) -> tuple[int]:
        return (0,)

    def add(self, acc: tuple[int], rows: pa.Table) -> tuple[int]:
        return (acc[0] + sum(rows["delay"].to_pylist()),)

    def merge(self, left: tuple[int], right: tuple[int]) -> tuple[int]:
        return (left[0] + right[0],)

    def result(self, acc: tuple[int]) -> int:
        return acc[0]


def lived(rows: pa.Table) -> pa.Table:
    """The last of the rows, from its own start, which is before the window for some."""
    kind = pa.struct([(name, pa.timestamp("us", "UTC")) for name in ("start", "end")])
    last = max(rows.to_pylist(), key=lambda row: (row["at"], row["delay"]))
    lives = pa.array([{"start": last["at"], "end": last["lifetime"]["end"]}], kind)
    return pa.table({"n": [last["delay"]], "lifetime": lives})


def hours(df: DataFrame, *keys: Any) -> transom.Windowed:
    stream = transom.stream(df, time=transom.EventTime("at", delay="0 seconds"), order="delay")
    return stream.key_by(*keys).window(transom.Tumbling("1 hour"))


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "agg": lambda df: hours(df, "origin").agg(n=F.sum("delay")),
    "agg by an accumulator": lambda df: hours(df, "origin").agg(
        n=transom.udaf(Total(), "delay", returns=LongType())
    ),
    "apply": lambda df: hours(df, "origin").apply(total, NUMBER),
    "apply that returns lifetimes": lambda df: (
        transom.stream(
            df,
            time=transom.EventTime("at", delay="0 seconds"),
            lifetime=transom.Lifetime(duration="30 minutes"),
        )
        .key_by("origin")
        .window(transom.Tumbling("1 hour"))
        .output_policy("clip_to_window_end")
        .apply(lived, LIVED)
    ),
    "apply without keys": lambda df: hours(df).with_pane().apply(total, NUMBER),
    "apply by expressions": lambda df: hours(
        df, F.upper("origin"), F.hour("at").alias("hour")
    ).apply(total, NUMBER),
    "apply with outputs": lambda df: (
        hours(df, "origin").with_late_rows().apply(noted, NUMBER, outputs={"notes": NOTED})
    ),
    "apply with state": lambda df: hours(df, "origin").apply(counted, NUMBER, key_state=STATE),
    "apply with state and late rows": lambda df: (
        hours(df).with_late_rows().apply(counted, NUMBER, key_state=STATE)
    ),
    "scan": lambda df: (
        transom.stream(df, time=transom.EventTime("at", delay="0 seconds"))
        .key_by("origin")
        .scan(counted, NUMBER, state=STATE)
    ),
    "top": lambda df: hours(df, "origin").top(2, F.desc("delay")),
    "top without keys": lambda df: hours(df).top(2, "delay", "origin"),
    "top by expressions": lambda df: hours(
        df, F.upper("origin"), F.col("origin"), (F.col("delay") % 2).alias("delay")
    ).top(1, "at"),
    "top with late rows": lambda df: hours(df, "origin").with_late_rows().top(2, "delay"),
}


def at(minute: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(minutes=minute)


# The first row of the last batch is late.
BATCHES = [
    [("JFK", at(minute), minute * 7 % 11) for minute in range(0, 150, 10)],
    [("LGA", at(minute), minute * 5 % 13) for minute in range(90, 200, 10)],
    [("JFK", at(5), 3), ("LGA", at(400), 1)],
]


def in_flow(spark: SparkSession, build: Callable[[], DataFrame]) -> DataFrame:
    with add_pipeline_analysis_context(spark, "graph", "flow"):
        built = build()
        with pytest.raises(AnalysisException) as refused:
            built.schema  # noqa: B018, Spark refuses to analyze the plan
    assert refused.value.getCondition() == "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
    return built


def shown(rows: list[Row]) -> list[str]:
    """The rows as text. A late row has the time of the clock too, so only its row counts."""
    return sorted(
        str(row.late.row if "late" in row.__fields__ and row.late is not None else row)
        for row in rows
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "query",
    [
        "agg by an accumulator",
        "apply that returns lifetimes",
        "apply with outputs",
        "apply with state and late rows",
        "scan",
        "top with late rows",
    ],
)
def test_a_flow_of_a_stream_has_the_results_of_a_query(spark: SparkSession, query: str) -> None:
    build = QUERIES[query]
    expected = run_stream(spark, build, SCHEMA, BATCHES)
    found = run_stream(spark, lambda df: in_flow(spark, lambda: build(df)), SCHEMA, BATCHES)
    assert len(expected.results) >= 4
    assert bool(expected.late) == ("late rows" in query or "outputs" in query)
    assert {batch: shown(rows) for batch, rows in found.by_batch.items()} == {
        batch: shown(rows) for batch, rows in expected.by_batch.items()
    }


@pytest.mark.parametrize("query", QUERIES)
def test_a_flow_of_a_table_has_the_results_of_a_query(spark: SparkSession, query: str) -> None:
    build = QUERIES[query]
    df = spark.createDataFrame([row for batch in BATCHES for row in batch], SCHEMA)
    expected = build(df)
    found = in_flow(spark, lambda: build(df))
    assert found.schema == expected.schema
    rows = expected.collect()
    assert len(rows) >= 4
    assert shown(found.collect()) == shown(rows)


@pytest.mark.parametrize(
    "build",
    [
        lambda df: hours(df).apply(total, "n long"),
        lambda df: hours(df).apply(total, NUMBER, key_state="seen long"),
        lambda df: hours(df).apply(total, NUMBER, outputs={"notes": "note string"}),
    ],
    ids=["schema", "state", "outputs"],
)
def test_a_flow_cannot_read_a_schema_as_text(
    spark: SparkSession, build: Callable[[DataFrame], DataFrame]
) -> None:
    df = spark.createDataFrame(BATCHES[0], SCHEMA)
    with (
        raises("PIPELINE_UNSUPPORTED", kind=PySparkValueError),
        add_pipeline_analysis_context(spark, "graph", "flow"),
    ):
        build(df)
