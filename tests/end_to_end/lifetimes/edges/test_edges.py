"""Starts and ends that come in rows of their own, with results computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.lifetimes.test_by_hand import at, fired
from tests.end_to_end.support.queries import Outcome, run_stream
from tests.end_to_end.support.sessions import is_connect
from transom.inspection.metrics import named

SCHEMA = "n int, key string, id string, start timestamp, until timestamp"


def row(n: int, key: str | None, id_: str | None, start: float, until: float | None) -> Any:
    return n, key, id_, at(start), None if until is None else at(until)


def tagged(
    window: transom.Window,
    *,
    timeout: str | None = None,
    ids: Sequence[Any] = ("id",),
    keys: Sequence[str] = ("key",),
    time: Any = None,
    end: Any = "until",
    **stream: Any,
) -> Callable[[DataFrame], DataFrame]:
    """Results, and the number and reason of all other rows."""

    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("start", delay="0 seconds") if time is None else time
        lifetime = transom.Lifetime(end, id=ids, timeout=timeout)
        windowed = transom.stream(rows, time=clock, lifetime=lifetime, **stream).key_by(*keys)
        sides = windowed.window(window).with_late_rows(partly=True).with_dead_letters()
        rows = sides.agg(F.collect_list("n").alias("rows"))
        side = F.coalesce("late", "dead_letters")
        return rows.select(
            "results.*",
            side["row"]["n"].alias("n"),
            side["reason"].alias("reason"),
            side["time"].alias("time"),
            side["missed_windows"].alias("missed"),
        )

    return pipeline


def results(rows: Sequence[Row]) -> list[Any]:
    return fired([r for r in rows if r["reason"] is None])


def sides(rows: Sequence[Row]) -> dict[int, str]:
    return {r["n"]: r["reason"] for r in rows if r["reason"] is not None}


def open_rows(outcome: Outcome) -> list[int]:
    """The number of open rows after each batch."""
    return [
        observed["transom_rows_open"]
        for progress in outcome.progress
        for observed in (named(row.asDict()) for row in progress.observedMetrics.values())
    ]


def test_a_later_row_ends_a_row_whatever_the_order_of_a_static_dataframe(
    spark: SparkSession,
) -> None:
    rows = [
        row(0, "a", "x", 0, None),
        row(1, "a", "x", 0, 10),
        row(2, "a", "y", 5, None),
        row(3, "a", "y", 5, 8),
        # Other times, keys and ids are other lifetimes.
        row(4, "a", "x", 2, None),
        row(5, "b", "x", 0, None),
        row(6, "b", "x", 0, 3),
        row(7, "a", None, 0, None),
        row(8, "a", None, 0, 2),
    ]
    df = spark.createDataFrame(rows[::-1], SCHEMA).repartition(3, "n")
    got = tagged(transom.Snapshot())(df).collect()
    assert results(got) == [
        ("a", 0, 2, [0, 7]),
        ("a", 2, 5, [0, 4]),
        ("a", 5, 8, [0, 2, 4]),
        ("a", 8, 10, [0, 4]),
        ("b", 0, 3, [5]),
    ]
    assert sides(got) == {}


def test_rows_that_match_no_other_row_are_dead_letters(spark: SparkSession) -> None:
    rows = [
        row(0, "a", "x", 0, None),
        row(1, "a", "x", 0, None),
        row(2, "a", "x", 0, 10),
        row(3, "a", "x", 0, 12),
        row(4, "a", "z", 0, 10),
        row(5, "a", "x", 1, 10),
        row(6, "b", "x", 0, 10),
        row(7, "c", "x", 4, None),
        row(8, "c", "x", 4, 4),
        row(9, "c", "x", 4, 3),
        row(10, "c", "x", 4, 24.000001),
        row(11, "d", "x", 4, None),
        row(12, "d", "x", 4, 24),
    ]
    df = spark.createDataFrame(rows, SCHEMA)
    got = tagged(transom.Snapshot(), timeout="20 seconds", order="n")(df).collect()
    assert results(got) == [("a", 0, 10, [0]), ("c", 4, 24, [7]), ("d", 4, 24, [11])]
    assert sides(got) == dict.fromkeys([1, 3, 4, 5, 6, 8, 9, 10], "bad_lifetime")
    # An end has the time of its end, unless it is no end of a lifetime at all.
    times = {r["n"]: r["time"] for r in got if r["n"] in {1, 4}}
    assert times == {1: at(0), 4: at(10)}


@pytest.mark.parametrize("is_local", [False, True])
def test_expressions_that_fail_are_dead_letters(spark: SparkSession, *, is_local: bool) -> None:
    rows = [row(0, "a", "x", 0, None), row(1, "a", "x", 1, None), row(2, "a", "x", 1, 5)]
    failing = F.expr("IF(n = 0, cast(1 / 0 AS INT), 7)")
    df = spark.createDataFrame(rows, SCHEMA)
    if is_local:
        # Spark computes all columns of such rows, also those that nothing reads.
        df = spark.createDataFrame(df.toArrow())
    got = tagged(transom.Snapshot(), ids=["id", failing])(df).collect()
    assert results(got) == [("a", 1, 5, [1])]
    assert sides(got) == {0: "bad_lifetime"}
    end = F.expr("IF(n = 0, timestamp_seconds(1 / 0), until)")
    got = tagged(transom.Snapshot(), end=end)(df).collect()
    assert results(got) == [("a", 1, 5, [1])]
    assert sides(got) == {0: "bad_lifetime"}


def test_ids_are_equal_as_keys_are(spark: SparkSession) -> None:
    rows = [row(0, "a", "x", 0, None), row(1, "a", "X", 0, 5)]
    ids = [
        F.expr("IF(n = 0, 0.0D, -0.0D)"),
        F.expr("IF(n = 0, double('NaN'), -double('NaN'))"),
        F.expr("IF(n = 0, map(1, 2, 3, 4), map(3, 4, 1, 2))"),
        F.expr("id COLLATE UTF8_LCASE"),
    ]
    got = tagged(transom.Snapshot(), ids=ids)(spark.createDataFrame(rows, SCHEMA)).collect()
    assert results(got) == [("a", 0, 5, [0])]
    assert sides(got) == {}


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (transom.Snapshot(), [("a", 0, 20, [0]), ("a", 20, 25, [0, 1])]),
        (
            transom.Tumbling(size="10 seconds"),
            [("a", 0, 10, [0]), ("a", 10, 20, [0]), ("a", 20, 30, [0, 1])],
        ),
    ],
    ids=repr,
)
def test_an_end_at_the_watermark_is_in_time(
    spark: SparkSession, window: transom.Window, expected: list[Any]
) -> None:
    batches = [
        [row(0, "a", "x", 0, None)],
        [row(1, "a", "y", 20, None)],
        [],
        [row(2, "a", "y", 20, 25)],
        [],
        [row(3, "a", "x", 0, 25)],
        [row(4, "b", "x", 40, None)],
    ]
    outcome = run_stream(spark, tagged(window), SCHEMA, batches)
    assert results(outcome.results) == expected
    assert sides(outcome.results) == {}
    assert outcome.observed()["transom_rows_end_edges"] == 2


def test_an_end_before_the_watermark_counts_from_the_watermark_on(spark: SparkSession) -> None:
    batches = [
        [row(0, "a", "x", 0, None), row(1, "b", "x", 20, None)],
        [],
        # The watermark is 20.
        [row(2, "a", "x", 0, 12)],
        [row(3, "b", "x", 20, 30), row(4, "c", "x", 60, None)],
    ]
    outcome = run_stream(spark, tagged(transom.Snapshot()), SCHEMA, batches)
    assert results(outcome.results) == [("a", 0, 20, [0]), ("b", 20, 30, [1])]
    assert sides(outcome.results) == {2: "late_partly"}
    (missed,) = [r["missed"] for r in outcome.results if r["n"] == 2]
    assert [tuple(bounds) for bounds in missed] == [(at(12), at(20))]
    observed = outcome.observed()
    assert (observed["transom_rows_end_edges"], observed["transom_rows_late_partly"]) == (2, 1)


def test_an_end_before_the_watermark_counts_for_the_windows_of_a_grid_that_have_not_fired(
    spark: SparkSession,
) -> None:
    batches = [
        [row(0, "a", "x", 0, None), row(1, "a", "y", 0, None), row(2, "b", "x", 25, None)],
        [],
        # The watermark is 25. The windows from 0 and from 10 have fired.
        [row(3, "a", "x", 0, 3), row(4, "a", "y", 0, 18)],
        [row(5, "b", "x", 25, 26), row(6, "c", "x", 60, None)],
    ]
    outcome = run_stream(spark, tagged(transom.Tumbling(size="10 seconds")), SCHEMA, batches)
    assert results(outcome.results) == [
        ("a", 0, 10, [0, 1]),
        ("a", 10, 20, [0, 1]),
        ("b", 20, 30, [2]),
    ]
    # Only row 0 was in a window behind its end.
    assert sides(outcome.results) == {3: "late_partly"}
    (missed,) = [r["missed"] for r in outcome.results if r["n"] == 3]
    assert [tuple(bounds) for bounds in missed] == [(at(10), at(20))]


def test_the_open_rows_are_counted_through_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = tagged(transom.Snapshot(), timeout="30 seconds")
    first = [
        [row(0, "a", "x", 0, None), row(1, "a", "y", 0, None), row(2, "b", "x", 0, None)],
        [row(3, "a", "x", 0, 1), row(4, "a", "y", 0, None)],
    ]
    outcome = run_stream(spark, pipeline, SCHEMA, first, checkpoint=tmp_path)
    assert open_rows(outcome)[:2] == [3, 2]
    assert sides(outcome.results) == {4: "bad_lifetime"}
    second = [
        [row(5, "a", "z", 20, None), row(6, "b", "y", 20, None)],
        [row(7, "a", "z", 20, 21), row(8, "b", "w", 60, None)],
    ]
    outcome = run_stream(spark, pipeline, SCHEMA, second, checkpoint=tmp_path)
    # At the watermark 60, all rows but the last have ended or waited for 30 seconds.
    assert open_rows(outcome) == [4, 4, 1]
    assert [r for r in results(outcome.results) if r[0] == "b"] == [
        ("b", 0, 20, [2]),
        ("b", 20, 30, [2, 6]),
        ("b", 30, 50, [6]),
    ]


def test_metrics_show_open_rows_and_end_edges(spark: SparkSession, tmp_path: Path) -> None:
    batch = [row(0, "a", "x", 0, None), row(1, "a", "y", 0, None), row(2, "a", "x", 0, 9)]
    # Only a classic session can be part of a function, and only there a batch has another one.
    session = None if is_connect() else spark

    def show(rows: DataFrame, batch_id: int) -> None:
        rows.collect()
        if batch_id == 1:
            metrics = transom.metrics((session or rows.sparkSession).streams.active[0])
            shown = (metrics.rows_in, metrics.rows_end_edges, metrics.rows_open)
            (tmp_path / "shown").write_text(str(shown))

    run_stream(spark, tagged(transom.Snapshot()), SCHEMA, [batch, []], writer=show)
    assert (tmp_path / "shown").read_text() == "(3, 1, 1)"


def test_each_row_is_counted_once(spark: SparkSession) -> None:
    batches: list[list[Any]] = [
        [row(0, "a", "x", 0, None), row(1, "b", "x", 50, None)],
        [],
        # A row in a gap, a late row, an end, an end without a start, and a bad lifetime.
        [
            row(2, "a", "y", 65, None),
            row(3, "a", "z", 1, None),
            row(4, "a", "x", 0, 55),
            row(5, "a", "x", 0, 55),
            row(6, "a", "x", 9, 8),
            (7, "a", "x", None, None),
        ],
    ]
    gaps = transom.Hopping(size="10 seconds", slide="50 seconds")
    outcome = run_stream(spark, tagged(gaps, timeout="20 seconds"), SCHEMA, batches)
    observed = outcome.observed()
    places = {
        "transom_rows_late": 1,
        "transom_rows_in_gaps": 1,
        "transom_rows_end_edges": 0,
        "transom_rows_with_bad_windows": 3,
        "transom_rows_without_time": 1,
    }
    assert {name: observed[name] for name in places} == places
    # Rows 0 and 1 are in windows.
    assert observed["transom_rows_in"] == 2 + sum(places.values())


def test_explain_names_id_and_timeout(spark: SparkSession) -> None:
    df = spark.createDataFrame([], SCHEMA)
    text = transom.explain(tagged(transom.Snapshot(), timeout="1 day")(df))
    line = "lifetime    until the until TIMESTAMP of a later row with the same id STRING, "
    assert line + "at most 1 day" in text
