"""Windows over the partitions of a Kafka topic, and where a query starts to read the topic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.clocked import START, instant, seconds
from tests.end_to_end.support.kafka import (
    IDLE,
    PARTITIONS,
    SLOW,
    STEP,
    Event,
    Topic,
    millis,
    of_partition,
    rows_before,
    rows_of_steps,
)
from tests.end_to_end.support.wall_clock import Step, run_steps
from tests.time_model import stamping, windows
from tests.time_model.stamping import Bound

SECOND = 1_000_000
MINUTE = 60 * SECOND
WINDOW = transom.Tumbling(size="2 minutes")
GRID = windows.Grid(2 * MINUTE, 2 * MINUTE)
POLICY = transom.TimePolicy(
    "at",
    arrival="timestamp",
    partition="partition",
    partitions=[str(number) for number in range(PARTITIONS)],
    early=transom.Drop("1 minute"),
    late=transom.Drop("15 minutes"),
    out_of_order="1 minute",
    idle_partition="5 minutes",
)
MODEL = stamping.TimePolicy(
    early=Bound("drop", MINUTE),
    late=Bound("drop", 15 * MINUTE),
    out_of_order=Bound("accept", MINUTE),
    partitions=POLICY.partitions,  # type: ignore[arg-type]
    idle_partition=5 * MINUTE,
    floor="arrival",
)

long = pytest.mark.skipif(not LONG, reason="takes a minute: run by make check-long")

# Key and bounds of a window in seconds, and the numbers of its rows.
Result = tuple[str, float, float, tuple[int, ...]]
# The reason why a row is in no window, and its number.
Left = tuple[str, int]


def windowed(rows: DataFrame, policy: transom.TimePolicy) -> transom.Windowed:
    by_key = transom.stream(rows, time=policy, order="offset").key_by("key")
    return by_key.window(WINDOW).with_late_rows().with_dead_letters()


def counted(chosen: transom.Windowed) -> DataFrame:
    return chosen.agg(F.sort_array(F.collect_list("n")).alias("ns"))


def stepped(batches: Sequence[Sequence[Event]], first: int = 0) -> list[Step]:
    """The wall clock moves, then the rows come."""
    return [each for n, batch in enumerate(batches, first) for each in (float(STEP * n), batch)]


def expected(
    steps: Sequence[Step], policy: stamping.TimePolicy, start: float = 0
) -> tuple[list[set[Result]], list[set[Left]]]:
    """The windows that fire in each step, and the rows of each step that no window takes."""
    events: list[stamping.Event] = [stamping.Tick(round(start * SECOND))]
    numbers, step_of = [-1], [0]
    for place, step in enumerate(steps):
        if isinstance(step, Sequence):
            # The timestamps of all rows differ. A batch has only later ones than those before it.
            for event in sorted((Event(*row) for row in step), key=lambda event: event.known):
                at, known = (round(seconds(time) * SECOND) for time in (event.at, event.known))
                partition = str(event.partition) if policy.partitions else ""
                events.append(stamping.Row(at, known, partition, key=event.key))
                numbers.append(event.n)
        else:
            events.append(stamping.Tick(round(step * SECOND)))
            numbers.append(-1)
        step_of += [place] * (len(events) - len(step_of))
    stamped = stamping.stamps(events, policy)
    results, placed = windows.windows(stamped, GRID)
    fired: list[set[Result]] = [set() for _ in steps]
    left: list[set[Left]] = [set() for _ in steps]
    for result in results:
        if result.at is not None:
            start, end = (bound / SECOND for bound in result.bounds)
            ns = tuple(sorted(numbers[place] for place in result.rows))
            fired[step_of[result.at]].add((str(result.key), start, end, ns))
    for n, of_step, stamp, row in zip(numbers, step_of, stamped, placed, strict=True):
        if stamp.reason or row.missed:
            left[of_step].add((stamp.reason or "late", n))
    return fired, left


def fired_of(rows: Sequence[Row]) -> set[Result]:
    found = [row["results"] for row in rows if row["tag"] == "results"]
    results = {
        (r["key"], seconds(r["window"]["start"]), seconds(r["window"]["end"]), tuple(r["ns"]))
        for r in found
    }
    assert len(results) == len(found)
    return results


def left_of(rows: Sequence[Row]) -> set[Left]:
    found = [row[row["tag"]] for row in rows if row["tag"] != "results"]
    left = {(row["reason"], row["row"]["n"]) for row in found}
    assert len(left) == len(found)
    return left


def windows_of(fired: Sequence[set[Result]]) -> dict[tuple[str, float, float], set[int]]:
    found = [result for results in fired for result in results]
    by_window = {(key, start, end): set(ns) for key, start, end, ns in found}
    assert len(by_window) == len(found)
    return by_window


def in_windows(fired: Sequence[set[Result]]) -> set[int]:
    return {n for results in fired for *_, ns in results for n in ns}


def run(
    spark: SparkSession,
    topic: Topic,
    steps: Sequence[Step],
    folder: Path,
    *,
    policy: transom.TimePolicy = POLICY,
    first: datetime | None = None,
    start: float = 0,
    **options: Any,
) -> tuple[list[set[Result]], list[set[Left]]]:
    """Run a query over the steps, from the beginning of the topic unless options differ."""
    rows = topic.read(**{"startingOffsets": "earliest", **options})
    chosen = windowed(rows, policy)
    if first is not None:
        chosen = chosen.first_output(first)

    def send(batch: Sequence[tuple[Any, ...]]) -> None:
        topic.send(Event(*row) for row in batch)

    emitted = run_steps(spark, counted(chosen), steps, send, checkpoint=folder, start=start)
    return [fired_of(rows) for rows in emitted], [left_of(rows) for rows in emitted]


def with_reason(left: Sequence[set[Left]], reason: str) -> set[int]:
    return {n for rows in left for each, n in rows if each == reason}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "idle_in",
    [pytest.param((), id="never a row", marks=long), pytest.param((0, 5), id="silent for a while")],
)
def test_an_idle_partition_holds_no_window_back_and_no_row_of_a_slow_one_is_lost(
    spark: SparkSession, topic: Topic, tmp_path: Path, idle_in: Sequence[int]
) -> None:
    batches = rows_of_steps(6, idle_in)
    steps = stepped(batches)
    fired, left = run(spark, topic, steps, tmp_path)
    assert (fired, left) == expected(steps, MODEL)
    # The partition that was silent has rows in the last step.
    waiting, _ = expected(steps, replace(MODEL, idle_partition=None))
    assert len(in_windows(fired[:-1])) >= len(in_windows(waiting[:-1])) + 20
    slow, dropped = of_partition(batches, SLOW), with_reason(left, "late_arrival")
    assert len(in_windows(fired) & slow) >= 20
    assert dropped < slow
    assert len(dropped) == len(batches)
    # Windows have not waited for the rows that come after the silence.
    late = with_reason(left, "late")
    assert bool(late) == bool(idle_in)
    assert late <= of_partition(batches[5:], IDLE)
    # With one watermark for all partitions, the rows of the slow one would come too late.
    _, lost = expected(steps, replace(MODEL, partitions=(), idle_partition=None))
    assert len(with_reason(lost, "late") & slow) >= 20


@long
def test_windows_wait_for_a_partition_without_rows(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    steps = stepped(rows_of_steps(4))
    policy = replace(POLICY, idle_partition=None)
    fired, left = run(spark, topic, steps, tmp_path, policy=policy)
    assert in_windows(fired) == set()
    assert (fired, left) == expected(steps, replace(MODEL, idle_partition=None))


@long
def test_a_query_that_starts_at_the_latest_offsets_has_only_newer_rows(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    batches = rows_of_steps(8)
    topic.send(rows_before(batches, 4))
    # The query finds its first offsets in the first step, which brings no rows.
    steps: list[Step] = [[], *stepped(batches[4:], 4)]
    fired, left = run(spark, topic, steps, tmp_path, start=STEP * 3, startingOffsets="latest")
    assert (fired, left) == expected(steps, MODEL, start=STEP * 3)
    # Windows that began before the start lack rows.
    whole = windows_of(expected(stepped(batches), MODEL)[0])
    partial = {window for window, ns in windows_of(fired).items() if ns < whole[window]}
    assert len(partial) >= 4


@pytest.mark.parametrize(
    "option", ["startingTimestamp", pytest.param("startingOffsetsByTimestamp", marks=long)]
)
def test_a_query_that_starts_now_gives_complete_windows_from_now_on(
    spark: SparkSession, topic: Topic, tmp_path: Path, option: str
) -> None:
    batches = rows_of_steps(8)
    topic.send(rows_before(batches, 4))
    now = instant(STEP * 3)
    begin = transom.earliest_input(now, WINDOW, time=POLICY)
    by_partition = {str(number): millis(begin) for number in range(PARTITIONS)}
    options: dict[str, Any] = {
        option: {
            "startingTimestamp": millis(begin),
            "startingOffsetsByTimestamp": json.dumps({topic.name: by_partition}),
        }[option],
        "startingOffsetsByTimestampStrategy": "latest",
    }
    steps: list[Step] = [[], *stepped(batches[4:], 4)]
    fired, left = run(spark, topic, steps, tmp_path, first=now, start=STEP * 3, **options)
    begun = [event for event in rows_before(batches, 4) if event.known >= begin]
    from_begin, left_from_begin = expected([begun, *steps[1:]], MODEL, start=STEP * 3)
    assert fired == [{r for r in results if r[2] >= STEP * 3} for results in from_begin]
    assert left == left_from_begin
    # The results are those of a query that has run since the first row.
    whole = windows_of(expected(stepped(batches), MODEL)[0])
    ours = windows_of(fired)
    assert ours == {window: ns for window, ns in whole.items() if window[2] >= STEP * 3}
    assert len(ours) >= 4


def test_a_start_at_a_timestamp_fails_if_a_partition_has_no_later_row(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    topic.send(rows_of_steps(1)[0])
    with pytest.raises(StreamingQueryException, match="No offset matched"):
        run(spark, topic, [[]], tmp_path, startingTimestamp=millis(START))


def test_a_query_continues_where_it_was_last_stopped(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    batches = rows_of_steps(7)
    before, _ = run(spark, topic, stepped(batches[:4]), tmp_path)
    topic.send(batches[4])
    # The checkpoint has the offsets, so the option has no effect any more.
    steps: list[Step] = [[], *stepped(batches[5:], 5)]
    after, _ = run(spark, topic, steps, tmp_path, start=STEP * 4, startingOffsets="latest")
    assert in_windows(before)
    assert in_windows(after) & {event.n for event in batches[4]}
    all_fired, _ = expected(stepped(batches), MODEL)
    assert windows_of([*before, *after]) == windows_of(all_fired)
