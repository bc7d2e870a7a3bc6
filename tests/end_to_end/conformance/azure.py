"""Runs the worked examples of Azure's time policies: `asa.time_policy` and `asa.pipeline`."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import transom
from tests.end_to_end.conformance.events import Json, Table, instant, milliseconds, table
from tests.end_to_end.conformance.finished import aggregate, normal, window_of
from tests.end_to_end.conformance.languages import Language
from tests.end_to_end.conformance.outcomes import UnsupportedError, difference
from tests.end_to_end.support.clocked import START
from tests.end_to_end.support.queries import Outcome, run_stream
from tests.end_to_end.support.wall_clock import Past, recent_progress, run_dated

ACTIONS: dict[str, type[transom.Adjust] | type[transom.Drop]] = {
    "adjust": transom.Adjust,
    "drop": transom.Drop,
}
# A rule in a vector, and in a stamp and the name of its count.
RULES = {"early": "early", "late": "late_arrival", "out_of_order": "out_of_order"}
COUNTS = RULES | {"adjusted": "adjusted", "dropped": "dropped"}
# The field of an output with the event after which the output comes.
EMITTED = "emitted_after_seq_with_idle_floor"


def problem(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector in all ways. Returns the first difference to the expected output, or None."""
    if found := problem_of_stamps(spark, vector, language):
        return found
    if has_clock(vector):
        if vector["windows"]:
            raise UnsupportedError("windows, and a wall clock that moves between events")
        return problem_of_watermarks(spark, vector, language)
    return problem_of_windows(spark, vector, language) if vector["windows"] else None


def has_clock(vector: Json) -> bool:
    """Whether the wall clock moves while no event arrives."""
    return any(event.get("kind") == "tick" for event in vector["events"])


def policy_of(vector: Json) -> transom.TimePolicy:
    """The time policy of a vector."""
    settings = vector["policy"]

    def rule(name: str) -> Any:
        if settings.get(f"{name}_tolerance_ms") is None:
            return None
        return ACTIONS[settings[f"{name}_action"]](milliseconds(settings, f"{name}_tolerance"))

    out_of_order = rule("out_of_order") or transom.Accept("0 seconds")
    over = [settings["over"]] if "over" in settings else []
    partitions = settings.get("partitions", ())
    if settings["clock"] == "arrival":
        return transom.TimePolicy(None, arrival="arrival_time", out_of_order=out_of_order)
    return transom.TimePolicy(
        "event_time",
        arrival="arrival_time",
        partition="partition" if partitions else None,
        partitions=partitions,
        over=over,
        early=rule("early"),
        late=rule("late"),
        out_of_order=out_of_order,
        # Without a bound for late rows, the wall clock moves no watermark.
        estimate_arrival=has_clock(vector) and settings.get("late_tolerance_ms") is not None,
    )


def rows_of(vector: Json) -> Table:
    """The events of a vector that are rows."""
    return table(event for event in vector["events"] if event.get("kind") != "tick")


