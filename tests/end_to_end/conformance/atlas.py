"""Runs the worked examples of Atlas Stream Processing: `atlas.fixed` and `atlas.session`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.conformance.events import Json, Table, instant, milliseconds, table
from tests.end_to_end.conformance.finished import window_of
from tests.end_to_end.conformance.languages import Language
from tests.end_to_end.conformance.outcomes import difference
from tests.end_to_end.support.clocked import START
from tests.end_to_end.support.queries import Outcome, run_stream
from tests.end_to_end.support.wall_clock import run_dated

# The lateness of a vector that gives none.
DEFAULT_LATENESS = timedelta(seconds=3)
# The reason of a row that the query returns, and the reason in a vector.
REASONS = {
    "late": "late",
    "late_partly": "late",
    "late_session": "late_no_open_session",
    "key_failed": "partitionBy_failed",
}


def problem(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector in all ways. Returns the first difference to the expected output, or None."""
    if needs_clock(vector):
        return problem_on_clock(spark, vector, language)
    return problem_of_batches(spark, vector, language)


def needs_clock(vector: Json) -> bool:
    """Whether the wall clock acts on the windows of a vector."""
    return is_on_clock(vector) or "idle_timeout_ms" in vector["policy"]


def is_on_clock(vector: Json) -> bool:
    """Whether the windows are in processing time."""
    return bool(vector["policy"].get("boundary") == "processingTime")


def is_session(vector: Json) -> bool:
    return bool(vector["model"] == "atlas.session")


def rows_of(vector: Json) -> Table:
    """The documents of a vector. Each says whether the expression of its key fails."""
    documents = (event for event in vector["events"] if event.get("kind") != "tick")
    return table(
        (document | {"fails": "partition_error" in document} for document in documents),
        key="string",
    )


def windowed(
    vector: Json, rows: DataFrame, language: Language, *, in_real_time: bool = False
) -> DataFrame:
    """The query of a vector. In Atlas, the watermark is the largest time."""
    settings = vector["policy"]
    on_clock = is_on_clock(vector)
    time = transom.ProcessingTime() if on_clock else transom.TimePolicy("event_time")
    failing = F.expr("CASE WHEN fails THEN raise_error('no key') ELSE key END")
    order = () if on_clock or in_real_time else "place"
    keyed = transom.stream(rows, time=time, order=order).key_by(failing.alias("partition"))
    windows = keyed.window(
        transom.Session(
            milliseconds(vector["windows"], "gap"), inclusive=False, late_start="reject"
        )
        if is_session(vector)
        else window_of(vector["windows"], closed="left")
    )
    windows = windows.options(tick="1 millisecond").with_late_rows(partly=True).with_dead_letters()
    if not on_clock:
        given = "allowed_lateness_ms" in settings
        lateness = milliseconds(settings, "allowed_lateness") if given else DEFAULT_LATENESS
        windows = windows.allowed_lateness(lateness).trigger(transom.AfterLateness())
    if "idle_timeout_ms" in settings:
        rule: Any = settings.get("idle_rule", "after_window_end")
        windows = windows.idle_timeout(milliseconds(settings, "idle_timeout"), rule=rule)
    return language.agg(windows, seqs="sort_array(collect_list(seq))")


