"""Runs the worked examples of StreamInsight's punctuation (CTIs).

`si.advance_time` has the rows that violate a CTI. `si.cti_propagation` has the CTIs of the results
of windows.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.conformance.events import Json, instant, milliseconds, table
from tests.end_to_end.conformance.finished import POLICIES, TICK, window_of
from tests.end_to_end.conformance.languages import Language
from tests.end_to_end.conformance.outcomes import difference
from tests.end_to_end.support.queries import run_stream
from transom.spec.window_spec import OutputPolicy

RULES: dict[str, type[transom.Drop] | type[transom.Adjust]] = {
    "drop": transom.Drop,
    "adjust": transom.Adjust,
}
# A CTI after all rows, which fires all windows.
LAST = datetime(2100, 1, 1)


def problem_of_violations(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector of `si.advance_time`: what becomes of each row, and the CTI after it."""
    settings = vector["policy"].get("generate")
    delay = milliseconds(settings, "delay") if settings else timedelta()
    policy = transom.TimePolicy(
        "start",
        out_of_order=RULES[vector["policy"]["violation"]](delay),
        advance=transom.Punctuated(
            "is_cti",
            at="start",
            beside=transom.Periodic(settings["every_events"]) if settings else None,
        ),
    )

    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=policy, order="place", lifetime="end")
        snapshots = stream.window_all(transom.Snapshot()).with_dead_letters()
        # A snapshot is a part of the lifetimes of its rows, so the lifetime of a row is the union.
        return language.agg(snapshots.with_watermarks(), rows="collect_list(seq)")

    events = [
        {
            "end": (instant(event["start"]) + TICK).isoformat(),
            **event,
            "is_cti": event.get("kind") == "cti",
        }
        for event in vector["events"]
    ]
    last = {"start": LAST.isoformat(), "end": LAST.isoformat(), "is_cti": True}
    numbers = [event["seq"] for event in events]
    rows = table([*events, last | {"seq": max(numbers) + 1}])
    per_event = vector["expected"]["per_event"]
    expected = [
        outcome_of_event(event["seq"], event.get("lifetime"), event["disposition"])
        for event in per_event
    ]
    ctis = [instant(event["cti"]) if event["cti"] else None for event in per_event]
    for way, batches in rows.cuts(vector["id"]).items():
        outcome = run_stream(spark, pipeline, rows.schema, batches)
        tagged = [row for batch in outcome.by_batch.values() for row in batch]
        if found := difference(f"rows {way}", expected, outcomes_of_events(events, tagged)):
            return found
        if way == "row by row":
            marks = [watermark_of(outcome.by_batch[batch]) for batch in range(len(numbers))]
            if found := difference("CTIs", enumerate(ctis), enumerate(carried_forward(marks))):
                return found
    # The end of a static input fires all windows, as the last CTI does.
    static = pipeline(spark.createDataFrame(rows.rows[:-1], rows.schema)).collect()
    return difference("rows of a static DataFrame", expected, outcomes_of_events(events, static))


def outcome_of_event(seq: int, lifetime: list[Any] | None, disposition: str) -> Json:
    """What becomes of an event."""
    bounds = None if lifetime is None else [instant(bound) for bound in lifetime]
    return {"seq": seq, "lifetime": bounds, "disposition": disposition}


def outcomes_of_events(events: list[Json], tagged: Iterable[Row]) -> list[Json]:
    """What becomes of the events of a query."""
    lifetimes: dict[int, list[datetime]] = {}
    in_windows: dict[int, timedelta] = {}
    dropped = set()
    for row in tagged:
        if row["tag"] == "dead_letters":
            dropped.add(row["dead_letters"]["row"]["seq"])
        elif row["tag"] == "results":
            window = row["results"]["window"]
            for seq in row["results"]["rows"]:
                start, end = lifetimes.setdefault(seq, [window["start"], window["end"]])
                lifetimes[seq] = [min(start, window["start"]), max(end, window["end"])]
                in_windows[seq] = in_windows.get(seq, timedelta()) + window["end"] - window["start"]
    # The snapshots of a row leave no gap.
    assert in_windows == {seq: end - start for seq, (start, end) in lifetimes.items()}
    found = []
    for event in events:
        seq = event["seq"]
        moved = seq in lifetimes and lifetimes[seq][0] != instant(event["start"])
        if seq in dropped:
            disposition = "dropped"
        elif event["is_cti"]:
            disposition = "cti"
        else:
            disposition = "adjusted" if moved else "accepted"
        found.append(outcome_of_event(seq, lifetimes.get(seq), disposition))
    return found


def problem_of_propagation(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector of `si.cti_propagation`: the CTIs of the results, by output policy."""
    rows = table(vector["events"])
    for name, policy in POLICIES.items():

        def pipeline(read: DataFrame, policy: OutputPolicy = policy) -> DataFrame:
            clock = transom.TimePolicy("start", advance=transom.Punctuated("true", at="start"))
            windows = transom.stream(read, time=clock, order="place").window_all(
                window_of(vector["windows"], closed="left")
            )
            return language.agg(windows.output_policy(policy).with_watermarks(), n="count(*)")

        for way, batches in rows.cuts(vector["id"]).items():
            outcome = run_stream(spark, pipeline, rows.schema, batches)
            got = carried_forward(
                watermark_of(outcome.by_batch[batch]) for batch in range(len(batches))
            )
            # The watermark after a batch is the watermark after its last event.
            last = [max(rows.column("seq", batch)) for batch in batches]
            expected = [
                instant(event[f"output_cti_{name}"])
                for event in vector["expected"]["per_event"]
                if event["seq"] in last
            ]
            if found := difference(f"{name} {way}", enumerate(expected), enumerate(got)):
                return found
    return None


def watermark_of(rows: Iterable[Row]) -> datetime | None:
    """The watermark of the results after a batch, or None if it did not move."""
    marks = [row["watermarks"]["watermark"] for row in rows if row["tag"] == "watermarks"]
    return max(marks, default=None)


def carried_forward(marks: Iterable[datetime | None]) -> list[datetime | None]:
    """The watermark after each batch, where None stands for the one before."""
    found: list[datetime | None] = []
    for mark in marks:
        found.append(mark if mark is not None else (found[-1] if found else None))
    return found
