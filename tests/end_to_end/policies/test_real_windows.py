"""Real events out of order: windows, late rows and dead letters are those of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.policies import (
    SECOND,
    Case,
    grid,
    policy_of,
    seconds,
    session,
)
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.real_data import (
    EVENTS,
    POLICIES,
    SCHEMA,
    Event,
    in_batches,
    many,
    timed,
)
from tests.time_model import stamping, windows


@dataclass(frozen=True)
class Setting:
    """Windows over a policy, and the steps that the model has too."""

    data: str
    name: str
    case: Case
    by_partition: bool = False
    lateness: int = 0
    layout: Literal["auto", "keyed"] = "auto"
    batches: int = 3

    def __repr__(self) -> str:
        return f"{self.data}-{self.name}-{type(self.case.ours).__name__}"


def minutes(size: int, slide: int, closed: Any = "left") -> Case:
    return grid(60 * size, 60 * slide, closed)


# The short check runs each second one.
WINDOWED = [
    Setting("earthquakes", "accept", session(1800, inclusive=False), by_partition=True),
    Setting("earthquakes", "accept", minutes(60, 60)),
    Setting("earthquakes", "drop", minutes(360, 720), layout="keyed"),
    Setting("earthquakes", "adjust", minutes(180, 60, "right"), batches=6),
    Setting("earthquakes", "drop and accept", minutes(360, 60), lateness=3600, batches=6),
    Setting("earthquakes", "drop and accept", session(3600, inclusive=True, late_start="reject")),
    Setting("flights", "accept", minutes(60, 30), by_partition=True),
    Setting("flights", "adjust", minutes(60, 60), layout="keyed", batches=5),
    Setting("flights", "drop", minutes(30, 60, "right"), by_partition=True),
    Setting("flights", "adjust and accept", minutes(60, 60), lateness=900),
]

# Key and bounds of a window.
Window = tuple[str, tuple[int, int]]
# The number of the rows of a window, the sum of their numbers, and the sum of the squares.
Content = tuple[int, int, int]
# The reason why a row is in no window, and the windows that it missed.
Left = tuple[str, tuple[tuple[int, int], ...]]


def bounds_of(window: Column) -> Column:
    return F.array(F.unix_micros(window["start"]), F.unix_micros(window["end"]))


def windowed(setting: Setting, policy: stamping.TimePolicy) -> Callable[[DataFrame], DataFrame]:
    time = policy_of(policy, "partitions" if setting.by_partition else "all rows")

    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(timed(rows), time=time, order="n").key_by("key")
        chosen = stream.window(setting.case.ours).options(layout=setting.layout)
        chosen = chosen.with_late_rows(partly=True).with_dead_letters()
        if setting.lateness:
            late = chosen.allowed_lateness(seconds(setting.lateness))
            chosen = late.trigger(transom.AfterLateness())
        number = F.col("n").cast("long")
        tagged = chosen.agg(
            F.count("*").alias("rows"),
            F.sum(number).alias("sum"),
            F.sum(number * number).alias("squares"),
        )
        missed = F.transform("late.missed_windows", bounds_of)
        row = F.coalesce("late.row", "dead_letters.row")
        return tagged.select(
            "results.key",
            bounds_of(F.col("results.window")).alias("bounds"),
            F.array("results.rows", "results.sum", "results.squares").alias("content"),
            row["n"].alias("n"),
            F.coalesce("late.reason", "dead_letters.reason").alias("reason"),
            F.coalesce(missed, F.array()).alias("missed"),
        )

    return pipeline


def expected(
    setting: Setting, events: Sequence[Event], policy: stamping.TimePolicy
) -> tuple[dict[Window, Content], dict[int, Left]]:
    """The windows that fire, and the rows that are late or that a rule drops."""
    stamped = stamping.stamps(
        [
            stamping.Row(
                event.at,
                event.known,
                partition=event.source if setting.by_partition else "",
                key=event.key,
            )
            for event in events
        ],
        policy,
    )
    results, placed = windows.windows(stamped, setting.case.model, setting.lateness * SECOND)
    fired = {
        (str(result.key), result.bounds): (
            len(result.rows),
            sum(result.rows),
            sum(n * n for n in result.rows),
        )
        for result in results
        if result.cause == "watermark"
    }
    left: dict[int, Left] = {}
    for n, (stamp, place) in enumerate(zip(stamped, placed, strict=True)):
        if stamp.reason:
            left[n] = (stamp.reason, ())
        elif place.missed:
            late = "late" if isinstance(setting.case.model, windows.Grid) else "late_session"
            left[n] = ("late_partly" if place.taken else late, place.missed)
    return fired, left


def usual_reasons(setting: Setting, policy: stamping.TimePolicy) -> set[str]:
    """The reasons of rules that drop rows. Without a rule for disorder, rows may be late."""
    bounds = {
        "early": policy.early,
        "late_arrival": policy.late,
        "out_of_order": policy.out_of_order,
    }
    dropped = {reason for reason, bound in bounds.items() if bound and bound.action == "drop"}
    if policy.out_of_order.action != "accept":
        return dropped
    return {*dropped, "late" if isinstance(setting.case.model, windows.Grid) else "late_session"}


def left_of(row: Row) -> Left:
    return row["reason"], tuple((start, end) for start, end in row["missed"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("setting", WINDOWED, ids=repr)
def test_windows_late_rows_and_dead_letters_are_those_of_the_model(
    spark: SparkSession, setting: Setting
) -> None:
    events, policy = EVENTS[setting.data](), POLICIES[setting.data][setting.name]
    batches = in_batches(events, setting.batches)
    outcome = run_stream(spark, windowed(setting, policy), SCHEMA, batches)
    fired, left = expected(setting, events, policy)
    ours = {
        (row["key"], tuple(row["bounds"])): tuple(row["content"])
        for row in outcome.results
        if row["n"] is None
    }
    assert ours == fired
    theirs = {row["n"]: left_of(row) for row in outcome.results if row["n"] is not None}
    assert {n: found for n, found in theirs.items() if found != left.get(n)} == {}
    assert len(theirs) == len(left)
    assert len(outcome.results) == len(fired) + len(left)
    assert len(fired) > many(events)
    reasons = Counter(reason for reason, _ in left.values())
    assert set(reasons) - {"late_partly"} == usual_reasons(setting, policy)
    assert all(count > many(events) for count in reasons.values())