def problem_of_batches(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector whose input does not depend on the wall clock."""
    rows, expected = rows_of(vector), vector["expected"]

    def pipeline(read: DataFrame) -> DataFrame:
        return windowed(vector, read, language)

    for way, batches in rows.cuts(vector["id"]).items():
        outcome = run_stream(spark, pipeline, rows.schema, batches)
        if found := problem_of_outcome(vector, way, outcome):
            return found
    # Windows that are open close at the end of a static input.
    static = pipeline(spark.createDataFrame(rows.rows[::-1], rows.schema).repartition(3)).collect()
    wanted = [wanted_of(output, dated=False) for output in expected["outputs"]]
    wanted += [opened(window) for window in expected["open_at_end"]]
    return difference(
        "results of a static DataFrame", wanted, results_of(static)
    ) or problem_of_late_rows(vector, "of a static DataFrame", static)


def problem_of_outcome(vector: Json, way: str, outcome: Outcome) -> str | None:
    """Compare the results and the late documents. Row by row, results have an event too."""
    given = outcome.by_batch
    tagged = [row for batch in given.values() for row in batch]
    by_row = way == "row by row"
    seqs = rows_of(vector).column("seq")
    results = (
        [result for n, batch in given.items() for result in results_of(batch, seqs[n])]
        if by_row
        else results_of(tagged)
    )
    wanted = [wanted_of(output, dated=by_row) for output in vector["expected"]["outputs"]]
    return difference(f"results {way}", wanted, results) or problem_of_late_rows(
        vector, way, tagged
    )


def problem_on_clock(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector whose events come at times of the wall clock."""
    rows = rows_of(vector)
    waiting = iter(rows.rows)
    steps: list[tuple[float, Sequence[tuple[Any, ...]]]] = []
    for event in vector["events"]:
        now = (instant(event["processing_time"]) - START).total_seconds()
        steps.append((now, [] if event.get("kind") == "tick" else [next(waiting)]))

    # A year later, all windows have closed.
    steps.append((steps[-1][0] + timedelta(days=366).total_seconds(), []))

    def pipeline(read: DataFrame) -> DataFrame:
        return windowed(vector, read, language)

    with tempfile.TemporaryDirectory() as folder:
        given = run_dated(spark, pipeline, rows.schema, steps, folder=Path(folder))
    after = [*(event["seq"] for event in vector["events"]), None]
    results = [
        result
        for seq, tagged in zip(after, given, strict=True)
        for result in results_of(tagged, seq)
    ]
    wanted = [wanted_of(output, dated=True) for output in vector["expected"]["outputs"]]
    wanted += [opened(window) for window in vector["expected"]["open_at_end"]]
    tagged = [row for step in given for row in step]
    return difference("results", wanted, results) or problem_of_late_rows(
        vector, "by clock", tagged
    )


def wanted_of(output: Json, *, dated: bool) -> Json:
    """A result as the vector has it, with the event after which it comes."""
    return {
        "window_start": instant(output["window_start"]),
        "window_end": instant(output["window_end"]),
        "partition": output.get("partition"),
        "seqs": output["seqs"],
        "at": output["at_row"] if dated else None,
    }


def opened(window: Json) -> Json:
    """A window that is open after the last event, as a result."""
    start, end = window["window" if "window" in window else "session"]
    return wanted_of(window | {"window_start": start, "window_end": end}, dated=False)


def results_of(tagged: Iterable[Row], at: int | None = None) -> list[Json]:
    """The results among the rows of a query, in the same form."""
    return [
        {
            "window_start": result["window"]["start"],
            "window_end": result["window"]["end"],
            "partition": result["partition"],
            "seqs": result["seqs"],
            "at": at,
        }
        for result in (row["results"] for row in tagged if row["tag"] == "results")
    ]


def problem_of_late_rows(vector: Json, way: str, tagged: Iterable[Row]) -> str | None:
    """Compare the documents in the dead letter queue, and the windows that they missed."""
    late = [row[row["tag"]] for row in tagged if row["tag"] in ("late", "dead_letters")]
    got = []
    for row in late:
        missed = [window["start"] for window in row["missed_windows"] or ()]
        # The vector does not say which session a document would have opened.
        missed = [] if is_session(vector) else sorted(missed)
        got.append([row["row"]["seq"], REASONS[row["reason"]], missed])
    wanted = []
    for letter in vector["expected"]["dlq"]:
        missed = [instant(start) for start in letter.get("missed_window_starts", ())]
        wanted.append([letter["seq"], letter["reason"], sorted(missed)])
    return difference(f"late documents {way}", wanted, got)
