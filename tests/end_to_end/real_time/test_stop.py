"""A query that stops in the middle of a batch repeats the batch, with the same results."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models import real_time as real_time_model
from tests.end_to_end.models.streams import BASE, instant, millis
from tests.end_to_end.support.real_time import BATCH, LONG_BATCH, Values, real_time

SCHEMA = "key string, time timestamp, value int"
SOURCES = 3
DELAY = 2_000


def rows_of(source: int, begin: int, end: int) -> list[Values]:
    """Rows of some seconds, ten a second, up to 6 seconds out of order."""
    chosen = random.Random(1_000 * source + begin)
    return [
        (
            chosen.choice("abcd"),
            instant(BASE + 100 * n - chosen.randrange(6_000)),
            chosen.randrange(100),
        )
        for n in range(10 * begin, 10 * end)
    ]


@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_each_window_is_right_and_duplicates_are_identical(
    spark: SparkSession, tmp_path: Path, layout: transom.typing.Layout
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="2 seconds")
        windows = (
            transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling("5 seconds"))
        )
        late = windows.options(layout=layout).with_late_rows()
        return late.agg(n=F.count("*"), s=F.sum("value"))

    sent: list[list[Values]] = [[] for _ in range(SOURCES)]
    with real_time(spark, pipeline, SCHEMA, SOURCES, tmp_path) as query:

        def add(begin: int, end: int) -> None:
            for source in range(SOURCES):
                rows = rows_of(source, begin, end)
                query.add(source, rows)
                sent[source] += rows

        query.start()
        add(0, 20)
        query.settle()
        query.stop()
        for begin in (20, 40):
            committed = len(query.rows)
            query.start(LONG_BATCH)
            add(begin, begin + 20)
            query.wait_for(committed + 10)
            query.stop()
        query.start(BATCH)
        add(60, 80)
        query.settle()
        outcome = query.outcome

    by_window = defaultdict(list)
    for row in outcome.results:
        start, end = millis(row["window"]["start"]), millis(row["window"]["end"])
        by_window[row["key"], start, end].append((row["n"], row["s"]))
    assert any(len(found) > 1 for found in by_window.values()), "nothing was repeated"
    assert all(len(set(found)) == 1 for found in by_window.values()), "duplicates differ"
    rows = [[(key, millis(time), value) for key, time, value in part] for part in sent]
    fired, late = real_time_model.grid(rows, DELAY, model.tumbling(5_000))
    assert sorted((*window, *found[0]) for window, found in by_window.items()) == sorted(fired)
    assert {
        (row["row"]["key"], millis(row["row"]["time"]), row["row"]["value"]) for row in outcome.late
    } == set(late)
    assert late
