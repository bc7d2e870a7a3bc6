"""Runs the vectors of Flink's window operator through real queries.

The steps of each vector become micro-batches. The records between two watermarks are one batch. A
control row in this batch moves the watermark, and the next batch fires windows by the new
watermark. Where the vector restores a snapshot, the query stops and restarts from its checkpoint.
Where the vector uses processing time, the runner sets the wall clock.

Vectors that the slice log can run use the slice log. With TRANSOM_LONG they use the keyed layout
too, and all others use the keyed layout only. The rows of a batch have no order in the slice log,
so sessions with records behind the watermark get one record in each batch.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.conformance import flink_vectors
from tests.end_to_end.conformance.flink_steps import (
    SCHEMA,
    base_of,
    ends_by_draining,
    has_records_behind,
    millis,
    on_clock,
    runs_of,
)
from tests.end_to_end.conformance.flink_vectors import AGGREGATES, FAR_MS, Vector
from tests.end_to_end.conformance.languages import Language
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.queries import Outcome, outcome_of, run_stream
from tests.end_to_end.support.wall_clock import run_on_clock
from transom.spec import Layout
from transom.spec.times.time_policies import Time


def query(
    vector: Vector, layout: Layout, language: Language, *, in_real_time: bool = False
) -> Callable[[DataFrame], DataFrame]:
    """The window operator of the vector, as a function of the rows."""

    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("time", f"{FAR_MS} milliseconds")
        # The filter reads the time, so Spark does not push it below the watermark. Control rows
        # must reach the watermark. In Real-Time Mode they must reach the window operator.
        records = timed if in_real_time else timed.where("not (control and time is not null)")
        stream = transom.stream(records, time=time_of(vector)).key_by("key")
        windowed = stream.window(flink_vectors.window_of(vector)).with_late_rows()
        windowed = windowed.options(layout=layout, tick="1 millisecond")
        if flink_vectors.has_time(vector):
            windowed = windowed.trigger(flink_vectors.trigger_of(vector["trigger"]))
        evictor = flink_vectors.evictor_of(vector)
        if evictor is not None:
            windowed = windowed.evictor(evictor)
        if vector["allowed_lateness_ms"]:
            windowed = windowed.allowed_lateness(
                flink_vectors.milliseconds(vector["allowed_lateness_ms"])
            )
        if vector["output_mode"] == "update":
            windowed = windowed.retract()
        if ends_by_draining(vector):
            windowed = windowed.drain()
        aggregate = AGGREGATES[vector["aggregate"]]
        if language.has_functions and aggregate.reduced is not None:
            return windowed.agg(value=aggregate.reduced())
        return language.agg(windowed, value=aggregate.text)

    return pipeline


def time_of(vector: Vector) -> Time | None:
    """The time that the vector's windows and triggers use."""
    if flink_vectors.is_on_clock(vector):
        return transom.ProcessingTime()
    return "time" if flink_vectors.has_time(vector) else None


def expected(vector: Vector) -> tuple[Counter[str], Counter[str]]:
    """All results and late records that the vector expects."""
    results: Counter[str] = Counter()
    late: Counter[str] = Counter()
    # The vectors identify count windows by number, not by bounds.
    has_bounds = flink_vectors.has_time(vector)
    for step in vector["steps"]:
        if step["op"] == "expect":
            for output in step["outputs"]:
                window = output["window"] if has_bounds else None
                results[
                    shown(flink_vectors.key_of(output), output["value"], window, output.get("kind"))
                ] += 1
            late.update(
                shown(flink_vectors.key_of(o), o["value"], o["ts"]) for o in step.get("late", [])
            )
    return results, late


def got(vector: Vector, outcomes: list[Outcome], base: int) -> tuple[Counter[str], Counter[str]]:
    """All results and late records of the query, in the same form."""
    results: Counter[str] = Counter()
    late: Counter[str] = Counter()
    outputs = AGGREGATES[vector["aggregate"]].outputs
    for outcome in outcomes:
        for row in outcome.results:
            window = row["window"]
            bounds = window and [millis(window[name]) - base for name in ("start", "end")]
            kind = getattr(row, "change", None)
            results.update(shown(row["key"], o, bounds, kind) for o in outputs(row["value"]))
        for row in (late_row["row"] for late_row in outcome.late):
            late[shown(row["key"], row["value"], millis(row["time"]) - base)] += 1
    return results, late


def shown(*parts: Any) -> str:
    """One output as text, for comparison and for messages."""
    return json.dumps(parts, sort_keys=True)


def problem(spark: SparkSession, vector: Vector, language: Language) -> str | None:
    """Run a vector. Returns the first difference to the expected output, or None."""
    flink_vectors.check(vector)
    found = (problem_with_layout(spark, vector, layout, language) for layout in layouts(vector))
    return next(filter(None, found), None)


def problem_with_layout(
    spark: SparkSession, vector: Vector, layout: Layout, language: Language
) -> str | None:
    """Run a vector with one layout. Returns the difference to the expected output, or None."""
    base = base_of(vector)
    one_by_one = layout == "slices" and has_records_behind(vector)
    pipeline = query(vector, layout, language)
    with tempfile.TemporaryDirectory() as folder:
        if flink_vectors.needs_clock(vector):
            outcomes = [
                outcome_of(dict(enumerate(given)))
                for steps in on_clock(vector, base)
                for given in [run_on_clock(spark, pipeline, SCHEMA, steps, folder=Path(folder))]
            ]
        else:
            outcomes = [
                run_stream(spark, pipeline, SCHEMA, batches, checkpoint=Path(folder))
                for batches in runs_of(vector, base, one_by_one=one_by_one)
            ]
    return problem_of_outcomes(vector, outcomes, base)


def problem_of_outcomes(vector: Vector, outcomes: list[Outcome], base: int) -> str | None:
    """Compare the output of all runs of a query with the expected output."""
    want, want_late = expected(vector)
    have, have_late = got(vector, outcomes, base)
    if want != have:
        return f"expected {sorted(want.elements())}, got {sorted(have.elements())}"
    if vector["late_data"] == "side_output" and want_late != have_late:
        return f"expected late {sorted(want_late.elements())}, got {sorted(have_late.elements())}"
    dropped = vector.get("expected_dropped_total")
    if vector["late_data"] == "drop" and dropped is not None and dropped != have_late.total():
        return f"expected {dropped} dropped rows, got {sorted(have_late.elements())}"
    return None


def layouts(vector: Vector) -> tuple[Layout, ...]:
    """The layouts that run a vector."""
    if not flink_vectors.is_plain(vector):
        return ("keyed",)
    return ("slices", "keyed") if LONG else ("slices",)
