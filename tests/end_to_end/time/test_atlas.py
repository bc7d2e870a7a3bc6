"""Worked examples of Atlas Stream Processing: one result for each window, however rows are cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Outcome, run_stream
from tests.end_to_end.support.seeds import instant, vector
from tests.end_to_end.support.streams import cut, examples

NAMES = [
    "atlas-02-allowed-lateness-table",
    "atlas-02x-late-after-close-goes-to-dlq",
    "atlas-05-tumbling-3s-boundaries",
    "atlas-06-hopping-20s-5s",
    "atlas-10-default-lateness-3s",
    "atlas-11-hopping-partly-late",
]
SCHEMA = "seq int, at timestamp"
# The lateness of a vector that gives none.
DEFAULT_LATENESS_MS = 3_000

Event = tuple[int, datetime]
# The bounds of a window, and the numbers of its rows.
Result = tuple[datetime, datetime, list[int]]
# The number of a late row, the reason, and the starts of the windows that the row missed.
Late = tuple[int, str, list[datetime]]


def events(name: str) -> list[Event]:
    return [(event["seq"], instant(event["event_time"])) for event in vector(name)["events"]]


def windows(name: str) -> transom.Window:
    settings = vector(name)["windows"]
    size = timedelta(milliseconds=settings["size_ms"])
    if settings["type"] == "tumbling":
        return transom.Tumbling(size=size)
    return transom.Hopping(size=size, slide=timedelta(milliseconds=settings["hop_ms"]))


def windowed(name: str) -> Callable[[DataFrame], DataFrame]:
    """The query of a vector. In Atlas, the watermark is the largest time."""
    lateness = vector(name)["policy"].get("allowed_lateness_ms", DEFAULT_LATENESS_MS)

    def pipeline(rows: DataFrame) -> DataFrame:
        return (
            transom.stream(rows, time=transom.TimePolicy("at"), order="seq")
            .window(windows(name))
            .allowed_lateness(timedelta(milliseconds=lateness))
            .trigger(transom.AfterLateness())
            .with_late_rows(partly=True)
            .agg(F.sort_array(F.collect_list("seq")).alias("seqs"))
        )

    return pipeline


def expected_results(name: str) -> list[Result]:
    """The windows that have closed."""
    return [
        (instant(output["window_start"]), instant(output["window_end"]), output["seqs"])
        for output in vector(name)["expected"]["outputs"]
    ]


def expected_open(name: str) -> list[Result]:
    """The windows that are open after the last row."""
    opened = vector(name)["expected"]["open_at_end"]
    return [(instant(w["window"][0]), instant(w["window"][1]), w["seqs"]) for w in opened]


def expected_late(name: str) -> list[Late]:
    expected = vector(name)["expected"]
    dispositions = {row["seq"]: row["disposition"] for row in expected["per_event"]}
    reasons = {"dlq": "late", "partial": "late_partly"}
    return [
        (
            row["seq"],
            reasons[dispositions[row["seq"]]],
            [instant(start) for start in row["missed_window_starts"]],
        )
        for row in expected["dlq"]
    ]


def results(rows: Iterable[Row]) -> list[Result]:
    return sorted((row["window"]["start"], row["window"]["end"], row["seqs"]) for row in rows)


def late(rows: Iterable[Row]) -> list[Late]:
    found = [
        (row["row"]["seq"], row["reason"], [window["start"] for window in row["missed_windows"]])
        for row in rows
    ]
    return sorted(found)


def run(spark: SparkSession, name: str, batches: Sequence[Any]) -> Outcome:
    """Run the query of a vector, and check its results and late rows."""
    outcome = run_stream(spark, windowed(name), SCHEMA, batches)
    assert results(outcome.results) == expected_results(name)
    assert late(outcome.late) == expected_late(name)
    return outcome


@pytest.mark.parametrize("name", NAMES)
def test_row_by_row_each_window_closes_with_the_row_of_the_table(
    spark: SparkSession, name: str
) -> None:
    outcome = run(spark, name, [[event] for event in events(name)])
    numbers = [number for number, _ in events(name)]
    closed = [
        (*result, numbers[batch])
        for batch, rows in sorted(outcome.by_batch.items())
        for result in results(row["results"] for row in rows if row["tag"] == "results")
    ]
    at = [output["at_row"] for output in vector(name)["expected"]["outputs"]]
    assert closed == [
        (*result, row) for result, row in zip(expected_results(name), at, strict=True)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_one_batch_gives_the_results_and_the_late_rows_of_the_table(
    spark: SparkSession, name: str
) -> None:
    run(spark, name, [events(name)])


@examples(6)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**32))
def test_neither_cuts_nor_the_order_within_batches_change_a_result(
    spark: SparkSession, name: str, seed: int
) -> None:
    chosen = random.Random(seed)
    batches = [chosen.sample(batch, len(batch)) for batch in cut(events(name), chosen)]
    run(spark, name, batches)


@pytest.mark.parametrize("name", NAMES)
def test_in_a_static_dataframe_open_windows_close_at_its_end(
    spark: SparkSession, name: str
) -> None:
    rows = spark.createDataFrame(events(name)[::-1], SCHEMA).repartition(3)
    tagged = windowed(name)(rows)
    closed = transom.untag(tagged, "results").collect()
    assert results(closed) == sorted(expected_results(name) + expected_open(name))
    assert late(transom.untag(tagged, "late").collect()) == expected_late(name)
