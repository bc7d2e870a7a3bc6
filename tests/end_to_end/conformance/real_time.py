"""Runs the worked examples as queries in Real-Time Mode.

A vector becomes the query of the level "query", over a source in memory with one partition. Rows
come in the order of the vector, so a row is late by the watermark of all rows before it. These
parts differ from the queries in micro-batches:

- The query has no order column, because the source has an order.
- A control row of Flink's vectors is a row of the windows, under a key of its own. Here the
  watermark follows the rows that the operator reads.
- A finished input ends with a row after all windows, because no query drains in this mode.
- Stamps are refused. Windows of a millisecond show the time of each row instead.

A vector is skipped if transom refuses its query in this mode, with the reason of the refusal. It is
also skipped if it moves the wall clock, because the windows follow the clock of the machine.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.conformance import (
    atlas,
    azure,
    finished,
    flink,
    flink_vectors,
    punctuation,
)
from tests.end_to_end.conformance.events import (
    QUICK,
    Json,
    Row,
    Table,
    instant,
    milliseconds,
    table,
)
from tests.end_to_end.conformance.flink_steps import CONTROL, SCHEMA, base_of, runs_of
from tests.end_to_end.conformance.flink_vectors import Vector
from tests.end_to_end.conformance.languages import Python
from tests.end_to_end.conformance.outcomes import UnsupportedError, difference
from tests.end_to_end.support.queries import Outcome
from tests.end_to_end.support.real_time import Pipeline, run_real_time
from tests.end_to_end.support.wall_clock import Past
from transom.spec import Layout

PYTHON = Python()
CLOCK = "a wall clock that the vector moves: windows follow the clock of the machine in this mode"
WATERMARKS = "the watermark of results: with_watermarks() does not run in real-time mode"
PUNCTUATION = "CTIs or lifetimes of events: Punctuated() and lifetime() do not run in this mode"
# The part of an error that says what transom refuses, and why.
REFUSAL = re.compile(r"with the real-time trigger: (.+? in real-time mode, because .+?)\. ", re.S)
# After all windows.
LAST = datetime(2100, 1, 1)


def problem(spark: SparkSession, vector: Json) -> str | None:
    """Run a vector. Returns the first difference to the expected output, or None."""
    try:
        return MODELS[vector.get("model")](spark, vector)
    except StreamingQueryException as error:
        refused = REFUSAL.search(str(error))
        if refused is None:
            raise
        raise UnsupportedError(refused[1]) from error


def problem_of_flink(spark: SparkSession, vector: Vector) -> str | None:
    """Run a vector of Flink's window operator."""
    flink_vectors.check(vector)
    if flink_vectors.needs_clock(vector):
        raise UnsupportedError(CLOCK)
    base = base_of(vector)
    runs = [
        [row for batch in run for row in batch] for run in runs_of(vector, base, one_by_one=False)
    ]
    for layout in layouts(vector):
        pipeline = flink.query(vector, layout, PYTHON, in_real_time=True)
        outcome = run_steps(spark, pipeline, SCHEMA, runs, restart=True)
        records = replace(
            outcome,
            results=[row for row in outcome.results if row["key"] != CONTROL],
            late=[row for row in outcome.late if row["row"]["key"] != CONTROL],
        )
        if found := flink.problem_of_outcomes(vector, [records], base):
            return f"{layout}: {found}"
    return None


def layouts(vector: Vector) -> tuple[Layout, ...]:
    """The layouts that run a vector. In this mode the slice log has no sessions."""
    return ("keyed",) if vector["windows"]["type"] == "session" else flink.layouts(vector)


def problem_of_atlas(spark: SparkSession, vector: Json) -> str | None:
    """Run a vector of `atlas.fixed` or `atlas.session`."""
    if atlas.needs_clock(vector):
        raise UnsupportedError(CLOCK)
    return problem_of_ways(
        spark,
        atlas.rows_of(vector),
        lambda read: atlas.windowed(vector, read, PYTHON, in_real_time=True),
        partial(atlas.problem_of_outcome, vector),
    )