def problem_of_stamps(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Compare the stamp of each row, and the counts of the rows of each rule."""
    rows, expected = rows_of(vector), stamps_of(vector)

    def pipeline(read: DataFrame) -> DataFrame:
        policy = policy_of(vector)
        return language.stamped(transom.stream(read, time=policy, order="place"))

    for way, batches in rows.cuts(vector["id"]).items():
        outcome = run_stream(spark, pipeline, rows.schema, batches)
        got = [stamp_of(vector, row) for row in outcome.results]
        if found := difference(f"stamps {way}", expected, got):
            return found
        if found := problem_of_counts(vector, way, outcome):
            return found
    static = pipeline(spark.createDataFrame(rows.rows[::-1], rows.schema).repartition(3))
    got = [stamp_of(vector, row) for row in static.collect()]
    return difference("stamps of a static DataFrame", expected, got)


def problem_of_counts(vector: Json, way: str, outcome: Outcome) -> str | None:
    """Compare the counts of the rows of each rule."""
    metrics, counts = vector["expected"]["metrics"], outcome.observed()
    counted = [[name, counts.get(f"transom_rows_{ours}", 0)] for name, ours in COUNTS.items()]
    return difference(f"counts {way}", [[name, metrics[name]] for name in COUNTS], counted)


def stamps_of(vector: Json) -> list[Json]:
    """The stamp of each row of a vector.

    A vector has the watermark after each event, without the floor that the late rule sets. A row
    met the watermark after the event before it in its source, and the floor. With substreams the
    floor follows the row's own arrival, otherwise the arrival of the row before.
    """
    settings = vector["policy"]
    has_floor = settings["clock"] != "arrival" and settings.get("late_tolerance_ms") is not None
    reached: dict[Any, datetime] = {}
    arrived: datetime | None = None
    found = []
    for event, stamp in zip(vector["events"], vector["expected"]["per_event"], strict=True):
        if event.get("kind") == "tick":
            continue
        source = field(event, settings["over"]) if "over" in settings else None
        marks = [reached[source]] if source in reached else []
        own = instant(event["arrival_time"])
        clock = own if "over" in settings else arrived
        if has_floor and clock is not None:
            marks.append(clock - milliseconds(settings, "late_tolerance"))
        arrived = own
        reached[source] = instant(stamp["watermark"])
        met = max(marks, default=None)
        found.append(
            {
                "seq": stamp["seq"],
                "time": stamp["system_timestamp"] and instant(stamp["system_timestamp"]),
                "disposition": stamp["disposition"],
                "adjusted_by": stamp.get("adjusted_by", []),
            }
            | ({} if "partitions" in settings else {"watermark": met})
        )
    return found


def field(event: Json, name: str) -> Any:
    return event[name] if name in event else event["payload"][name]


def stamp_of(vector: Json, row: Row) -> Json:
    """The stamp of a row of the query, in the form of a vector."""
    stamp = row["stamp"]
    rules = [name for name, ours in RULES.items() if ours in stamp["rules"]]
    is_dropped = stamp["disposition"] == "dropped"
    shown = {
        "seq": row["seq"],
        "time": stamp["time"],
        "disposition": f"dropped_{rules[-1]}" if is_dropped else "accepted",
        "adjusted_by": rules if stamp["disposition"] == "adjusted" else [],
    }
    # With partitions, the vector has the watermark of each.
    return shown | ({} if "partitions" in vector["policy"] else {"watermark": stamp["watermark"]})


def windowed(
    vector: Json, rows: DataFrame, language: Language, *, in_real_time: bool = False
) -> DataFrame:
    """The windows of a vector, which include their end."""
    settings = vector["policy"]
    order = () if in_real_time else "place"
    stream = transom.stream(rows, time=policy_of(vector), order=order)
    windows = stream.key_by(*settings.get("group_by", ())).window(
        window_of(vector["windows"], closed="right")
    )
    aggregates = settings["aggregates"]
    return language.agg(windows, **{each["as"]: aggregate(vector, each) for each in aggregates})


def problem_of_windows(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Compare the results of windows, and the event after which each comes."""
    rows, outputs = rows_of(vector), vector["expected"]["outputs"]

    def pipeline(read: DataFrame) -> DataFrame:
        return windowed(vector, read, language)

    for way, batches in rows.cuts(vector["id"]).items():
        outcome = run_stream(spark, pipeline, rows.schema, batches)
        if found := problem_of_results(vector, way, outcome):
            return found
    # All windows close at the end of a static input.
    static = pipeline(spark.createDataFrame(rows.rows, rows.schema)).collect()
    expected = [wanted_of(vector, output, dated=False) for output in outputs]
    results = [result_of(vector, row) for row in static]
    return difference("results of a static DataFrame", expected, results)


def problem_of_results(vector: Json, way: str, outcome: Outcome) -> str | None:
    """Compare the results of a stream. Row by row, each result has an event too."""
    seqs = rows_of(vector).column("seq")
    by_row = way == "row by row"
    expected = [
        wanted_of(vector, output, dated=by_row)
        for output in vector["expected"]["outputs"]
        if output[EMITTED] is not None
    ]
    results = [
        result_of(vector, row, seqs[n] if by_row else None)
        for n, batch in outcome.by_batch.items()
        for row in batch
    ]
    return difference(f"results {way}", expected, results)


def wanted_of(vector: Json, output: Json, *, dated: bool) -> Json:
    """A result as the vector has it, with the event after which it comes."""
    return {
        "window_start": instant(output["window_start"]),
        "window_end": instant(output["window_end"]),
        **{name: normal(output[name]) for name in values_of(vector)},
        "emitted": output[EMITTED] if dated else None,
    }


def result_of(vector: Json, row: Row, seq: int | None = None) -> Json:
    """A result of the query, in the same form."""
    bounds = {f"window_{name}": row["window"][name] for name in ("start", "end")}
    values = row.asDict(recursive=True)
    return bounds | {name: normal(values[name]) for name in values_of(vector)} | {"emitted": seq}


def values_of(vector: Json) -> list[str]:
    """The columns of a vector's results: the keys and the aggregates."""
    settings = vector["policy"]
    return [*settings.get("group_by", ()), *(each["as"] for each in settings["aggregates"])]


def problem_of_watermarks(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Compare the watermark after each event, while the wall clock moves too."""
    rows = rows_of(vector)
    waiting = iter(rows.rows)
    steps = []
    for event in vector["events"]:
        is_tick = event.get("kind") == "tick"
        now = instant(event["wall_time" if is_tick else "arrival_time"])
        steps.append(((now - START).total_seconds(), [] if is_tick else [next(waiting)]))

    def pipeline(read: DataFrame) -> DataFrame:
        stream = transom.stream(read, time=policy_of(vector), order="place")
        windows = stream.window_all(transom.Tumbling("1 hour")).options(tick="1 millisecond")
        return language.agg(windows, n="count(*)")

    marks: list[Json] = []

    def watch(query: StreamingQuery) -> None:
        metrics = transom.metrics(Past(recent_progress(query)[-1]))
        found: Json = {"combined_watermark": metrics.watermark}
        found |= {str(name): each.watermark for name, each in metrics.partitions.items()}
        marks.append({name: mark and instant(mark) for name, mark in found.items()})

    with tempfile.TemporaryDirectory() as folder:
        run_dated(spark, pipeline, rows.schema, steps, folder=Path(folder), after=watch)
    expected: list[Json] = []
    known_partitions = set()
    for event, after in zip(vector["events"], vector["expected"]["per_event"], strict=True):
        combined = after.get("combined_watermark", after.get("watermark_with_idle_floor"))
        known_partitions.add(event.get("partition"))
        # transom shows no watermark of a partition that had no row yet.
        own = {
            name: mark if name in known_partitions else None
            for name, mark in after.get("watermark_by_partition", {}).items()
        }
        known = {"combined_watermark": combined, **own}
        expected.append({name: mark and instant(mark) for name, mark in known.items()})
    return difference("watermarks", enumerate(expected), enumerate(marks))
