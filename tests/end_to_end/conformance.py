"""Runs test vectors through real queries.

``python -m tests.end_to_end.conformance --vectors DIR``: a vector's steps become micro-batches. The
records between two watermarks are one, which also moves the watermark by a control row, and behind
it comes one that fires by the new watermark. A vector with records behind the watermark takes one
record a batch, since within a batch rows have no order. Where the vector restores a snapshot, the
query is stopped and goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.queries import Outcome, run_stream

Vector = dict[str, Any]
Batch = list[tuple[Any, ...]]

SCHEMA = "control boolean, key string, value long, time timestamp"
EPOCH = datetime(1970, 1, 1)
LAST_MS = 9_223_372_036_854_775_807
# A watermark of 0 means none, so a vector's times are moved up, by whole windows.
BASE_MS = 1_000_000_000_000
# Farther than any record: where Flink's last watermark is put, and how far control rows lie ahead
# of the watermark that they set, so that records move none.
FAR_MS = 400 * 86_400_000

AGGREGATES: dict[str, Callable[[], Column]] = {
    "sum": lambda: F.sum("value").alias("value"),
    "count": lambda: F.count("*").alias("value"),
    "sum_count": lambda: F.struct(F.sum("value").alias("sum"), F.count("*").alias("count")).alias(
        "value"
    ),
    "list_each": lambda: F.collect_list("value").alias("value"),
    "even_minus_odd": lambda: F.expr("sum(if(value % 2 = 0, 1, -1))").alias("value"),
}


class UnsupportedError(Exception):
    """Why a vector cannot be a query yet."""


@dataclass
class Run:
    """The batches between two restarts."""

    batches: list[Batch] = field(default_factory=list)


def window_of(vector: Vector) -> transom.Window:
    """The vector's windows as ours."""
    windows = vector["windows"]
    kind = windows["type"]
    if windows.get("time") != "event":
        raise UnsupportedError(f"{kind} windows without event time")
    if kind == "session":
        if windows["gap_ms"] == "per_element":
            raise UnsupportedError("a gap for each record")
        return transom.Session(gap=timedelta(milliseconds=windows["gap_ms"]))
    offset = timedelta(milliseconds=windows.get("offset_ms", 0))
    if kind == "tumbling":
        return transom.Tumbling(size=timedelta(milliseconds=windows["size_ms"]), offset=offset)
    if kind == "sliding":
        return transom.Hopping(
            size=timedelta(milliseconds=windows["size_ms"]),
            slide=timedelta(milliseconds=windows["slide_ms"]),
            offset=offset,
        )
    if kind == "cumulate":
        return transom.Cumulate(
            size=timedelta(milliseconds=windows["max_size_ms"]),
            step=timedelta(milliseconds=windows["step_ms"]),
            offset=offset,
        )
    raise UnsupportedError(f"{kind} windows")


def check(vector: Vector) -> None:
    """Say why a vector cannot be a query, if it cannot."""
    if vector.get("kind") != "operator":
        kind = vector.get("kind", "vectors of another schema")
        raise UnsupportedError(f"{kind}: no query expresses it, the engine runs what it can")
    if vector["trigger"]["type"] != "event_time":
        raise UnsupportedError(f"the trigger {vector['trigger']['type']}")
    if vector["evictor"] is not None:
        raise UnsupportedError("an evictor")
    if vector["allowed_lateness_ms"]:
        raise UnsupportedError("an allowed lateness")
    if vector["output_mode"] != "append":
        raise UnsupportedError(f"the output mode {vector['output_mode']}")
    if vector["aggregate"] not in AGGREGATES:
        raise UnsupportedError(
            f"the aggregate {vector['aggregate']}, which goes by the order of rows"
        )
    for step in vector["steps"]:
        if step["op"] == "processing_time":
            raise UnsupportedError("processing time")
        if step["op"] == "element" and step["ts"] is None:
            raise UnsupportedError("records without a time")
        if step["op"] == "element" and not -FAR_MS < step["ts"] < FAR_MS:
            raise UnsupportedError("times beyond what Spark's timestamps hold")


