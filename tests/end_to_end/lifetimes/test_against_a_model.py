"""Windows over generated lifetimes, static and streaming, compared with a naive model."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models.lifetimes import EVER, NEVER, SECOND, Content, Lived, Windows
from tests.end_to_end.models.streams import BASE as BASE_MS
from tests.end_to_end.models.streams import EPOCH, cut
from tests.end_to_end.support.queries import Outcome, run_stream

BASE = BASE_MS * 1_000
SCHEMA = "n int, key string, start timestamp, until timestamp, value int"
SEEDS = range(20 if os.environ.get("TRANSOM_LONG") else 1)
MICROSECOND = timedelta(microseconds=1)

WITH_LIFETIMES: dict[str, transom.Window] = {
    "snapshot": transom.Snapshot(),
    "snapshot right": transom.Snapshot(closed="right"),
    "count by start": transom.CountByStart(3),
    "tumbling": transom.Tumbling(size="7 seconds", offset="-2 seconds"),
    "tumbling right": transom.Tumbling(size="5 seconds", closed="right"),
    "hopping": transom.Hopping(size="10 seconds", slide="3 seconds", offset="1 second"),
    "hopping with gaps": transom.Hopping(size="3 seconds", slide="9 seconds"),
}
POINTS: dict[str, transom.Window] = {
    "snapshot": transom.Snapshot(),
    "snapshot right": transom.Snapshot(closed="right"),
    "rolling": transom.Rolling("6 seconds"),
    "count by start": transom.CountByStart(2),
    "count by single starts": transom.CountByStart(1),
}
CASES = [
    *(pytest.param(window, True, id=name) for name, window in WITH_LIFETIMES.items()),
    *(pytest.param(window, False, id=f"{name} of points") for name, window in POINTS.items()),
]


def generated(seed: int, count: int = 160) -> list[Lived]:
    """Rows that are seconds out of order. Many starts and ends are equal. Some rows have no end."""
    chosen = random.Random(seed)
    rows = []
    for n in range(count):
        behind = chosen.choice([0, 0, 1, 3, 12])
        start = BASE + (n // 2 - behind) * SECOND + chosen.choice([0, 0, 0, 500_000, 1])
        lasts = chosen.choice([1, SECOND, 2 * SECOND, 5 * SECOND, 21 * SECOND, None])
        if lasts is None and chosen.random() < 0.7:
            lasts = 3 * SECOND
        end = EVER if lasts is None else start + lasts
        rows.append(Lived(n, chosen.choice(["a", "a", "b", "c", None]), start, end))
    return rows


def value_of(n: int) -> int:
    return n * 37 % 100


def instant(micros: int) -> datetime:
    return EPOCH + micros * MICROSECOND


def as_input(rows: Sequence[Lived]) -> list[tuple[Any, ...]]:
    return [
        (
            row.n,
            row.key,
            instant(row.start),
            None if row.end == EVER else instant(row.end),
            value_of(row.n),
        )
        for row in rows
    ]


def summed(
    window: transom.Window, *, lived: bool, delay: str = "0 seconds", drain: bool = False
) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.EventTime("start", delay=delay)
        lifetime = "until" if lived else None
        windowed = transom.stream(rows, time=time, lifetime=lifetime).key_by("key").window(window)
        if rows.isStreaming:
            windowed = windowed.with_late_rows(partly=True)
        return (windowed.drain() if drain else windowed).agg(
            F.count("*").alias("count"),
            F.sum("value").alias("sum"),
            F.max("value").alias("max"),
            F.collect_list("n").alias("rows"),
        )

    return pipeline


def contents(rows: Sequence[Row]) -> set[Content]:
    """The results as the model has them. Checks the aggregates against the rows of a window."""
    found = []
    for row in rows:
        numbers = row["rows"]
        values = [value_of(n) for n in numbers]
        assert (row["count"], row["sum"], row["max"]) == (len(values), sum(values), max(values))
        assert len(set(numbers)) == len(numbers)
        start, end = ((row["window"][at] - EPOCH) // MICROSECOND for at in ("start", "end"))
        found.append(Content(row["key"], start, end, frozenset(numbers)))
    assert len(set(found)) == len(found), "a window fired twice"
    return set(found)


def late(outcome: Outcome) -> dict[int, str]:
    return {row["row"]["n"]: row["reason"] for row in outcome.late}


def lived_rows(rows: Sequence[Lived], *, lived: bool) -> list[Lived]:
    """A row without a lifetime lasts one microsecond."""
    return list(rows) if lived else [Lived(r.n, r.key, r.start, r.start + 1, r.met) for r in rows]


def modelled(
    window: transom.Window,
    batches: Sequence[Sequence[Lived]],
    delay: int,
    *,
    lived: bool,
    drained: bool = False,
) -> Windows:
    """The windows of a stream, in which each row meets the watermark of the batch before."""
    timed = [[(None, row.start // 1_000, n) for n, row in enumerate(batch)] for batch in batches]
    rows: list[Lived] = []
    final: int | None = None
    for batch, (judge, _, fire) in zip(
        [*batches, []], model.judged(timed, delay // 1_000), strict=True
    ):
        met = NEVER if judge is None else judge * 1_000
        rows += [Lived(row.n, row.key, row.start, row.end, met) for row in batch]
        final = fire
    mark = NEVER if final is None else final * 1_000
    return Windows(window, lived_rows(rows, lived=lived), mark, drained=drained)


def check(outcome: Outcome, expected: Windows) -> None:
    assert contents(outcome.results) == expected.fired
    assert late(outcome) == {
        **dict.fromkeys(expected.late, "late"),
        **dict.fromkeys(expected.partly_late, "late_partly"),
    }
    observed = outcome.observed()
    assert observed["transom_rows_late"] == len(expected.late)
    assert observed["transom_rows_late_partly"] == len(expected.partly_late)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("window", "lived"), CASES)
def test_a_static_dataframe(
    spark: SparkSession,
    window: transom.Window,
    lived: bool,  # noqa: FBT001
    seed: int,
) -> None:
    rows = generated(seed)
    shuffled = random.Random(seed).sample(as_input(rows), len(rows))
    df = spark.createDataFrame(shuffled, SCHEMA).repartition(3)
    expected = Windows(window, lived_rows(rows, lived=lived), drained=True)
    assert contents(summed(window, lived=lived)(df).collect()) == expected.fired


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("window", "lived"), CASES)
def test_a_stream_without_late_rows_has_the_results_of_a_static_dataframe(
    spark: SparkSession,
    window: transom.Window,
    lived: bool,  # noqa: FBT001
    seed: int,
) -> None:
    rows = generated(seed)
    batches = cut(rows, random.Random(seed + 5))
    if len(batches) > 5:
        batches = [*batches[:4], [row for batch in batches[4:] for row in batch]]
    pipeline = summed(window, lived=lived, delay="1 hour", drain=True)
    outcome = run_stream(spark, pipeline, SCHEMA, [as_input(batch) for batch in batches])
    expected = Windows(window, lived_rows(rows, lived=lived), drained=True)
    assert contents(outcome.results) == expected.fired
    assert outcome.late == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("window", "lived"), CASES)
def test_a_stream_with_late_rows_and_a_restart(
    spark: SparkSession,
    tmp_path: Path,
    window: transom.Window,
    lived: bool,  # noqa: FBT001
    seed: int,
) -> None:
    rows = generated(seed + 100)
    batches = [rows[:40], rows[40:70], rows[70:130], rows[130:]]
    pipeline = summed(window, lived=lived, delay="2 seconds")
    runs = [
        run_stream(spark, pipeline, SCHEMA, [as_input(b) for b in part], checkpoint=tmp_path)
        for part in (batches[:2], batches[2:])
    ]
    # After its last batch, a run has a batch without data.
    with_empty: list[list[Lived]] = [*batches[:2], [], *batches[2:]]
    expected = modelled(window, with_empty, 2 * SECOND, lived=lived)
    assert expected.late | expected.partly_late, "the stream should have late rows"
    both = Outcome(
        runs[0].results + runs[1].results,
        runs[0].late + runs[1].late,
        runs[0].progress + runs[1].progress,
        {},
    )
    check(both, expected)
