"""Real queries over generated streams, against the model and against Spark's own windows."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.support.queries import Outcome, run_stream, state_rows
from transom.spec import Layout

SCHEMA = "key string, time timestamp, value int"
DELAY = 4_000
EPOCH = datetime(1970, 1, 1)
# Far from 1970, because Spark's watermark starts at 1970.
BASE = 1_704_067_200_000
SEEDS = range(20 if os.environ.get("TRANSOM_LONG") else 1)

Modelled = tuple[list[model.Result], list[model.Row]]

WINDOWS: dict[str, tuple[transom.Window, Callable[[list[list[model.Row]]], Modelled]]] = {
    "tumbling": (
        transom.Tumbling(size="7 seconds", offset="-2 seconds"),
        lambda b: model.grid(b, DELAY, model.tumbling(7_000, -2_000)),
    ),
    "hopping": (
        transom.Hopping(size="10 seconds", slide="3 seconds", offset="1 second"),
        lambda b: model.grid(b, DELAY, model.hopping(10_000, 3_000, 1_000)),
    ),
    "hopping with gaps": (
        transom.Hopping(size="3 seconds", slide="5 seconds"),
        lambda b: model.grid(b, DELAY, model.hopping(3_000, 5_000)),
    ),
    "cumulate": (
        transom.Cumulate(size="12 seconds", step="3 seconds"),
        lambda b: model.grid(b, DELAY, model.cumulate(12_000, 3_000)),
    ),
    "ends included": (
        transom.Tumbling(size="5 seconds", closed="right"),
        lambda b: model.grid(b, DELAY, model.tumbling(5_000), tick=1),
    ),
    "sessions": (
        transom.Session(gap="3 seconds"),
        lambda b: model.sessions(b, DELAY, 3_000, inclusive=True),
    ),
    "strict sessions": (
        transom.Session(gap="3 seconds", inclusive=False),
        lambda b: model.sessions(b, DELAY, 3_000, inclusive=False),
    ),
}


def generated(seed: int) -> list[list[model.Row]]:
    """Batches with rows that are seconds to minutes out of order. Some rows have no time."""
    random_ = random.Random(seed)
    batches = []
    for number in range(5):
        batch: list[model.Row] = []
        for _ in range(60):
            # Half of the times are whole seconds, so that some rows lie on bounds of windows.
            behind = random_.choice([0, 0, 1, random_.expovariate(1 / 30_000)])
            time = int(number * 15_000 + random_.uniform(0, 15_000) - behind)
            if random_.random() < 0.5:
                time = time // 1_000 * 1_000
            key = random_.choice(["a", "b", "c", "d", None])
            missing = random_.random() < 0.02
            batch.append((key, None if missing else BASE + time, random_.randrange(100)))
        batches.append(batch)
    return batches


def instant(ms: int | None) -> datetime | None:
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)


def millis(time: datetime) -> int:
    return (time - EPOCH) // timedelta(milliseconds=1)


def as_input(batches: list[list[model.Row]]) -> list[list[tuple[object, ...]]]:
    return [[(key, instant(time), value) for key, time, value in batch] for batch in batches]


def counted(window: transom.Window, layout: Layout = "auto") -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        return (
            transom.stream(rows, time=transom.EventTime("time", delay="4 seconds"))
            .key_by("key")
            .window(window)
            .with_late_rows()
            .options(layout=layout)
            .agg(F.count("*").alias("n"), F.sum("value").alias("total"))
        )

    return pipeline


def shown(outcome: Outcome) -> Counter[model.Result]:
    return Counter(
        (r["key"], millis(r["window"]["start"]), millis(r["window"]["end"]), r["n"], r["total"])
        for r in outcome.results
    )


def late_of(outcome: Outcome) -> Counter[model.Row]:
    rows = [late["row"] for late in outcome.late]
    return Counter((r["key"], millis(r["time"]), r["value"]) for r in rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WINDOWS)
def test_a_query_gives_what_the_rules_say(
    spark: SparkSession, tmp_path: Path, name: str, seed: int
) -> None:
    window, expected_of = WINDOWS[name]
    batches = generated(seed)
    expected, expected_late = expected_of(batches)
    outcome = run_stream(spark, counted(window), SCHEMA, as_input(batches), checkpoint=tmp_path)

    assert shown(outcome) == Counter(expected)
    assert late_of(outcome) == Counter(expected_late)
    assert expected_late, "the stream should have late rows"
    observed = outcome.observed()
    assert observed["transom_rows_in"] == sum(len(batch) for batch in batches)
    assert observed["transom_rows_late"] == len(expected_late)
    without_time = sum(time is None for batch in batches for _, time, _ in batch)
    assert observed["transom_rows_without_time"] == without_time


@pytest.mark.parametrize("name", ["hopping", "cumulate", "sessions"])
def test_neither_restarts_nor_the_order_within_a_batch_change_anything(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    window, expected_of = WINDOWS[name]
    batches = generated(100)
    # After its last batch, a run has a batch without data.
    expected, expected_late = expected_of([batches[0], batches[1], [], batches[2], batches[3]])
    for batch in batches:
        random.Random(1).shuffle(batch)
    first = run_stream(spark, counted(window), SCHEMA, as_input(batches[:2]), checkpoint=tmp_path)
    second = run_stream(spark, counted(window), SCHEMA, as_input(batches[2:4]), checkpoint=tmp_path)
    assert shown(first) + shown(second) == Counter(expected)
    assert late_of(first) + late_of(second) == Counter(expected_late)


def test_state_is_gone_when_the_last_window_has_fired(spark: SparkSession, tmp_path: Path) -> None:
    last: list[model.Row] = [("a", BASE + 1_000_000, 1)]
    for number, name in enumerate(["hopping", "cumulate", "sessions"]):
        checkpoint = tmp_path / str(number)
        window, _ = WINDOWS[name]
        batches = [*as_input(generated(7)[:2]), *as_input([last])]
        run_stream(spark, counted(window), SCHEMA, batches, checkpoint=checkpoint)
        # Only the window of the row that moved the watermark is left.
        assert len(state_rows(spark, checkpoint)) == 1


@pytest.mark.parametrize(
    ("window", "native"),
    [
        (transom.Tumbling(size="7 seconds"), lambda: F.window("time", "7 seconds")),
        (
            transom.Hopping(size="10 seconds", slide="3 seconds"),
            lambda: F.window("time", "10 seconds", "3 seconds"),
        ),
        (
            transom.Hopping(size="3 seconds", slide="2 seconds", offset="1 second"),
            lambda: F.window("time", "3 seconds", "2 seconds", "1 second"),
        ),
        (
            transom.Session(gap="700 milliseconds"),
            lambda: F.session_window("time", "700 milliseconds"),
        ),
    ],
    ids=["tumbling", "hopping", "hopping with an offset", "sessions"],
)
def test_a_static_dataframe_gives_what_sparks_windows_give(
    spark: SparkSession, window: transom.Window, native: Callable[[], Column]
) -> None:
    rows = [row for batch in as_input(generated(3)) for row in batch]
    df = spark.createDataFrame(rows, SCHEMA)
    aggregates = [F.count("*").alias("n"), F.sum("value"), F.avg("value"), F.max("key")]
    ours = transom.stream(df, time="time").key_by("key").window(window).agg(*aggregates)
    theirs = df.groupBy("key", native().alias("window")).agg(*aggregates)
    assert Counter(ours.collect()) == Counter(theirs.collect())
    assert ours.schema.simpleString() == theirs.schema.simpleString()
