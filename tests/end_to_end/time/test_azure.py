"""Worked examples of Azure Stream Analytics: the stamps do not depend on the cut into batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.seeds import instant, vector
from tests.end_to_end.support.streams import cut, examples

NAMES = [
    "asa-01a-twelve-events-all-policies",
    "asa-01c-twelve-events-substreams",
    "asa-01e-twelve-events-defaults",
    "asa-04-late-then-out-of-order",
    "asa-05-tolerances-are-inclusive",
    "asa-06-early-adjust",
    "asa-09-arrival-time-ignores-policies",
]
TWELVE = NAMES[0]
SCHEMA = "seq int, event timestamp, arrival timestamp, device string"
STAMP = "struct<time:timestamp,watermark:timestamp,rules:array<string>,disposition:string>"

ACTIONS: dict[str, type[transom.Adjust] | type[transom.Drop]] = {
    "adjust": transom.Adjust,
    "drop": transom.Drop,
}
# The names of a vector's rules in a stamp.
RULES = {"early": "early", "late": "late_arrival", "out_of_order": "out_of_order"}

Event = tuple[int, datetime, datetime, str | None]
# The columns of the input, and the fields of the stamp.
Stamped = tuple[Event, tuple[datetime | None, datetime | None, list[str], str]]


def events(name: str) -> list[Event]:
    return [
        (
            event["seq"],
            instant(event["event_time"]),
            instant(event["arrival_time"]),
            event.get("deviceId"),
        )
        for event in vector(name)["events"]
    ]


def tolerance(settings: dict[str, Any], rule: str) -> timedelta:
    return timedelta(milliseconds=settings[f"{rule}_tolerance_ms"])


def policy(name: str) -> transom.TimePolicy:
    settings = vector(name)["policy"]

    def rule(rule: str) -> transom.Adjust | transom.Drop:
        action = ACTIONS[settings[f"{rule}_action"]]
        return action(tolerance(settings, rule))

    if settings["clock"] == "arrival":
        return transom.TimePolicy(None, arrival="arrival", out_of_order=rule("out_of_order"))
    return transom.TimePolicy(
        "event",
        arrival="arrival",
        over=["device"] if "over" in settings else [],
        early=rule("early"),
        late=rule("late"),
        out_of_order=rule("out_of_order"),
    )


def expected(name: str) -> list[Stamped]:
    """The rows of a vector with their stamps.

    A vector has the watermark after each event, without the floor that the late rule sets. A row
    met the watermark after the event before it in its source, and the floor. With substreams the
    floor follows the row's own arrival, otherwise the arrival of the row before.
    """
    settings = vector(name)["policy"]
    is_by_arrival = settings["clock"] == "arrival"
    reached: dict[str | None, datetime] = {}
    arrived: datetime | None = None
    found: list[Stamped] = []
    for row, stamp in zip(events(name), vector(name)["expected"]["per_event"], strict=True):
        assert row[0] == stamp["seq"]
        substream = row[3] if "over" in settings else None
        marks = [reached[substream]] if substream in reached else []
        clock = row[2] if "over" in settings else arrived
        if not is_by_arrival and clock is not None:
            marks.append(clock - tolerance(settings, "late"))
        arrived = row[2]
        reached[substream] = instant(stamp["watermark"])
        watermark = max(marks, default=None)
        time = stamp["system_timestamp"]
        if time is None:
            rules = [RULES[stamp["disposition"].removeprefix("dropped_")]]
            found.append((row, (None, watermark, rules, "dropped")))
        else:
            rules = [RULES[rule] for rule in stamp.get("adjusted_by", [])]
            disposition = "adjusted" if rules else "accepted"
            found.append((row, (instant(time), watermark, rules, disposition)))
    return found


def stamped(name: str, order: Sequence[str] = ("seq",)) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        return transom.stream(rows, time=policy(name), order=order).stamped()

    return pipeline


def got(rows: Iterable[Row]) -> list[Stamped]:
    """The rows in their order, as plain values."""
    plain = [(tuple(row[:4]), tuple(row["stamp"])) for row in rows]
    return sorted(plain, key=lambda row: row[0][0])


@pytest.mark.parametrize("name", NAMES)
def test_a_static_dataframe_has_the_stamps_of_the_table(spark: SparkSession, name: str) -> None:
    rows = spark.createDataFrame(events(name)[::-1], SCHEMA).repartition(3)
    result = stamped(name)(rows)
    assert result.columns == [*rows.columns, "stamp"]
    assert result.schema["stamp"].dataType.simpleString() == STAMP
    assert got(result.collect()) == expected(name)


def test_the_arrival_orders_rows_that_have_no_other_order(spark: SparkSession) -> None:
    shuffled = random.Random(7).sample(events(TWELVE), 12)
    rows = spark.createDataFrame(shuffled, SCHEMA).repartition(3)
    assert got(stamped(TWELVE, order=())(rows).collect()) == expected(TWELVE)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_has_the_stamps_of_the_table_in_one_batch(spark: SparkSession, name: str) -> None:
    outcome = run_stream(spark, stamped(name), SCHEMA, [events(name)])
    assert got(outcome.results) == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_has_the_stamps_of_the_table_row_by_row(spark: SparkSession, name: str) -> None:
    outcome = run_stream(spark, stamped(name), SCHEMA, [[event] for event in events(name)])
    assert got(outcome.results) == expected(name)


@examples(4)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**32))
def test_neither_cuts_nor_the_order_within_batches_change_a_stamp(
    spark: SparkSession, name: str, seed: int
) -> None:
    chosen = random.Random(seed)
    batches = [chosen.sample(batch, len(batch)) for batch in cut(events(name), chosen)]
    outcome = run_stream(spark, stamped(name), SCHEMA, batches)
    assert got(outcome.results) == expected(name)


def test_a_restart_changes_no_stamp(spark: SparkSession, tmp_path: Path) -> None:
    name = "asa-01c-twelve-events-substreams"
    rows = events(name)
    outcomes = [
        run_stream(spark, stamped(name), SCHEMA, batches, checkpoint=tmp_path)
        for batches in ([rows[:3], rows[3:5]], [rows[5:6], rows[6:]])
    ]
    assert got(row for outcome in outcomes for row in outcome.results) == expected(name)


def test_a_watermark_of_spark_changes_no_stamp(spark: SparkSession) -> None:
    def marked(rows: DataFrame) -> DataFrame:
        return stamped(TWELVE)(rows.withWatermark("event", "0 seconds"))

    outcome = run_stream(spark, marked, SCHEMA, [[event] for event in events(TWELVE)])
    assert got(outcome.results) == expected(TWELVE)
