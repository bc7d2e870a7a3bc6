"""Generated queries in Real-Time Mode and in micro-batches: the same rows come out.

With a time policy, micro-batches judge each row by the rows before it, so their results depend on
no batch either. The rows of both modes come in the same order where there is one source. With
several sources, micro-batches judge a row by the watermark of all of them. So no row is behind the
watermark of its source there. With event time, micro-batches judge a row by the watermark before
the batch before its own. So the late rows of a batch come first there, the others are in order, and
a batch that does not move the watermark lies between.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import BASE, LONG, instant
from tests.end_to_end.support.queries import Outcome, run_stream
from tests.end_to_end.support.real_time import Values, run_real_time

SCHEMA = "key string, part int, time timestamp, value int"
SEEDS = range(200 if LONG else 16)
# Fails for some rows.
KEY = "CAST(substr(key, 2) AS INT) AS key"
# Milliseconds. With the short one, the watermark moves more often than there are messages about it.
UNITS = (4, 1_000)
# The rows of a source are this many units of time long.
SPAN = 60
# Fields of side outputs that say which query has written a row, and when.
OF_A_RUN = ("query", "processed_at")
# The parts of a source that are in one micro-batch.
PLACES = (slice(0, 30), slice(30, None))


def text(ms: int) -> str:
    return f"{ms} milliseconds"


def window(chosen: random.Random, unit: int) -> transom.Window:
    """Windows of some units, in milliseconds."""
    size = chosen.choice([unit, 5 * unit, 20 * unit])
    gap = F.expr(f"make_dt_interval(0, 0, 0, (1 + value % 4) * {unit} / 1000)")
    windows: list[Callable[[], transom.Window]] = [
        lambda: transom.Tumbling(text(size), offset=text(size // 3)),
        lambda: transom.Tumbling(text(size), closed="right"),
        lambda: transom.Hopping(text(size), text(size // 5)),
        lambda: transom.Hopping(text(size), text(2 * size)),
        lambda: transom.Cumulate(text(4 * size), text(size)),
        lambda: transom.Session(text(size // 4)),
        lambda: transom.Session(gap, inclusive=True),
        lambda: transom.Global(),
        lambda: transom.Count(chosen.choice([2, 5])),
        lambda: transom.Windows(
            [transom.Tumbling(text(size)), transom.Hopping(text(4 * size), text(size))]
        ),
    ]
    return chosen.choice(windows)()


def by_rows(chosen: random.Random, shape: transom.Window, unit: int) -> transom.Trigger:
    """A trigger whose results depend on the order of the rows."""
    triggers: list[Callable[[], transom.Trigger]] = [
        lambda: transom.AfterCount(chosen.choice([2, 7])),
        lambda: transom.Every(text(2 * unit)),
        lambda: transom.When("value % 100 > 70"),
        lambda: transom.AfterDelta(
            lambda old, new: new["value"] % 100 - old["value"] % 100, threshold=40
        ),
    ]
    if isinstance(shape, transom.Session):
        # This trigger does not work with windows that merge.
        triggers.pop()
    return chosen.choice(triggers)()


def triggered(
    windowed: transom.Windowed, shape: transom.Window, chosen: random.Random, unit: int
) -> transom.Windowed:
    early = by_rows(chosen, shape, unit)
    if isinstance(shape, transom.Global):
        return windowed.trigger(chosen.choice([early, transom.Purging(early)]))
    if isinstance(shape, transom.Count | transom.Windows) or chosen.random() < 0.3:
        return windowed
    late = by_rows(chosen, shape, unit) if chosen.random() < 0.5 else None
    trigger: transom.Trigger = transom.AfterWatermark(
        early=early if chosen.random() < 0.6 else None, late=late
    )
    if chosen.random() < 0.2:
        trigger = transom.Purging(trigger)
    windowed = windowed.trigger(trigger)
    if late is None and chosen.random() < 0.5:
        return windowed
    return windowed.allowed_lateness(text(2 * unit))


def query(
    chosen: random.Random, unit: int, *, in_order: bool
) -> Callable[[transom.TimePolicy, DataFrame], DataFrame]:
    """A query whose results do not depend on the order in which sources are read.

    Parameters
    ----------
    chosen : Random
        Chooses the query.
    unit : int
        The unit of times, in milliseconds.
    in_order : bool
        Whether there is one source, whose rows have an order.
    """
    shape = window(chosen, unit)
    if not in_order and isinstance(shape, transom.Count | transom.Global):
        shape = transom.Tumbling(text(5 * unit))
    seed = chosen.random()

    def pipeline(policy: transom.TimePolicy, rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows, time=policy).key_by(F.expr(KEY)).window(shape)
        if in_order:
            windowed = triggered(windowed, shape, random.Random(seed), unit)
        windowed = windowed.with_pane().with_late_rows().with_dead_letters()
        return windowed.agg(
            n=F.count("*"),
            s=F.sum("value"),
            best=F.max_by("part", "value"),
            values=F.sort_array(F.collect_list("value")),
        )

    return pipeline


def source(chosen: random.Random, part: int, unit: int, *, disorder: int) -> list[Values]:
    """Rows of a source, which are behind the latest one by at most the disorder."""
    keys, count = chosen.choice([1, 3, 20]), chosen.choice([40, 120])
    rows: list[Values] = []
    for number in range(count):
        time = number * SPAN * unit // count - chosen.randrange(disorder + 1)
        at = None if chosen.random() < 0.03 else instant(BASE + time)
        # Values differ, so that the row with the largest one is known.
        value = 1_000 * chosen.randrange(100) + 4 * number + part
        key = "without number" if chosen.random() < 0.03 else f"k{chosen.randrange(keys)}"
        rows.append((key, part, at, value))
    rows.append(("k99", part, instant(BASE + SPAN * unit), 0))
    return rows


def found(rows: list[Row], *ignored: str) -> list[str]:
    """The rows in an order, without what differs from run to run."""
    kept = [
        {name: value for name, value in row.asDict().items() if name not in (*OF_A_RUN, *ignored)}
        for row in rows
    ]
    return sorted(str(row) for row in kept)


def tagged(outcome: Outcome, tag: str, *ignored: str) -> list[str]:
    rows = [r[tag] for rows in outcome.by_batch.values() for r in rows if r["tag"] == tag]
    return found(rows, *ignored)


def assert_same(real_time: Outcome, micro_batches: Outcome, *ignored: str) -> None:
    """Compare all that queries emit, but for the ignored fields of dead letters."""
    assert found(real_time.results) == found(micro_batches.results)
    assert tagged(real_time, "late") == tagged(micro_batches, "late")
    letters = [tagged(of, "dead_letters", *ignored) for of in (real_time, micro_batches)]
    assert letters[0] == letters[1]
    assert real_time.observed() == micro_batches.observed()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rows_of_a_source_have_the_results_of_micro_batches(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    unit = chosen.choice(UNITS)
    disorder = chosen.choice([0, 2, 8]) * unit
    half = timedelta(milliseconds=disorder // 2)
    rules: list[transom.Accept | transom.Drop | transom.Adjust] = [
        transom.Accept(half),
        transom.Drop(half),
        transom.Adjust(half),
    ]
    policy = transom.TimePolicy("time", out_of_order=chosen.choice(rules))
    pipeline = partial(query(chosen, unit, in_order=True), policy)
    rows = source(chosen, 0, unit, disorder=disorder)
    cuts = sorted(chosen.randrange(len(rows)) for _ in range(2))
    parts = [rows[: cuts[0]], rows[cuts[0] : cuts[1]], rows[cuts[1] :]]
    real_time = run_real_time(
        spark, pipeline, SCHEMA, [[part] for part in parts], tmp_path, restart=chosen.random() < 0.5
    )
    assert_same(real_time, run_stream(spark, pipeline, SCHEMA, [rows[:30], rows[30:]]))


@pytest.mark.parametrize("seed", SEEDS[: len(SEEDS) // 2])
def test_the_rows_of_sources_have_the_results_of_micro_batches(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    unit = chosen.choice(UNITS)
    disorder = chosen.choice([0, 2, 8]) * unit
    policy = transom.TimePolicy(
        "time", partition="part", out_of_order=timedelta(milliseconds=disorder)
    )
    pipeline = query(chosen, unit, in_order=False)
    sources = [source(chosen, part, unit, disorder=disorder) for part in range(3)]
    step = [rows[:20] for rows in sources], [rows[20:] for rows in sources]
    real_time = run_real_time(
        spark, partial(pipeline, policy), SCHEMA, step, tmp_path, restart=chosen.random() < 0.5
    )
    # In micro-batches, a partition that has had no row yet is unknown.
    known = replace(policy, partitions=[str(part) for part in range(len(sources))])
    batches = [[row for rows in sources for row in rows[place]] for place in PLACES]
    assert_same(real_time, run_stream(spark, partial(pipeline, known), SCHEMA, batches))


@pytest.mark.parametrize("seed", SEEDS[: len(SEEDS) // 2])
def test_event_time_has_the_results_of_micro_batches(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    unit = chosen.choice(UNITS)
    time = transom.EventTime("time", delay=text(unit))
    # Micro-batches try the late rows of sessions after the other rows of their batch.
    shape = window(chosen, unit)
    while isinstance(shape, transom.Session | transom.Count | transom.Global):
        shape = window(chosen, unit)

    def pipeline(rows: DataFrame) -> DataFrame:
        windowed = transom.stream(rows, time=time).key_by(F.expr(KEY)).window(shape)
        windowed = windowed.with_late_rows().with_dead_letters()
        return windowed.agg(n=F.count("*"), values=F.sort_array(F.collect_list("value")))

    def row(at: int) -> Values:
        key = "without number" if chosen.random() < 0.1 else f"k{chosen.randrange(3)}"
        known = None if chosen.random() < 0.1 else instant(BASE + at)
        return (key, 0, known, chosen.randrange(1_000))

    length = SPAN * unit // 3
    batches: list[list[Values]] = []
    for number in range(3):
        begin = number * length
        late = [row(begin - 2 * unit - chosen.randrange(length)) for _ in range(5 * number)]
        ahead = [row(begin + place * length // 20) for place in range(20)]
        # It moves the watermark, though it is in no window.
        last = ("without number", 0, instant(BASE + begin + length), 0)
        batches += [[*late, *ahead, last], [last]]
    batches.append([("k99", 0, instant(BASE + 5 * SPAN * unit), 0)])
    real_time = run_real_time(
        spark,
        pipeline,
        SCHEMA,
        [[batch] for batch in batches],
        tmp_path,
        restart=chosen.random() < 0.5,
    )
    # A dead letter has the watermark that its row has met, which is that of the batch there.
    assert_same(real_time, run_stream(spark, pipeline, SCHEMA, batches), "watermark")
