"""Values and builders print as the calls that make them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

import transom
from tests.python.unbound import Rows
from tests.python.values import test_lifetimes, test_time_policies, test_triggers, test_windows

DF = Rows(StructType([StructField("at", TimestampType()), StructField("k", StringType())]))
VALUES: list[Any] = [
    *test_windows.WINDOWS,
    *test_triggers.TRIGGERS,
    *test_triggers.EVICTORS,
    *test_lifetimes.VALUES,
    *test_time_policies.VALUES,
    transom.Windows({"hour": transom.Tumbling("1 hour"), "session": transom.Session("5 minutes")}),
    transom.Windows([transom.Tumbling("1 hour")]),
    transom.EventTime("at", delay="90 seconds"),
    transom.ProcessingTime(),
]
BY_TIME = transom.stream(DF, time=transom.EventTime("at", delay="1 minute"))
POLICY = transom.TimePolicy("at", out_of_order=transom.Drop("1 minute"))
BUILDERS: list[Any] = [
    transom.stream(DF),
    transom.stream(DF, time="at", lifetime=transom.Lifetime(duration="1 hour")),
    transom.stream(DF, time="at", order=["at", "k"]).key_by("k", "at"),
    BY_TIME.key_by("k").window(transom.Tumbling("1 hour")),
    BY_TIME.window_all(transom.Hopping("1 hour", "5 minutes"))
    .trigger(transom.AfterWatermark(early=transom.AfterCount(10)))
    .allowed_lateness("90 minutes")
    .retract()
    .with_pane()
    .drain(),
    BY_TIME.window(transom.Global())
    .trigger(transom.EndOfStream())
    .evictor(transom.KeepLast(5))
    .with_late_rows(partly=True)
    .with_dead_letters()
    .options(name="all", tick="60 seconds"),
    BY_TIME.window(transom.Tumbling("1 hour")).changes_only().with_late_rows(),
    transom.stream(DF, time=POLICY)
    .window(transom.Tumbling("1 hour"))
    .idle_timeout("30 seconds", rule="last_row")
    .first_output(datetime(2013, 1, 1))
    .output_policy("clip_to_window_end")
    .with_watermarks(),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_can_be_pasted_back(value: Any) -> None:
    text = repr(value)
    if "<function" in text:
        text = text.replace(repr(value.delta), "difference")
    assert eval(text, {**vars(transom), "difference": test_triggers.difference}) == value


@pytest.mark.parametrize("builder", BUILDERS, ids=repr)
def test_a_builder_shows_the_whole_query(builder: Any) -> None:
    import datetime as module

    text = repr(builder)
    pasted = eval(text, {**vars(transom), "df": DF, "datetime": module})
    assert repr(pasted) == text
    if isinstance(builder, transom.Windowed):
        assert pasted._spec == builder._spec


def test_a_query_reads_as_it_was_written() -> None:
    hours = BY_TIME.key_by("k").window(transom.Tumbling("60 minutes")).allowed_lateness("1 day")
    assert repr(hours) == (
        "stream(df, time=EventTime(time='at', delay='1 minute')).key_by('k')"
        ".window(Tumbling(size='60 minutes')).allowed_lateness('1 day')"
    )


def test_defaults_are_left_out_and_lengths_are_as_the_user_wrote_them() -> None:
    assert repr(transom.AfterWatermark()) == "AfterWatermark()"
    assert repr(transom.AfterWatermark(late=None)) == "AfterWatermark(late=None)"
    assert repr(transom.Tumbling("3600 seconds")) == "Tumbling(size='3600 seconds')"
    assert repr(transom.Tumbling(timedelta(minutes=90))) == "Tumbling(size='1 hour 30 minutes')"
    assert repr(transom.Session("1 hour", inclusive=False)) == (
        "Session(gap='1 hour', inclusive=False)"
    )
