"""Generated streams in Real-Time Mode, against a model that knows neither batches nor restarts."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Self

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models import real_time as real_time_model
from tests.end_to_end.models.streams import BASE, LONG, instant, millis
from tests.end_to_end.support.real_time import Values, run_real_time
from transom.typing import Layout

SCHEMA = "key string, time timestamp, value int"
SEEDS = range(100 if LONG else 12)


@dataclass(frozen=True)
class Grid:
    """A window, and the model of its windows."""

    window: transom.Window
    assign: model.Assign
    tick: int = 0


def text(ms: int) -> str:
    return f"{ms} milliseconds"


def grid(chosen: random.Random) -> Grid:
    size = chosen.choice([250, 1_000, 7_000, 30_000])
    slide = chosen.choice([size, size // 2, size // 5 * 2, size + 500])
    offset = chosen.choice([0, slide // 3, -(slide // 2)])
    kind = chosen.choice(["hopping", "cumulating", "ends included", "calendar"])
    match kind:
        case "hopping":
            window = transom.Hopping(text(size), text(slide), offset=text(offset))
            return Grid(window, model.hopping(size, slide, offset))
        case "cumulating":
            return Grid(
                transom.Cumulate(text(4 * size), text(size)), model.cumulate(4 * size, size)
            )
        case "ends included":
            window = transom.Hopping(text(size), text(slide), closed="right")
            return Grid(window, model.hopping(size, slide), tick=1)
    # Lord Howe Island moves its clocks by half an hour.
    zone = "Australia/Lord_Howe"
    return Grid(transom.Calendar("day", time_zone=zone), model.calendar("day", zone))


@dataclass(frozen=True)
class Stream:
    """Rows of several sources, in steps. Each step is in batches of its own."""

    delay: int
    steps: list[list[list[Values]]]

    @property
    def by_source(self) -> list[list[model.Row]]:
        """The rows of each source for the model."""
        return [
            [
                (key, None if time is None else millis(time), value)
                for step in self.steps
                for key, time, value in step[source]
            ]
            for source in range(len(self.steps[0]))
        ]

    @property
    def by_substream(self) -> dict[str, list[model.Row]]:
        """The rows of each key for the model, if each key is in one source."""
        found = defaultdict(list)
        for rows in self.by_source:
            for row in rows:
                if row[0] is not None:
                    found[row[0]].append(row)
        return found

    def with_keys_of_sources(self) -> Self:
        """The same rows, whose keys name their source."""
        steps = [
            [
                [(None if key is None else f"{source}{key}", at, value) for key, at, value in rows]
                for source, rows in enumerate(step)
            ]
            for step in self.steps
        ]
        return replace(self, steps=steps)


def stream(chosen: random.Random, *, span: int, on_time: bool = False) -> Stream:
    """A stream whose sources differ in their number of rows, and in how far they are behind."""
    keys = chosen.choice([1, 4, 50])
    step = chosen.choice([1, 100, 500])
    disorder = chosen.choice([0, span // 20, span // 3])
    delay = disorder if on_time else chosen.choice([0, span // 50, disorder])
    sources = []
    for _ in range(chosen.choice([1, 2, 4])):
        count, behind = chosen.choice([0, 1, 60, 150, 150]), chosen.choice([0, span // 10])
        rows: list[Values] = []
        for number in range(count):
            time = number * span // count - behind - chosen.randrange(disorder + 1)
            key = None if chosen.random() < 0.05 else f"k{chosen.randrange(keys)}"
            is_null = chosen.random() < 0.03
            at = None if is_null else instant(BASE + time // step * step)
            rows.append((key, at, chosen.randrange(100)))
        sources.append(rows)
    # A source without a row holds all windows back, mostly until the last step.
    if chosen.random() < 0.8:
        for rows in sources:
            rows.append(("last", instant(BASE + span), 0))
    cuts = chosen.choice([1, 2, 3])
    return Stream(delay, cut(sources, cuts, chosen))


def cut(sources: list[list[Values]], steps: int, chosen: random.Random) -> list[list[list[Values]]]:
    """Cut each source at places of its own."""
    parts = []
    for rows in sources:
        places = sorted(chosen.randrange(len(rows) + 1) for _ in range(steps - 1))
        bounds = zip([0, *places], [*places, len(rows)], strict=True)
        parts.append([rows[start:end] for start, end in bounds])
    return [[part[step] for part in parts] for step in range(steps)]


def clocked(rows: DataFrame, delay: int) -> transom.Stream:
    clock = transom.EventTime("time", delay=timedelta(milliseconds=delay))
    return transom.stream(rows, time=clock).key_by("key")


@pytest.mark.parametrize("seed", SEEDS)
def test_grids_have_the_results_and_late_rows_of_a_model(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    shape = grid(chosen)
    is_calendar = isinstance(shape.window, transom.Calendar)
    rows = stream(chosen, span=7 * 86_400_000 if is_calendar else 60_000)
    layout: Layout = chosen.choice(["slices", "keyed"])

    def pipeline(df: DataFrame) -> DataFrame:
        windows = clocked(df, rows.delay).window(shape.window).options(layout=layout)
        return windows.with_late_rows().agg(n=F.count("*"), s=F.sum("value"))

    outcome = run_real_time(
        spark, pipeline, SCHEMA, rows.steps, tmp_path, restart=chosen.random() < 0.5
    )
    found = [
        (r["key"], millis(r["window"]["start"]), millis(r["window"]["end"]), r["n"], r["s"])
        for r in outcome.results
    ]
    late = [(r["row"]["key"], millis(r["row"]["time"]), r["row"]["value"]) for r in outcome.late]
    fired, expected = real_time_model.grid(
        rows.by_source, rows.delay, shape.assign, tick=shape.tick
    )
    assert sorted(found, key=repr) == sorted(fired, key=repr)
    assert sorted(late, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("seed", SEEDS[: len(SEEDS) // 3])
def test_substreams_have_the_results_and_late_rows_of_a_model(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    shape = grid(chosen)
    rows = stream(chosen, span=60_000).with_keys_of_sources()
    delay = timedelta(milliseconds=rows.delay)
    policy = transom.TimePolicy("time", over=["key"], out_of_order=delay)
    # A substream may have several keys.
    halves = 2 if chosen.random() < 0.5 else 1
    half = F.col("value") % halves

    def pipeline(df: DataFrame) -> DataFrame:
        by_key = transom.stream(df, time=policy).key_by("key", half.alias("half"))
        windows = by_key.window(shape.window).with_late_rows().with_dead_letters()
        return windows.agg(n=F.count("*"), s=F.sum("value"))

    outcome = run_real_time(
        spark, pipeline, SCHEMA, rows.steps, tmp_path, restart=chosen.random() < 0.5
    )
    found = [
        (
            f"{r['key']}/{r['half']}",
            millis(r["window"]["start"]),
            millis(r["window"]["end"]),
            r["n"],
            r["s"],
        )
        for r in outcome.results
    ]
    late = [(r["row"]["key"], millis(r["row"]["time"]), r["row"]["value"]) for r in outcome.late]
    fired, expected = [], []
    for substream in rows.by_substream.values():
        of_halves = [(f"{key}/{value % halves}", time, value) for key, time, value in substream]
        results, missed = real_time_model.grid(
            [of_halves], rows.delay, shape.assign, tick=shape.tick
        )
        fired += results
        expected += [(str(key).split("/")[0], time, value) for key, time, value in missed]
    assert sorted(found, key=repr) == sorted(fired, key=repr)
    assert sorted(late, key=repr) == sorted(expected, key=repr)
    tags = [r["tag"] for rows in outcome.by_batch.values() for r in rows]
    assert tags.count("dead_letters") == sum(
        key is None or time is None for source in rows.by_source for key, time, _ in source
    )


@pytest.mark.parametrize("seed", SEEDS[: len(SEEDS) // 3])
def test_sessions_have_the_results_of_a_model(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    rows = stream(chosen, span=60_000, on_time=True)
    gap, inclusive = chosen.choice([1, 500, 2_000, 10_000]), chosen.random() < 0.5

    def pipeline(df: DataFrame) -> DataFrame:
        window = transom.Session(text(gap), inclusive=inclusive)
        windows = clocked(df, rows.delay).window(window)
        return windows.with_late_rows().agg(n=F.count("*"), s=F.sum("value"))

    outcome = run_real_time(
        spark, pipeline, SCHEMA, rows.steps, tmp_path, restart=chosen.random() < 0.5
    )
    found = [
        (r["key"], millis(r["window"]["start"]), millis(r["window"]["end"]), r["n"], r["s"])
        for r in outcome.results
    ]
    fired = real_time_model.sessions(rows.by_source, rows.delay, gap, inclusive=inclusive)
    assert sorted(found, key=repr) == sorted(fired, key=repr)
    assert outcome.late == []
