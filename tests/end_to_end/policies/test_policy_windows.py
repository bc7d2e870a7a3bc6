"""Windows over a time policy, compared with the reference model, however the rows are cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.policies import (
    SECOND,
    Case,
    Sources,
    grid,
    policy_of,
    punctuated,
    seconds,
    session,
)
from tests.end_to_end.models.policy_rows import (
    SCHEMA,
    SOURCES,
    Input,
    judged,
    key_of,
    stamped,
    timed,
)
from tests.end_to_end.models.streams import EPOCH, LONG, examples, restart
from tests.end_to_end.support.queries import run_restarted, run_stream
from tests.time_model import stamping, windows

WITH_BITS = f"{SCHEMA}, bit long"
Layout = Literal["auto", "keyed"]
Rows = frozenset[int]
# Key, start and end in seconds, and the numbers of the rows.
Fired = tuple[str, int, int, Rows]


CASES = [
    grid(10, 10),
    grid(10, 5),
    grid(10, 15),
    grid(10, 10, "right"),
    session(4, inclusive=True),
    session(4, inclusive=False),
    session(4, inclusive=False, late_start="reject"),
    session(4, inclusive=True, late_start="reject", closed="right"),
]
# Sessions with a maximum duration have no lateness.
LIMITED = [
    session(5, inclusive=True, closed="right", longest=6),
    session(5, inclusive=False, longest=4, check=">"),
    session(5, inclusive=True, late_start="reject", closed="right", longest=7, check=">"),
]


def expected(
    rows: Sequence[Input],
    policy: stamping.TimePolicy,
    window: windows.Grid | windows.Session,
    lateness: int,
    sources: Sources,
    punctuation: Rows = frozenset(),
) -> tuple[set[Fired], Rows, int]:
    """The results that fire, the numbers of late rows, and how many rows the rules drop."""
    stamps = stamped(rows, policy, sources, punctuation=punctuation)
    results, placed = windows.windows(stamps, window, lateness * SECOND)
    fired = {
        (
            str(result.key),
            result.bounds[0] // SECOND,
            result.bounds[1] // SECOND,
            frozenset(result.rows),
        )
        for result in results
        if result.cause == "watermark"
    }
    late = frozenset(n for n, place in enumerate(placed) if place.missed and not place.taken)
    dropped = sum(stamp.disposition == "dropped" for stamp in stamps)
    return fired, late, dropped


def windowed(
    time: transom.TimePolicy, case: Case, layout: Layout, lateness: int, tasks: int = 1
) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        keys = [*time.over, "key"]
        read = rows.repartition(tasks) if tasks > 1 else rows
        plain = transom.stream(read, time=time, order="n").key_by(*keys)
        windowed = plain.window(case.ours).options(layout=layout).with_late_rows()
        if lateness:
            late = windowed.allowed_lateness(seconds(lateness))
            windowed = late.trigger(transom.AfterLateness())
        return windowed.agg(F.sum("bit").alias("bits"))

    return pipeline


def with_bits(rows: Sequence[Input]) -> list[tuple[Any, ...]]:
    return [(*row, 1 << row[0]) for row in timed(rows)]


def bits(number: int) -> Rows:
    return frozenset(n for n in range(number.bit_length()) if number >> n & 1)


def check(
    spark: SparkSession,
    case: Case,
    rows: Sequence[Input],
    policy: stamping.TimePolicy,
    chosen: random.Random,
    lateness: int = 0,
    punctuation: Rows = frozenset(),
) -> None:
    """Run a query over random batches, perhaps with a restart, and compare it with the model.

    The rows with the numbers in ``punctuation`` are punctuation. Without any, rows set the
    watermark.
    """
    most = min(len(rows), 6 if LONG else 4)
    cuts = sorted(chosen.sample(range(1, len(rows)), chosen.randrange(most)))
    bounds = zip([0, *cuts], [*cuts, len(rows)], strict=True)
    batches = [with_bits(rows[start:end]) for start, end in bounds]
    layouts: list[Layout] = ["auto", "keyed"] if isinstance(case.model, windows.Grid) else ["auto"]
    sources = chosen.choice(SOURCES)
    time = policy_of(policy, sources)
    if punctuation:
        time = punctuated(time, policy, f"n in ({', '.join(map(str, sorted(punctuation)))})")
    # Several tasks have rows in no order. A partition of the policy needs all its rows in one task.
    tasks = chosen.choice([1, 3]) if sources == "all rows" else 1
    pipeline = windowed(time, case, chosen.choice(layouts), lateness, tasks)
    outcome = run_restarted(spark, pipeline, WITH_BITS, batches, restart(batches, chosen))
    got = {
        (
            key_of(row["key"], row["source"] if time.over else "", sources),
            (row["window"]["start"] - EPOCH) // seconds(1),
            (row["window"]["end"] - EPOCH) // seconds(1),
            bits(row["bits"]),
        )
        for row in outcome.results
    }
    fired, late, dropped = expected(rows, policy, case.model, lateness, sources, punctuation)
    assert got == fired
    assert len(outcome.results) == len(fired)
    assert frozenset(row["row"]["n"] for row in outcome.late) == late
    counts = outcome.observed()
    assert counts["transom_rows_in"] == len(rows)
    assert counts["transom_rows_late"] == len(late)
    assert counts["transom_rows_dropped"] == dropped
    assert counts["transom_rows_punctuation"] == len(punctuation)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", [*CASES, *LIMITED], ids=repr)
@examples(2)
@given(drawn=judged(), seed=st.integers(0, 2**32))
def test_results_and_late_rows_are_those_of_the_model_however_rows_are_cut(
    spark: SparkSession,
    case: Case,
    drawn: tuple[list[Input], stamping.TimePolicy],
    seed: int,
) -> None:
    check(spark, case, *drawn, random.Random(seed))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=repr)
@examples(2)
@given(drawn=judged(), lateness=st.sampled_from([3, 8]), seed=st.integers(0, 2**32))
def test_a_single_result_after_the_lateness_is_that_of_the_model_however_rows_are_cut(
    spark: SparkSession,
    case: Case,
    drawn: tuple[list[Input], stamping.TimePolicy],
    lateness: int,
    seed: int,
) -> None:
    check(spark, case, *drawn, random.Random(seed), lateness)


@pytest.mark.parametrize("lateness", [0, 10])
@pytest.mark.parametrize("cuts", [[0, 5], [0, 2, 5], [0, 1, 2, 3, 4, 5]], ids=repr)
def test_each_batch_gives_also_the_results_of_windows_that_it_drops(
    spark: SparkSession, cuts: list[int], lateness: int
) -> None:
    # Row 2 moves the watermark past the window of rows 0 and 1, and row 4 past that of row 2.
    times = [0, 4, 23, 24, 55]
    rows = [(number, "a", at, at, "0") for number, at in enumerate(times)]
    time = policy_of(stamping.TimePolicy(), "all rows")

    def pipeline(read: DataFrame) -> DataFrame:
        windowed = transom.stream(read, time=time, order="n").window(transom.Tumbling("10 seconds"))
        each = windowed.allowed_lateness(f"{lateness} seconds").trigger(transom.EveryBatch())
        return each.agg(F.sort_array(F.collect_list("n")).alias("rows"))

    batches = [timed(rows[start:end]) for start, end in pairwise(cuts)]
    found = run_stream(spark, pipeline, SCHEMA, batches).results
    last = {row["window"]["start"]: row["rows"] for row in sorted(found, key=lambda r: r["rows"])}
    assert list(last.values()) == [[0, 1], [2, 3], [4]]


def test_a_row_behind_the_watermark_joins_a_session_but_opens_none(spark: SparkSession) -> None:
    # The times of atlas-23. Row 2 is behind the watermark and alone. Row 3 is too, but joins row 0.
    # Row 4 is at the watermark.
    times = [("a", 60), ("a", 63), ("b", 62), ("a", 56), ("b", 63)]
    rows = [(number, key, at, 60 + number, "0") for number, (key, at) in enumerate(times)]
    time = policy_of(stamping.TimePolicy(), "all rows")
    case = session(5, inclusive=False, late_start="reject")
    batches = [with_bits(rows), with_bits([(5, "c", 90, 90, "0")])]
    outcome = run_stream(spark, windowed(time, case, "auto", 0), WITH_BITS, batches)
    got = {(row["key"], bits(row["bits"])) for row in outcome.results}
    assert got == {("a", frozenset({0, 1, 3})), ("b", frozenset({4}))}
    late = [(row["row"]["n"], row["reason"]) for row in outcome.late]
    assert late == [(2, "late_session")]
