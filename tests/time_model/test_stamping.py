"""Rules of time policies that no vector shows. The expected values are worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.time_model.stamping import (
    Bound,
    Event,
    Row,
    Stamp,
    Tick,
    TimePolicy,
    merged_order,
    stamps,
)


def overall(stamped: list[Stamp]) -> list[int | None]:
    return [stamp.after.overall for stamp in stamped]


def test_a_batch_is_merged_by_the_largest_arrival_so_far_then_by_partition() -> None:
    first = [Row(1, 20, "b"), Row(2, 10, "a"), Row(3, 5, "a"), Row(4, 20, "a"), Row(5, 8, "c")]
    # Partition "a" has reached 20, so its row that arrived at 3 comes after the row of "c" at 9.
    second = [Row(6, 3, "a"), Row(7, 9, "c")]
    order = merged_order([first, Tick(30), second])
    times = [event.time if isinstance(event, Row) else None for event in order]
    assert times == [5, 2, 3, 4, 1, None, 7, 6]


def test_a_declared_partition_holds_the_watermark_back_until_its_first_row() -> None:
    rows = [Row(10, 10, "a"), Row(7, 11, "b"), Row(12, 12, "b")]
    assert overall(stamps(rows, TimePolicy(partitions=("a", "b")))) == [None, 7, 10]


def test_a_partition_that_is_not_declared_joins_with_its_first_row_and_takes_nothing_back() -> None:
    rows = [Row(10, 10, "a"), Row(7, 11, "b"), Row(20, 12, "a"), Row(12, 12, "b")]
    stamped = stamps(rows, TimePolicy())
    assert overall(stamped) == [10, 10, 10, 12]
    assert [stamp.met for stamp in stamped] == [None, None, 10, 7]
    assert [stamp.met_merged for stamp in stamped] == [None, 10, 10, 10]


def test_a_partition_that_is_silent_for_the_limit_leaves_the_minimum_until_its_next_row() -> None:
    silent: list[Event] = [Row(10, 10, "a"), Row(5, 10, "b"), Tick(10), Tick(19)]
    idle: list[Event] = [Row(30, 19, "a"), Tick(20)]
    back: list[Event] = [Row(6, 21, "b"), Row(40, 22, "a"), Row(35, 23, "b")]
    marks = overall(stamps([*silent, *idle, *back], TimePolicy(idle_partition=10)))
    assert marks == [10, 10, 10, 10, 10, 30, 30, 30, 35]


def test_the_watermark_moves_each_so_many_accepted_rows() -> None:
    rows = [Row(10, 10), Row(99, 11), Row(20, 20), Row(15, 21), Row(30, 30)]
    policy = TimePolicy(early=Bound("drop", 5), rows=2)
    assert overall(stamps(rows, policy)) == [None, None, 20, 20, 30]


def test_the_watermark_moves_when_it_can_move_by_so_much_time() -> None:
    rows = [Row(time, 0) for time in (10, 17, 19, 20, 29, 30)]
    policy = TimePolicy(out_of_order=Bound("accept", 2), every=10)
    assert overall(stamps(rows, policy)) == [8, 8, 8, 18, 18, 28]


def test_a_dropped_row_moves_the_floor_and_no_other_watermark() -> None:
    rows = [
        Row(100, 100, substream="x"),
        Row(99, 110, substream="y"),
        Row(500, 120, substream="y"),
        Row(130, 121, substream="x"),
        Row(120, 125, substream="x"),
    ]
    policy = TimePolicy(
        out_of_order=Bound("drop", 0),
        early=Bound("drop", 50),
        late=Bound("drop", 10),
        by_substream=True,
        floor="arrival",
    )
    stamped = stamps(rows, policy)
    reasons = [None, "late_arrival", "early", None, "out_of_order"]
    assert [stamp.reason for stamp in stamped] == reasons
    assert [stamp.after.own.get(("", "x")) for stamp in stamped] == [100, 100, 110, 130, 130]
    assert [stamp.after.own[("", None)] for stamp in stamped] == [90, 100, 110, 111, 115]
    assert ("", "y") not in stamped[-1].after.own


def test_an_early_row_that_is_adjusted_moves_the_watermark_by_its_time_in_force() -> None:
    stamped = stamps([Row(500, 100)], TimePolicy(early=Bound("adjust", 50)))
    assert (stamped[0].time, stamped[0].rules, overall(stamped)) == (150, ("early",), [150])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Row(None, 50, substream="x"), "no_time"),
        (Row(50, 50, substream=None), "no_substream"),
        (Row(50, 50, substream="x", failure="key_failed"), "key_failed"),
    ],
)
def test_a_row_without_its_columns_is_dropped_before_the_rules(row: Row, reason: str) -> None:
    stamped = stamps([Row(10, 10, substream="x"), row], TimePolicy(by_substream=True))
    assert (stamped[1].disposition, stamped[1].reason, stamped[1].rules) == ("dropped", reason, ())
    assert overall(stamped) == [10, 10]


def test_the_estimated_arrival_is_the_last_arrival_and_the_time_since() -> None:
    policy = TimePolicy(late=Bound("adjust", 5), partitions=("a", "b"), floor="estimate")
    # Partition "a" got its row 10 after it arrived, so at 130 it has seen arrivals up to 120.
    stamped = stamps([Tick(100), Row(90, 90, "a"), Tick(130)], policy)
    assert [stamp.after.own[("a", None)] for stamp in stamped] == [95, 95, 115]
    assert [stamp.after.own[("b", None)] for stamp in stamped] == [95, 95, 125]
    assert overall(stamped) == [95, 95, 115]


# The time of a case depends on other work of the machine.
in_any_time = settings(deadline=None, derandomize=True, database=None)


@st.composite
def streams(draw: st.DrawFn) -> list[Row]:
    """Rows in the order of their arrival, as a source delivers them."""
    rows: list[Row] = []
    arrival = 100
    for _ in range(draw(st.integers(1, 25))):
        arrival += draw(st.integers(0, 6))
        time = arrival + draw(st.integers(-25, 12))
        rows.append(Row(time, arrival, draw(st.sampled_from("ab")), draw(st.sampled_from("xy"))))
    return rows


actions = st.sampled_from(["drop", "adjust"])
policies = st.builds(
    TimePolicy,
    out_of_order=st.builds(Bound, actions, st.integers(0, 8)),
    early=st.none() | st.builds(Bound, actions, st.integers(0, 8)),
    late=st.builds(Bound, actions, st.integers(0, 12)),
    rows=st.integers(1, 3),
    by_substream=st.booleans(),
    partitions=st.just(("a", "b")),
    floor=st.just("arrival"),
)


@in_any_time
@given(streams(), policies)
def test_a_floor_changes_no_time_and_no_rule(rows: list[Row], policy: TimePolicy) -> None:
    # A row that is not too late for its arrival is at or after the floor.
    without = stamps(rows, replace(policy, floor="none"))
    stamped = stamps(rows, policy)
    assert [(s.time, s.rules) for s in stamped] == [(s.time, s.rules) for s in without]


@in_any_time
@given(streams(), policies)
def test_no_row_is_in_force_before_the_watermark_it_met(
    rows: list[Row], policy: TimePolicy
) -> None:
    # Windows behind a policy that drops or adjusts see no late row.
    for stamp in stamps(rows, policy):
        assert stamp.time is None or stamp.met is None or stamp.time >= stamp.met


@in_any_time
@given(streams(), policies)
def test_no_row_of_a_declared_partition_met_a_merged_watermark_ahead_of_its_own(
    rows: list[Row], policy: TimePolicy
) -> None:
    for stamp in stamps(rows, replace(policy, by_substream=False)):
        assert stamp.met_merged is None or (stamp.met is not None and stamp.met >= stamp.met_merged)


@in_any_time
@given(streams(), st.integers(0, 25))
def test_batches_that_are_prefixes_of_the_merged_order_merge_alike(
    rows: list[Row], cut: int
) -> None:
    whole: list[Event] = merged_order([rows])
    ordered = [event for event in whole if isinstance(event, Row)]
    assert merged_order([ordered[:cut], ordered[cut:]]) == whole
