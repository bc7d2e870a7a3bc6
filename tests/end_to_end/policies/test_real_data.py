"""Real events out of order: each row has the stamp of the reference model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Literal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.policies import policy_of
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
from tests.time_model import stamping

# The time in force, the watermark, the rules and the disposition of a row.
Stamp = tuple[int | None, int | None, tuple[str, ...], str]
# The rows on which the watermark of a row depends.
Source = Literal["all", "partition", "over"]

STAMPED: list[tuple[str, str, Source]] = [
    *((data, name, "all") for data, policies in POLICIES.items() for name in policies),
    ("earthquakes", "adjust", "partition"),
    ("earthquakes", "drop", "over"),
    ("flights", "drop", "partition"),
    ("flights", "adjust", "over"),
]


def source_of(event: Event, source: Source) -> Hashable:
    return {"all": None, "partition": event.source, "over": event.key}[source]


def expected_stamps(
    events: Sequence[Event], policy: stamping.TimePolicy, source: Source
) -> dict[int, Stamp]:
    """The stamps of the model. The rows of one source do not affect those of another."""
    found: dict[int, Stamp] = {}
    for one in {source_of(event, source) for event in events}:
        own = [event for event in events if source_of(event, source) == one]
        rows = [stamping.Row(event.at, event.known) for event in own]
        for event, stamp in zip(own, stamping.stamps(rows, policy), strict=True):
            met, rules = stamp.met, stamp.rules
            if source == "over" and policy.late:
                # A row of a substream meets the floor that its own arrival sets.
                floor = event.known - policy.late.beyond
                met = floor if met is None else max(met, floor)
            # The model lists only rules that change a row.
            if policy.out_of_order.action == "accept" and None not in (stamp.time, met):
                rules += ("out_of_order",) * (stamp.time < met)  # type: ignore[operator]
            found[event.n] = (stamp.time, met, rules, stamp.disposition)
    return found


def assert_each_rule_concerns_many(
    events: Sequence[Event], policy: stamping.TimePolicy, stamps: dict[int, Stamp]
) -> None:
    rules = Counter(rule for stamp in stamps.values() for rule in stamp[2])
    dispositions = Counter(stamp[3] for stamp in stamps.values())
    bounds = {
        "early": policy.early,
        "late_arrival": policy.late,
        "out_of_order": policy.out_of_order,
    }
    dropped = {"accept": "accepted", "drop": "dropped", "adjust": "adjusted"}
    for name, bound in bounds.items():
        if bound:
            assert rules[name] > many(events)
            assert dispositions[dropped[bound.action]] > many(events)
        else:
            assert rules[name] == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("data", "name", "source"), STAMPED)
def test_each_row_has_the_stamp_of_the_model(
    spark: SparkSession, data: str, name: str, source: Source
) -> None:
    events, policy = EVENTS[data](), POLICIES[data][name]
    ours = policy_of(policy, "partitions" if source == "partition" else "all rows")
    if source == "over":
        ours = replace(ours, over=["key"])

    def stamped(rows: DataFrame) -> DataFrame:
        stamps = transom.stream(timed(rows), time=ours, order="n").stamped()
        return stamps.select(
            "n",
            F.unix_micros("stamp.time"),
            F.unix_micros("stamp.watermark"),
            "stamp.rules",
            "stamp.disposition",
        )

    outcome = run_stream(spark, stamped, SCHEMA, in_batches(events, 4))
    got = {
        n: (time, watermark, tuple(rules), disposition)
        for n, time, watermark, rules, disposition in outcome.results
    }
    expected = expected_stamps(events, policy, source)
    assert_each_rule_concerns_many(events, policy, expected)
    assert {n: stamp for n, stamp in got.items() if stamp != expected[n]} == {}
    assert len(outcome.results) == len(got) == len(expected)
