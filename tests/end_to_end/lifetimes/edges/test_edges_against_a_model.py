"""Generated starts and ends, static and streaming, compared with a naive model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.edges.test_edges import SCHEMA, open_rows, sides, tagged
from tests.end_to_end.models import model
from tests.end_to_end.models.edges import Edge, Edges
from tests.end_to_end.models.lifetimes import NEVER, SECOND, Content
from tests.end_to_end.models.policies import Sources, policy_of
from tests.end_to_end.models.policy_rows import policies
from tests.end_to_end.models.streams import BASE as BASE_MS
from tests.end_to_end.models.streams import EPOCH, cut, examples
from tests.end_to_end.support.queries import run_stream
from tests.time_model import stamping

BASE = BASE_MS * 1_000
MICROSECOND = timedelta(microseconds=1)
WINDOWS: list[transom.Window] = [
    transom.Snapshot(),
    transom.Snapshot(closed="right"),
    transom.Tumbling(size="5 seconds", closed="right"),
    transom.Hopping(size="10 seconds", slide="3 seconds", offset="1 second"),
    transom.Hopping(size="3 seconds", slide="7 seconds"),
]
SOURCES: list[Sources] = ["all rows", "partitions", "substreams"]


def generated(seed: int, count: int = 150) -> list[Edge]:
    """Edges that are seconds out of order. Some ends have no start, and some come twice."""
    chosen = random.Random(seed)
    edges: list[Edge] = []
    for n in range(count):
        now = BASE + n // 3 * SECOND
        starts = [edge for edge in edges if edge.end is None]
        if not starts or chosen.random() < 0.5:
            start = now - chosen.choice([0, 0, 1, 3, 12]) * SECOND
            key, id_ = chosen.choice(["a", "a", "b", None]), chosen.choice(["x", "y", None])
            edges.append(Edge(n, key, id_, start, None, start))
        else:
            about = chosen.choice(starts[-30:])
            id_ = "z" if chosen.random() < 0.05 else about.id
            end = max(about.start + 1, now + chosen.choice([-20, -9, -5, 0, 0, 4]) * SECOND)
            edges.append(Edge(n, about.key, id_, about.start, end, end))
    return edges


def instant(micros: int) -> Any:
    return EPOCH + micros * MICROSECOND


def as_input(edges: Sequence[Edge]) -> list[tuple[Any, ...]]:
    return [
        (
            edge.n,
            edge.key,
            edge.id,
            instant(edge.start),
            None if edge.end is None else instant(edge.end),
        )
        for edge in edges
    ]


def micros(rows: Sequence[Row]) -> list[Content]:
    def of(time: Any) -> int:
        return int((time - EPOCH) // MICROSECOND)

    results = [r for r in rows if r["reason"] is None]
    for r in results:
        assert len(set(r["rows"])) == len(r["rows"]), r
    return [
        Content(
            f"{r['source']} {r['key']}" if "source" in r else r["key"],
            of(r["window"]["start"]),
            of(r["window"]["end"]),
            frozenset(r["rows"]),
        )
        for r in results
    ]


def shifted(window: transom.Window, edges: Sequence[Edge], final: int) -> tuple[list[Edge], int]:
    """The edges as windows see them: (s, e] holds t exactly if [s, e) holds t - 1."""
    shift = 1 if getattr(window, "closed", "left") == "right" else 0
    moved = [replace(edge, time=edge.time - shift, met=edge.met - shift) for edge in edges]
    return moved, final - shift


def modelled(
    window: transom.Window, edges: Sequence[Edge], timeout: int | None, **settings: Any
) -> Edges:
    moved, final = shifted(window, edges, settings.pop("final", NEVER))
    return Edges(window, moved, timeout=timeout, final=final, **settings)


def check(got: Sequence[Row], expected: Edges) -> None:
    found = micros(got)
    # The bounds of windows are the same, whichever of them belongs to the window.
    assert len(found) == len(expected.fired)
    assert set(found) == expected.fired
    assert sides(got) == expected.reasons


@pytest.mark.parametrize("timeout", [None, 8])
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_a_static_dataframe(
    spark: SparkSession, window: transom.Window, timeout: int | None
) -> None:
    edges = generated(5)
    shuffled = random.Random(5).sample(as_input(edges), len(edges))
    df = spark.createDataFrame(shuffled, SCHEMA).repartition(3)
    text = None if timeout is None else f"{timeout} seconds"
    length = None if timeout is None else timeout * SECOND
    expected = modelled(window, edges, length, drained=True)
    assert expected.ends
    assert "bad_lifetime" in expected.reasons.values()
    check(tagged(window, timeout=text, order="n")(df).collect(), expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("timeout", [None, 8])
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_a_stream_with_late_rows_and_a_restart(
    spark: SparkSession, tmp_path: Path, window: transom.Window, timeout: int | None
) -> None:
    edges = generated(6)
    batches = [edges[:40], edges[40:60], edges[60:90], edges[90:120], edges[120:]]
    clock = transom.EventTime("start", delay="0 seconds")
    text = None if timeout is None else f"{timeout} seconds"
    pipeline = tagged(window, timeout=text, time=clock, order="n")
    runs = [
        run_stream(spark, pipeline, SCHEMA, [as_input(b) for b in part], checkpoint=tmp_path)
        for part in (batches[:2], batches[2:])
    ]
    # After its last batch, a run has a batch without data.
    with_empty: list[list[Edge]] = [*batches[:2], [], *batches[2:]]
    timed = [[(None, edge.start // 1_000, edge.n) for edge in batch] for batch in with_empty]
    met: list[Edge] = []
    final = NEVER
    for batch, (judge, _, fire) in zip([*with_empty, []], model.judged(timed, 0), strict=True):
        mark = NEVER if judge is None else judge * 1_000
        met += [replace(edge, met=mark) for edge in batch]
        final = NEVER if fire is None else fire * 1_000
    expected = modelled(window, met, None if timeout is None else timeout * SECOND, final=final)
    late = {n for n, reason in expected.reasons.items() if reason == "late_partly"}
    assert late - expected.ends
    # A late end of a row that has stopped waiting is an end without a start.
    assert late & expected.ends or timeout is not None
    check(runs[0].results + runs[1].results, expected)
    observed = [run.observed() for run in runs]
    assert sum(counts["transom_rows_end_edges"] for counts in observed) == len(expected.ends)
    if isinstance(window, transom.Snapshot):
        assert open_rows(runs[1])[-1] == expected.open > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@examples(2)
@given(policy=policies(), seed=st.integers(0, 2**32))
def test_a_policy_however_rows_are_cut(
    spark: SparkSession, window: transom.Window, policy: stamping.TimePolicy, seed: int
) -> None:
    chosen = random.Random(seed)
    sources = chosen.choice(SOURCES)
    timeout = chosen.choice([None, 8])
    # The number of an edge, its arrival and its source. A lifetime has edges of one source.
    arriving = sorted(
        (
            (BASE + (5 + edge.n // 3) * SECOND, str(edge.start // SECOND % 3), edge)
            for edge in (replace(edge, key=edge.key or "") for edge in generated(seed, 60))
        ),
        key=lambda row: row[:2],
    )
    known = [arrival for arrival, _, _ in arriving]
    source = [part for _, part, _ in arriving]
    edges = [replace(edge, n=n) for n, (_, _, edge) in enumerate(arriving)]
    events = [
        stamping.Row(
            edge.time,
            arrival,
            partition=part if sources == "partitions" else "",
            substream=part if sources == "substreams" else None,
        )
        for edge, arrival, part in zip(edges, known, source, strict=True)
    ]
    policy = replace(
        policy,
        by_substream=sources == "substreams",
        partitions=policy.partitions if sources == "partitions" else (),
    )
    stamped = stamping.stamps(events, policy)
    marks = stamped[-1].after.merged
    fired: set[Content] = set()
    reasons: dict[int, str] = {}
    for substream in {stamp.source[1] for stamp in stamped}:
        own = []
        for edge, stamp in zip(edges, stamped, strict=True):
            if stamp.source[1] == substream and stamp.time is not None:
                met = NEVER if stamp.met_merged is None else stamp.met_merged
                key = f"{substream} {edge.key}" if sources == "substreams" else edge.key
                own.append(replace(edge, key=key, time=stamp.time, met=met))
            elif stamp.source[1] == substream:
                reasons[edge.n] = str(stamp.reason)
        mark = marks.get(substream)
        length = None if timeout is None else timeout * SECOND
        part = modelled(window, own, length, final=NEVER if mark is None else mark)
        fired |= part.fired
        reasons |= part.reasons
    rows = [
        (*values, instant(arrival), part)
        for values, arrival, part in zip(as_input(edges), known, source, strict=True)
    ]
    batches = cut(rows, chosen)
    batches = [*batches[:4], [row for batch in batches[4:] for row in batch]]
    clock = policy_of(policy, sources)
    text = None if timeout is None else f"{timeout} seconds"
    keys = ["source", "key"] if sources == "substreams" else ["key"]
    pipeline = tagged(window, timeout=text, time=clock, order="n", keys=keys)
    schema = f"{SCHEMA}, known timestamp, source string"
    outcome = run_stream(
        spark, lambda rows: pipeline(rows.withColumn("at", F.col("start"))), schema, batches
    )
    found = micros(outcome.results)
    assert len(found) == len(fired)
    assert set(found) == fired
    assert sides(outcome.results) == reasons
