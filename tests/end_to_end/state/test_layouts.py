"""Both state layouts give the same rows wherever both can run the windows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.shapes import SHAPES, Shape, text
from tests.end_to_end.models.streams import DAY, MINUTE, Stream, examples, streams
from tests.end_to_end.support.clocked import kept
from tests.end_to_end.support.queries import Outcome, run_stream
from transom.spec import Layout


def aggregates() -> list[Column]:
    """Accumulators that are updated in place, that are objects, and with DISTINCT.

    None depends on the order of rows.
    """
    value = F.col("value")
    return [
        F.count("*").alias("n"),
        F.sum(value.cast("decimal(38,10)")).alias("exactly"),
        F.sort_array(F.collect_list("id")).alias("ids"),
        F.max(value.cast("string")).alias("text"),
        F.count_distinct("value").alias("values"),
        F.sum("value").alias("sum"),
    ]


def run(
    spark: SparkSession,
    stream: Stream,
    shape: Shape,
    layout: Layout,
    *,
    fixed: bool = False,
    checkpoint: Path | None = None,
) -> Outcome:
    """Run the stream in a layout. With `fixed`, all accumulators have a fixed width."""

    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.EventTime("time", delay=text(stream.delay))
        windowed = transom.stream(rows, time=time).key_by("key").window(shape.window)
        chosen = windowed.with_late_rows(partly=True).options(layout=layout)
        return chosen.agg(*(aggregates()[:2] if fixed else aggregates()))

    return run_stream(spark, pipeline, stream.schema, stream.for_spark(), checkpoint=checkpoint)


def results(outcome: Outcome) -> Counter[str]:
    return Counter(repr(row) for row in outcome.results)


def late(outcome: Outcome) -> Counter[str]:
    names = ("row", "reason", "time", "watermark")
    return Counter(
        repr(([row[name] for name in names], sorted(row["missed_windows"]))) for row in outcome.late
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", SHAPES)
@given(data=st.data())
@examples(1)
def test_both_give_the_same_rows(spark: SparkSession, kind: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES[kind])
    span = 40 * DAY if kind == "calendar" else MINUTE
    stream = data.draw(streams(span=span))
    # With accumulators of fixed width, the keyed layout combines rows before the exchange.
    fixed = data.draw(st.booleans())
    slices, keyed = (
        run(spark, stream, shape, layout, fixed=fixed) for layout in ("slices", "keyed")
    )
    assert results(keyed) == results(slices)
    assert late(keyed) == late(slices)
    assert keyed.observed() == slices.observed()


def test_accumulators_that_are_updated_in_place_outlast_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [(n, n % 3, 1_704_067_200_000 + n * 500, n) for n in range(60)]
    stream = Stream(tuple(tuple(rows[n : n + 10]) for n in range(0, 60, 10)), 0, "string")
    shape = Shape(transom.Tumbling(size="7 seconds"), None, lambda _: ([], []))
    slices = run(spark, stream, shape, "slices", fixed=True)
    keyed = run(spark, stream, shape, "keyed", fixed=True, checkpoint=tmp_path)
    assert results(keyed) == results(slices)
    # One window is open, for each of three keys.
    assert kept(spark, tmp_path)["keys"] == 3
    assert "rows" not in kept(spark, tmp_path)


def test_the_layout_is_told_with_its_reason(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "key string, time timestamp, value int")
    hours = transom.stream(rows, time="time").window(transom.Tumbling(size="1 hour"))

    def layout(windowed: transom.Windowed) -> str:
        lines = transom.explain(windowed.agg(F.count("*"))).splitlines()
        return next(line[14:] for line in lines if line.startswith("  layout "))

    assert layout(hours).startswith("slices: ")
    assert layout(hours.options(layout="keyed")) == "keyed: set by options(layout='keyed')"
    assert layout(hours.allowed_lateness("1 second")) == (
        "keyed: needed for an allowed_lateness() above 0"
    )
    assert (
        layout(hours.trigger(transom.AfterCount(2))) == "keyed: needed for the trigger AfterCount"
    )


def test_what_needs_an_entry_for_each_key_is_refused_in_the_pane_log(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "key string, time timestamp, value int")
    windowed = transom.stream(rows, time="time").window(transom.Tumbling(size="1 hour"))
    counted = windowed.trigger(transom.AfterCount(2)).options(layout="slices")
    with pytest.raises(IllegalArgumentException, match="needs the keyed layout") as caught:
        counted.agg(F.count("*"))
    assert caught.value.getCondition() == "TRANSOM_LAYOUT_UNSUPPORTED"
