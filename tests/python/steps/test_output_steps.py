"""The steps for the lifetimes, the repeats and the watermarks of results."""

from typing import Any

import pytest
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

import transom
from tests.python.conditions import raises
from tests.python.unbound import NUMBER, windowed
from transom.spec import Apply

AT = transom.EventTime("at")
POLICIES = ["point_align_to_window_end", "clip_to_window_end"]
BY_POLICY = transom.TimePolicy("at")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("window", [transom.Global(), transom.Count(size=3)], ids=repr)
def test_results_without_bounds_have_no_lifetimes(window: transom.Window, policy: Any) -> None:
    with raises("UNBOUNDED_WINDOW", "output_policy"):
        windowed(window).output_policy(policy)


def test_snapshots_last_as_long_as_their_windows() -> None:
    snapshots = windowed(transom.Snapshot(), time=AT)
    with raises("CONFLICT", "output_policy"):
        snapshots.output_policy("point_align_to_window_end")
    assert snapshots.output_policy("clip_to_window_end")._spec.own_columns == ("window", "lifetime")


def test_unknown_policies_and_steps_that_are_set_twice() -> None:
    hours = windowed(transom.Tumbling(size="1 hour"), time=BY_POLICY)
    with raises("BAD_CHOICE", "policy"):
        hours.output_policy("window")  # type: ignore[arg-type]
    with raises("SET_TWICE"):
        hours.output_policy("clip_to_window_end").output_policy("clip_to_window_end")
    with raises("SET_TWICE"):
        hours.with_watermarks().with_watermarks()


def test_watermarks_of_results_need_a_time_policy() -> None:
    with raises("NEEDS_TIME_POLICY", "with_watermarks"):
        windowed(transom.Tumbling(size="1 hour"), time=AT).with_watermarks()
    by_key = transom.TimePolicy("at", over=["key"])
    with raises("CONFLICT", "with_watermarks"):
        windowed(transom.Tumbling(size="1 hour"), time=by_key, keys=("key",)).with_watermarks()


def test_watermarks_of_windows_whose_start_is_unknown() -> None:
    snapshots = windowed(transom.Snapshot(), time=BY_POLICY)
    with raises("CONFLICT", "with_watermarks"):
        snapshots.output_policy("clip_to_window_end").with_watermarks()
    assert snapshots.with_watermarks()._spec.side_output_tags == ("watermarks",)


def test_only_windows_after_one_another_can_repeat_a_result() -> None:
    others = [transom.Session(gap="1 hour"), transom.Custom(windows="w")]
    for window in others:
        with raises("CONFLICT", "changes_only"):
            windowed(window, time=AT).changes_only()
    hours = windowed(transom.Tumbling(size="1 hour"), time=AT).changes_only()
    with raises("CONFLICT", "trigger"):
        hours.trigger(transom.EveryBatch())
    with raises("SET_TWICE"):
        hours.changes_only()
    with raises("NOT_EVENT_TIME"):
        windowed(transom.Tumbling(size="1 hour"), time=transom.ProcessingTime()).changes_only()
    with raises("CONFLICT", "changes_only"):
        windowed(
            transom.Tumbling(size="1 hour"), time=AT, function=Apply(NUMBER, "arrow")
        ).changes_only()


def test_lifetimes_that_a_function_returns_have_one_name_and_type() -> None:
    hours = windowed(transom.Tumbling(size="1 hour"), time=AT)
    times = [StructField(name, TimestampType()) for name in ("start", "end")]
    with raises("RESERVED_NAME", "schema"):
        hours.apply(lambda rows: rows, StructType([StructField("Lifetime", StructType(times))]))
    for kind in (LongType(), StructType(times[::-1]), StructType(times[:1])):
        with raises("BAD_SCHEMA", "schema"):
            hours.apply(lambda rows: rows, StructType([StructField("lifetime", kind)]))