def base_of(vector: Vector) -> int:
    """By how much the vector's times are moved: whole windows of every length it has."""
    windows = vector["windows"]
    lengths = [windows[name] for name in ("size_ms", "slide_ms", "max_size_ms") if name in windows]
    period = math.lcm(*lengths)
    return -(-BASE_MS // period) * period


def instant(ms: int) -> datetime:
    """Milliseconds as the session's own time, which is UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def millis(time: datetime) -> int:
    """The other way round."""
    return (time - EPOCH) // timedelta(milliseconds=1)


def runs_of(vector: Vector, base: int) -> list[Run]:
    """The vector's steps as batches."""
    runs = [Run()]
    records: Batch = []
    reached = 0
    one_by_one = has_records_behind(vector)

    def control(ms: int) -> tuple[Any, ...]:
        return (True, None, None, instant(ms + FAR_MS))

    def flush(watermark: int | None) -> None:
        nonlocal reached
        moved = [] if watermark is None else [control(watermark)]
        if records or moved:
            runs[-1].batches.append([*records, *moved])
            records.clear()
        if watermark is not None:
            reached = watermark
            # Its rows move nothing, but it fires by the watermark that has just been reached.
            runs[-1].batches.append([control(reached)])

    for step in vector["steps"]:
        if step["op"] == "element":
            records.append((False, step["key"], step["value"], instant(base + step["ts"])))
            if one_by_one:
                flush(None)
        elif step["op"] == "watermark":
            # Flink's says that nothing at it will come, Spark's that nothing before it will.
            flush(base + min(step["ts"], FAR_MS) + 1)
        elif step["op"] == "snapshot_restore":
            flush(None)
            runs.append(Run())
    flush(None)
    return runs


def has_records_behind(vector: Vector) -> bool:
    """Whether sessions get a record at or behind the watermark, so that its place counts."""
    watermark = -LAST_MS
    for step in vector["steps"]:
        if step["op"] == "watermark":
            watermark = step["ts"]
        elif step["op"] == "element" and step["ts"] <= watermark:
            return bool(vector["windows"]["type"] == "session")
    return False


def query(vector: Vector) -> Callable[[DataFrame], DataFrame]:
    """The vector's operator over the rows of its steps."""

    def pipeline(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("time", f"{FAR_MS} milliseconds")
        # It names the time, so that Spark leaves it above the watermark, which control rows move.
        records = timed.where("not (control and time is not null)")
        stream = transom.stream(records, time="time").key_by("key")
        windowed = stream.window(window_of(vector)).with_late_rows()
        return windowed.agg(AGGREGATES[vector["aggregate"]]())

    return pipeline


def expected(vector: Vector) -> tuple[Counter[str], Counter[str]]:
    """All results and late records that the vector expects."""
    results: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for step in vector["steps"]:
        if step["op"] == "expect":
            results.update(shown(o["key"], o["value"], o["window"]) for o in step["outputs"])
            late.update(shown(o["key"], o["value"], o["ts"]) for o in step.get("late", []))
    return results, late


def got(outcomes: list[Outcome], base: int) -> tuple[Counter[str], Counter[str]]:
    """The same of the query."""
    results: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for outcome in outcomes:
        for row in outcome.results:
            bounds = [millis(row["window"][name]) - base for name in ("start", "end")]
            results.update(shown(row["key"], value, bounds) for value in values(row["value"]))
        for row in (late_row["row"] for late_row in outcome.late):
            late[shown(row["key"], row["value"], millis(row["time"]) - base)] += 1
    return results, late


def values(value: Any) -> Iterator[Any]:
    """A list is one output for each record."""
    if isinstance(value, list):
        yield from value
    else:
        yield value.asDict() if isinstance(value, Row) else value


def shown(*parts: Any) -> str:
    """One output, comparable and readable."""
    return json.dumps(parts, sort_keys=True)


def problem(spark: SparkSession, vector: Vector) -> str | None:
    """Run a vector; what differs, if anything does."""
    base = base_of(vector)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [
            run_stream(spark, query(vector), SCHEMA, run.batches, checkpoint=Path(folder))
            for run in runs_of(vector, base)
        ]
    want, want_late = expected(vector)
    have, have_late = got(outcomes, base)
    if want != have:
        return f"expected {sorted(want.elements())}, got {sorted(have.elements())}"
    if vector["late_data"] == "side_output" and want_late != have_late:
        return f"expected late {sorted(want_late.elements())}, got {sorted(have_late.elements())}"
    dropped = vector.get("expected_dropped_total")
    if vector["late_data"] == "drop" and dropped is not None and dropped != have_late.total():
        return f"expected {dropped} dropped rows, got {sorted(have_late.elements())}"
    return None


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
            check(vector)
            window_of(vector)
            found = problem(spark, vector)
        except UnsupportedError as reason:
            counts["skipped"] += 1
            print(f"query skipped {name}: {reason}")
            continue
        except (ValueError, KeyError, TypeError) as error:
            found = f"it cannot be read: {error!r}"
        counts["failed" if found else "passed"] += 1
        if found:
            print(f"query FAILED {name}: {found}", flush=True)
    print("query: " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
