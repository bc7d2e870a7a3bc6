"""Runs test vectors through real queries.

``python -m tests.end_to_end.support.conformance --vectors DIR``: a vector's steps become
micro-batches. The records between two watermarks are one, which also moves the watermark by a
control row, and behind it comes one that fires by the new watermark. Where the vector restores a
snapshot, the query is stopped and goes on from its checkpoint. Where the wall clock counts it is
set by hand. What the pane log can run runs there, and with TRANSOM_LONG in the keyed layout too;
the rest runs keyed. Sessions with records behind the watermark take one record a batch in the pane
log, since within a batch its rows have no order.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.support import vectors
from tests.end_to_end.support.queries import Outcome, outcome_of, run_stream
from tests.end_to_end.support.streams import LONG
from tests.end_to_end.support.vector_steps import (
    SCHEMA,
    base_of,
    ends_by_draining,
    has_records_behind,
    millis,
    on_clock,
    runs_of,
)
from tests.end_to_end.support.vectors import FAR_MS, UnsupportedError, Vector
from tests.end_to_end.support.wall_clock import run_on_clock
from transom.spec import Layout
from transom.time_policies import Time


def query(vector: Vector, layout: Layout) -> Callable[[DataFrame], DataFrame]:
    """The vector's operator over the rows of its steps."""

    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("time", f"{FAR_MS} milliseconds")
        # It names the time, so that Spark leaves it above the watermark, which control rows move.
        records = timed.where("not (control and time is not null)")
        stream = transom.stream(records, time=time_of(vector)).key_by("key")
        windowed = stream.window(vectors.window_of(vector)).with_late_rows()
        windowed = windowed.options(layout=layout, tick="1 millisecond")
        if vectors.has_time(vector):
            windowed = windowed.trigger(vectors.trigger_of(vector["trigger"]))
        evictor = vectors.evictor_of(vector)
        if evictor is not None:
            windowed = windowed.evictor(evictor)
        if vector["allowed_lateness_ms"]:
            windowed = windowed.allowed_lateness(
                vectors.milliseconds(vector["allowed_lateness_ms"])
            )
        if vector["output_mode"] == "update":
            windowed = windowed.retract()
        if ends_by_draining(vector):
            windowed = windowed.drain()
        return windowed.agg(vectors.aggregates()[vector["aggregate"]].column().alias("value"))

    return pipeline


def time_of(vector: Vector) -> Time | None:
    """What the vector's windows and triggers go by."""
    if vectors.is_on_clock(vector):
        return transom.ProcessingTime()
    return "time" if vectors.has_time(vector) else None


def expected(vector: Vector) -> tuple[Counter[str], Counter[str]]:
    """All results and late records that the vector expects."""
    results: Counter[str] = Counter()
    late: Counter[str] = Counter()
    # Windows of rows are told by their numbers there.
    has_bounds = vectors.has_time(vector)
    for step in vector["steps"]:
        if step["op"] == "expect":
            for output in step["outputs"]:
                window = output["window"] if has_bounds else None
                results[
                    shown(vectors.key_of(output), output["value"], window, output.get("kind"))
                ] += 1
            late.update(shown(vectors.key_of(o), o["value"], o["ts"]) for o in step.get("late", []))
    return results, late


def got(vector: Vector, outcomes: list[Outcome], base: int) -> tuple[Counter[str], Counter[str]]:
    """The same of the query."""
    results: Counter[str] = Counter()
    late: Counter[str] = Counter()
    outputs = vectors.aggregates()[vector["aggregate"]].outputs
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
    """One output, comparable and readable."""
    return json.dumps(parts, sort_keys=True)


def problem(spark: SparkSession, vector: Vector, layout: Layout) -> str | None:
    """Run a vector; what differs, if anything does."""
    base = base_of(vector)
    one_by_one = layout == "slices" and has_records_behind(vector)
    pipeline = query(vector, layout)
    with tempfile.TemporaryDirectory() as folder:
        if vectors.needs_clock(vector):
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
    """Those that run a vector."""
    if not vectors.is_plain(vector):
        return ("keyed",)
    return ("slices", "keyed") if LONG else ("slices",)


def session() -> SparkSession:
    """A session for many small queries."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("transom conformance")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
    )
    spark = transom.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> int:
    """Run all vectors below a folder; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=Path, required=True)
    folder: Path = parser.parse_args().vectors
    counts = Counter({"passed": 0, "failed": 0, "skipped": 0})
    spark = session()
    for path in sorted(folder.rglob("*.json")):
        name = path.relative_to(folder)
        try:
            vector = json.loads(path.read_text())
            vectors.check(vector)
            found = next(filter(None, (problem(spark, vector, on) for on in layouts(vector))), None)
        except UnsupportedError as reason:
            counts["skipped"] += 1
            print(f"query skipped {name}: {reason}", flush=True)
            continue
        except Exception as error:  # noqa: BLE001 - one that fails, in whichever way, ends no run
            found = f"it cannot be run: {error!r}"
        counts["failed" if found else "passed"] += 1
        if found:
            print(f"query FAILED {name}: {found}", flush=True)
    print("query: " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