def problem_of_azure(spark: SparkSession, vector: Json) -> str | None:
    """Run a vector of `asa.time_policy` or `asa.pipeline`."""
    if azure.has_clock(vector):
        raise UnsupportedError(CLOCK)
    found = problem_of_times(spark, vector)
    return found or (problem_of_windows(spark, vector) if vector["windows"] else None)


def problem_of_times(spark: SparkSession, vector: Json) -> str | None:
    """Compare what becomes of each row, and the counts of the rows of each rule.

    Only `stamped()` would show which rules have moved a row.
    """
    events = vector["events"]
    last = last_after(events, "event_time", "arrival_time")
    expected = [
        [stamp["seq"], stamp["time"], stamp["disposition"]] for stamp in azure.stamps_of(vector)
    ]
    marks = [event["watermark_with_idle_floor"] for event in vector["expected"]["per_event"]]
    return problem_of_rows(
        spark,
        azure.rows_of(vector | {"events": [*events, last]}),
        azure.policy_of(vector),
        expected,
        marks,
        keys=[vector["policy"]["over"]] if "over" in vector["policy"] else [],
        check=partial(azure.problem_of_counts, vector),
    )


def problem_of_violations(spark: SparkSession, vector: Json) -> str | None:
    """Run a vector of `si.advance_time`: what becomes of each row, and the CTI after it."""
    events, settings = vector["events"], vector["policy"].get("generate")
    if settings is None or any("kind" in event or "end" in event for event in events):
        raise UnsupportedError(PUNCTUATION)
    delay = milliseconds(settings, "delay")
    policy = transom.TimePolicy(
        "start",
        out_of_order=punctuation.RULES[vector["policy"]["violation"]](delay),
        advance=transom.Periodic(settings["every_events"]),
    )
    per_event = vector["expected"]["per_event"]
    dispositions = {"dropped": "dropped_out_of_order"}
    expected = [
        [
            event["seq"],
            instant(event["lifetime"][0]) if "lifetime" in event else None,
            dispositions.get(event["disposition"], "accepted"),
        ]
        for event in per_event
    ]
    rows = table([*events, last_after(events, "start")])
    return problem_of_rows(spark, rows, policy, expected, [event["cti"] for event in per_event])


def last_after(events: Sequence[Json], *times: str) -> Json:
    """An event after all others, with a time in these fields after all windows."""
    seq = 1 + max(event["seq"] for event in events)
    return events[-1] | {"seq": seq} | dict.fromkeys(times, LAST.isoformat())


def problem_of_rows(
    spark: SparkSession,
    rows: Table,
    policy: transom.TimePolicy,
    expected: Sequence[Any],
    marks: Sequence[str | None],
    *,
    keys: Sequence[str] = (),
    check: Callable[[str, Outcome], str | None] = lambda _, __: None,
) -> str | None:
    """Run a query that shows what a policy makes of each row, in a window of a millisecond.

    Parameters
    ----------
    spark : SparkSession
        The session.
    rows : Table
        The rows, the last of which is after all windows.
    policy : TimePolicy
        The policy.
    expected : sequence
        The number, the time and the disposition of each row.
    marks : sequence
        The watermark after each row.
    keys : sequence of str
        The columns of the policy's substreams.
    check : callable
        Compares further parts of an outcome, which has a name.
    """

    def pipeline(read: DataFrame) -> DataFrame:
        windows = transom.stream(read, time=policy).key_by("seq", *keys)
        windowed = windows.window(transom.Tumbling("1 millisecond"))
        return PYTHON.agg(windowed.with_late_rows().with_dead_letters(), n="count(*)")

    for way, steps in ways(rows).items():
        outcome = run_steps(spark, pipeline, rows.schema, steps)
        got = [
            placed(row["tag"], row[row["tag"]])
            for step in outcome.by_batch.values()
            for row in step
        ]
        if found := difference(f"times {way}", expected, got) or check(way, outcome):
            return found
        reached = watermarks_of(outcome)
        wanted = {n: mark and instant(mark) for n, mark in enumerate(marks, 1) if n in reached}
        seen = {n: reached[n] for n in wanted}
        if found := difference(f"watermarks {way}", wanted.items(), seen.items()):
            return found
    return None


