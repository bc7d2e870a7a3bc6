"""Lifetimes over a time policy: each row meets a watermark of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.lifetimes import EVER, NEVER, Content, Lived, Windows
from tests.end_to_end.models.policies import SECOND, Sources, policy_of, seconds
from tests.end_to_end.models.policy_rows import (
    SCHEMA,
    SOURCES,
    Input,
    judged,
    key_of,
    stamped,
    timed,
)
from tests.end_to_end.models.streams import EPOCH, cut, examples
from tests.end_to_end.support.queries import run_stream
from tests.time_model import stamping

WITH_ENDS = f"{SCHEMA}, until timestamp"
LASTS = [1, 2, 5, 20, None]
ENDS: dict[str, Any] = {"end": "until", "duration": transom.Lifetime(duration="6 seconds")}
CASES: list[tuple[transom.Window, str | None]] = [
    (transom.Snapshot(), "end"),
    (transom.Snapshot(closed="right"), "duration"),
    (transom.CountByStart(2), "end"),
    (transom.Hopping(size="10 seconds", slide="5 seconds"), "end"),
    (transom.Hopping(size="2 seconds", slide="5 seconds"), "duration"),
    (transom.Tumbling(size="5 seconds", closed="right"), "end"),
    (transom.Snapshot(), None),
    (transom.Rolling("6 seconds"), None),
]


def end_of(at: int, lasts: int | None, ends: str | None) -> int:
    """The end of a row in microseconds, which no rule moves."""
    if ends == "end":
        return EVER if lasts is None else (at + lasts) * SECOND
    return (at + 6) * SECOND


def with_ends(rows: Sequence[Input], lasts: Sequence[int | None]) -> list[tuple[Any, ...]]:
    ends = [
        None if length is None else EPOCH + seconds(row[2] + length)
        for row, length in zip(rows, lasts, strict=True)
    ]
    return [(*row, end) for row, end in zip(timed(rows), ends, strict=True)]


def expected(
    rows: Sequence[Input],
    lasts: Sequence[int | None],
    policy: stamping.TimePolicy,
    window: transom.Window,
    ends: str | None,
    sources: Sources,
) -> tuple[set[Content], dict[int, str]]:
    """The results that fire, and the reasons of late rows."""
    until = None
    if ends is not None:
        until = [end_of(row[2], length, ends) for row, length in zip(rows, lasts, strict=True)]
    stamps = stamped(rows, policy, sources, ends=until)
    marks = stamps[-1].after.merged
    fired: set[Content] = set()
    late: dict[int, str] = {}
    for substream in {stamp.source[1] for stamp in stamps}:
        lived = []
        for row, length, stamp in zip(rows, lasts, stamps, strict=True):
            n, key, at, _, source = row
            if stamp.source[1] == substream and stamp.time is not None:
                end = stamp.time + 1 if ends is None else end_of(at, length, ends)
                met = NEVER if stamp.met_merged is None else stamp.met_merged
                lived.append(Lived(n, key_of(key, source, sources), stamp.time, end, met))
        mark = marks.get(substream)
        model = Windows(window, lived, NEVER if mark is None else mark)
        fired |= model.fired
        late |= dict.fromkeys(model.late, "late") | dict.fromkeys(model.partly_late, "late_partly")
    return fired, late


def listed(
    time: transom.TimePolicy, window: transom.Window, ends: str | None
) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        lifetime = None if ends is None else ENDS[ends]
        plain = transom.stream(rows, time=time, order="n", lifetime=lifetime)
        windowed = plain.key_by(*time.over, "key").window(window)
        return windowed.with_late_rows(partly=True).agg(F.collect_list("n").alias("rows"))

    return pipeline


def content(row: Row, sources: Sources) -> Content:
    key = key_of(row["key"], row["source"] if sources == "substreams" else "", sources)
    start, end = (
        (row["window"][at] - EPOCH) // seconds(1) * SECOND
        + (row["window"][at] - EPOCH).microseconds
        for at in ("start", "end")
    )
    assert len(set(row["rows"])) == len(row["rows"]), row
    return Content(key, start, end, frozenset(row["rows"]))


@pytest.mark.parametrize("sources", SOURCES)
def test_a_row_that_a_rule_moves_behind_its_end_is_dropped(
    spark: SparkSession, sources: Sources
) -> None:
    rows = [(0, "a", 20, 20, "0"), (1, "a", 10, 20, "0"), (2, "a", 40, 40, "0")]
    policy = stamping.TimePolicy(out_of_order=stamping.Bound("adjust", 0))
    pipeline = listed(policy_of(policy, sources), transom.Snapshot(), "end")
    outcome = run_stream(spark, pipeline, WITH_ENDS, [with_ends(rows, [5, 5, 5])])
    counts = outcome.observed()
    assert (counts["transom_rows_out_of_order"], counts["transom_rows_dropped"]) == (1, 1)
    assert counts["transom_rows_with_bad_windows"] == 0
    assert outcome.late == []
    assert [row["rows"] for row in outcome.results] == [[0]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("window", "ends"), CASES, ids=repr)
@examples(2)
@given(drawn=judged(), seed=st.integers(0, 2**32))
def test_results_and_late_rows_are_those_of_the_model_however_rows_are_cut(
    spark: SparkSession,
    window: transom.Window,
    ends: str | None,
    drawn: tuple[list[Input], stamping.TimePolicy],
    seed: int,
) -> None:
    chosen = random.Random(seed)
    rows, policy = drawn
    sources = chosen.choice(SOURCES)
    lasts = [chosen.choice(LASTS) for _ in rows]
    batches = cut(with_ends(rows, lasts), chosen)
    batches = [*batches[:4], [row for batch in batches[4:] for row in batch]]
    pipeline = listed(policy_of(policy, sources), window, ends)
    outcome = run_stream(spark, pipeline, WITH_ENDS, batches)
    got = [content(row, sources) for row in outcome.results]
    fired, late = expected(rows, lasts, policy, window, ends, sources)
    assert set(got) == fired
    assert len(got) == len(fired)
    assert {row["row"]["n"]: row["reason"] for row in outcome.late} == late


def test_a_row_that_is_over_counts_for_no_period(spark: SparkSession) -> None:
    """The third row ends before the watermark. Adjusting drops it, and `Periodic` ignores it."""
    lasting = [(0, 60), (10, 60), (1, 2), (20, 60), (15, 60), (30, 60)]
    rows = [(n, EPOCH + seconds(at), EPOCH + seconds(end)) for n, (at, end) in enumerate(lasting)]
    policy = transom.TimePolicy(
        "at", out_of_order=transom.Adjust("0 seconds"), advance=transom.Periodic(2)
    )
    static = spark.createDataFrame(rows, "n int, at timestamp, until timestamp").coalesce(1)
    stamps = transom.stream(static, time=policy, lifetime="until").stamped().orderBy("n").collect()
    accepted = ["accepted"] * 2 + ["dropped"] + ["accepted"] * 3
    assert [row["stamp"]["disposition"] for row in stamps] == accepted
    met = [row["stamp"]["watermark"] for row in stamps]
    assert met == [None, None, *[EPOCH + seconds(10)] * 3, EPOCH + seconds(20)]