def watermarks_of(outcome: Outcome) -> dict[int, datetime | None]:
    """The watermark at the end of each batch, by how many rows the batches have read by then."""
    found = {}
    for batch in outcome.progress:
        read = json.loads(batch.sources[0].endOffset)["0"]
        mark = transom.metrics(Past(batch)).watermark
        found[read] = mark and instant(mark)
    return found


def placed(tag: str, row: Any) -> list[Any]:
    """The number, the time and the disposition of a row, from its window or its side output."""
    match tag:
        case "results":
            return [row["seq"], row["window"]["start"], "accepted"]
        case "late":
            (window,) = row["missed_windows"]
            return [row["row"]["seq"], window["start"], "accepted"]
    (rule,) = [name for name, reason in azure.RULES.items() if reason == row["reason"]]
    return [row["row"]["seq"], None, f"dropped_{rule}"]


def problem_of_windows(spark: SparkSession, vector: Json) -> str | None:
    """Compare the results of the windows of `asa.pipeline`."""
    return problem_of_ways(
        spark,
        azure.rows_of(vector),
        lambda read: azure.windowed(vector, read, PYTHON, in_real_time=True),
        partial(azure.problem_of_results, vector),
    )


def problem_of_finished(spark: SparkSession, vector: Json) -> str | None:
    """Run a vector of `asa.window` or `si.window`."""
    events = vector["events"]
    last = events[-1] | {finished.time_of(vector): LAST.isoformat()}
    rows = finished.table_of(vector | {"events": [*events, last]})
    disorder = finished.disorder_of(vector)
    for view in finished.views(vector):
        expected = [finished.expected_of(view, output) for output in vector["expected"]["outputs"]]

        def pipeline(read: DataFrame, view: Json = view) -> DataFrame:
            return finished.results_of(view, read, disorder, PYTHON, in_real_time=True)

        for way, steps in ways(rows).items():
            results = run_steps(spark, pipeline, rows.schema, steps).results
            got = [finished.got_of(view, row.asDict(recursive=True)) for row in results]
            if found := difference(f"results {way}", expected, got):
                return found
    return None


def problem_of_propagation(_: SparkSession, __: Json) -> str | None:
    """Skip a vector of `si.cti_propagation`, which has the watermarks of results."""
    raise UnsupportedError(WATERMARKS)


def problem_of_ways(
    spark: SparkSession,
    rows: Table,
    pipeline: Pipeline,
    check: Callable[[str, Outcome], str | None],
) -> str | None:
    """Run a query in all ways, and return the first problem that a check of an outcome finds."""
    for way, steps in ways(rows).items():
        if found := check(way, run_steps(spark, pipeline, rows.schema, steps)):
            return found
    return None


def ways(rows: Table) -> dict[str, list[Sequence[Row]]]:
    """The ways to give rows to a query: all in the same batch, and row by row in batches."""
    found: dict[str, list[Sequence[Row]]] = {"in one batch": [rows.rows]}
    return found if QUICK else found | {"row by row": [[row] for row in rows.rows]}


def run_steps(
    spark: SparkSession,
    pipeline: Pipeline,
    schema: str,
    steps: Sequence[Sequence[Row]],
    *,
    restart: bool = False,
) -> Outcome:
    """Run a query over the steps of one source. See `run_real_time`."""
    # The tasks of a query that was stopped may still write to its checkpoint.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        by_source = [[step] for step in steps]
        return run_real_time(spark, pipeline, schema, by_source, Path(folder), restart=restart)


# The function that runs the vectors of each model. The vectors of Flink name no model.
MODELS: dict[str | None, Callable[[SparkSession, Json], str | None]] = {
    None: problem_of_flink,
    "asa.pipeline": problem_of_azure,
    "asa.time_policy": problem_of_azure,
    "asa.window": problem_of_finished,
    "atlas.fixed": problem_of_atlas,
    "atlas.session": problem_of_atlas,
    "si.advance_time": problem_of_violations,
    "si.cti_propagation": problem_of_propagation,
    "si.window": problem_of_finished,
}
