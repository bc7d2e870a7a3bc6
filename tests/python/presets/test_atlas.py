"""The preset of Atlas Stream Processing."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import transom
from tests.python.conditions import raises
from tests.python.unbound import Rows
from transom import atlas
from transom.spec.message import encode

PLACE = StructType([StructField("city", StringType()), StructField("street", StringType())])
ROWS = Rows(
    StructType(
        [
            StructField("sensor", StringType()),
            StructField("place", PLACE),
            StructField("owner", StructType([StructField("id", LongType())])),
            StructField("at", TimestampType()),
            StructField("known", TimestampType()),
            StructField("partition", LongType()),
        ]
    )
)
MINUTE = {"size": 1, "unit": "minute"}
STREAM = atlas.stream(ROWS, timeField="at", arrival="known")


def our_stream(**settings: Any) -> transom.Stream:
    return transom.stream(ROWS, time=transom.TimePolicy("at", arrival="known", **settings))


def assert_same(preset: transom.Windowed, ours: transom.Windowed) -> None:
    """The two queries have the same spec, and send the same message."""
    assert preset._spec == ours._spec
    assert encode(preset._spec) == encode(ours._spec)


@pytest.mark.parametrize(
    ("preset", "ours"),
    [
        ({}, transom.TimePolicy(None)),
        ({"arrival": "known"}, transom.TimePolicy(None, arrival="known")),
        ({"timeField": "at"}, transom.TimePolicy("at")),
        (
            {"timeField": "at", "arrival": "known", "partition": "partition"},
            transom.TimePolicy("at", arrival="known", partition="partition"),
        ),
        (
            {"partition": "partition", "partitionIdleTimeout": {"size": 30, "unit": "second"}},
            transom.TimePolicy(None, partition="partition", idle_partition="30 seconds"),
        ),
    ],
)
def test_a_source_is_a_time_policy(preset: dict[str, Any], ours: transom.TimePolicy) -> None:
    assert atlas.stream(ROWS, **preset)._time == ours


def test_a_window_waits_three_seconds_for_late_rows_and_fires_once() -> None:
    assert_same(
        atlas.tumblingWindow(STREAM.key_by("sensor"), interval={"size": 3, "unit": "minute"}),
        our_stream()
        .key_by("sensor")
        .window(transom.Tumbling(size="3 minutes"))
        .allowed_lateness("3 seconds")
        .trigger(transom.AfterLateness()),
    )


@pytest.mark.parametrize("none", [0, {"size": 0, "unit": "minute"}])
def test_a_lateness_of_zero_is_not_the_default(none: Any) -> None:
    assert_same(
        atlas.tumblingWindow(STREAM, interval=MINUTE, allowedLateness=none),
        our_stream()
        .window(transom.Tumbling(size="1 minute"))
        .allowed_lateness("0 seconds")
        .trigger(transom.AfterLateness()),
    )


def test_all_fields_of_a_hopping_window_have_a_counterpart() -> None:
    assert_same(
        atlas.hoppingWindow(
            STREAM,
            interval={"size": 1, "unit": "day"},
            hopSize={"size": 12, "unit": "hour"},
            offset={"offsetFromUtc": 8, "unit": "hour"},
            idleTimeout=MINUTE,
            allowedLateness={"size": 500, "unit": "ms"},
        ),
        our_stream()
        .window(transom.Hopping(size="1 day", slide="12 hours", offset="8 hours"))
        .allowed_lateness("500 milliseconds")
        .trigger(transom.AfterLateness())
        .idle_timeout("1 minute", rule="after_window_end"),
    )


def test_an_idle_timeout_of_zero_closes_a_window_with_the_first_tick() -> None:
    windows = atlas.tumblingWindow(STREAM, interval=MINUTE, idleTimeout=0)
    assert windows._spec.idle_timeout is not None
    assert windows._spec.idle_timeout.after == timedelta(microseconds=1)


def test_an_offset_of_a_whole_interval_or_more_moves_windows_by_its_remainder() -> None:
    offset = {"offsetFromUtc": 90, "unit": "second"}
    for windows in (
        atlas.tumblingWindow(STREAM, interval=MINUTE, offset=offset),
        atlas.hoppingWindow(
            STREAM, interval={"size": 1, "unit": "hour"}, hopSize=MINUTE, offset=offset
        ),
    ):
        assert isinstance(windows._spec.window, transom.Tumbling | transom.Hopping)
        assert windows._spec.window.offset == timedelta(seconds=30)


def test_sessions_are_strict_and_no_row_before_the_watermark_opens_one() -> None:
    assert_same(
        atlas.sessionWindow(STREAM, partitionBy="sensor", gap=MINUTE),
        our_stream()
        .key_by("sensor")
        .window(transom.Session(gap="1 minute", inclusive=False, late_start="reject"))
        .allowed_lateness("3 seconds")
        .trigger(transom.AfterLateness()),
    )


def test_in_processing_time_the_wall_clock_closes_windows() -> None:
    by_clock = transom.stream(ROWS, time=transom.ProcessingTime())
    assert_same(
        atlas.tumblingWindow(STREAM, interval=MINUTE, boundary="processingTime"),
        by_clock.window(transom.Tumbling(size="1 minute")),
    )
    assert_same(
        atlas.tumblingWindow(STREAM.key_by("sensor"), interval=MINUTE, boundary="processingTime"),
        by_clock.key_by("sensor").window(transom.Tumbling(size="1 minute")),
    )
    assert_same(
        atlas.sessionWindow(STREAM, partitionBy="sensor", gap=MINUTE, boundary="processingTime"),
        by_clock.key_by("sensor").window(
            transom.Session(gap="1 minute", inclusive=False, late_start="reject")
        ),
    )


@pytest.mark.parametrize("setting", ["idleTimeout", "allowedLateness"])
@pytest.mark.parametrize("length", [0, MINUTE])
def test_processing_time_excludes_idle_timeout_and_lateness(setting: str, length: Any) -> None:
    with raises("PRESET_LIMIT", setting, PySparkValueError) as caught:
        atlas.tumblingWindow(
            STREAM, interval=MINUTE, boundary="processingTime", **{setting: length}
        )
    text = str(caught.value)
    assert "which Atlas Stream Processing does not allow" in text
    assert text.endswith(f"Remove {setting}, or use boundary='eventTime'.")


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        ("idleTimeout", "sessionWindow(...).idle_timeout('1 minute')"),
        ("offset", "sessionWindow(...) without it"),
    ],
)
def test_sessions_have_no_idle_timeout_and_no_offset(setting: str, instead: str) -> None:
    sessions: Any = atlas.sessionWindow
    with raises("PRESET_LIMIT", setting, PySparkValueError) as caught:
        sessions(STREAM, partitionBy="sensor", gap=MINUTE, **{setting: MINUTE})
    text = str(caught.value)
    assert f"{setting} is {MINUTE}, which Atlas Stream Processing does not allow" in text
    assert text.endswith(f"Write {instead}.")


def test_a_session_is_partitioned_by_one_value() -> None:
    with raises("PRESET_LIMIT", "partitionBy", PySparkValueError):
        atlas.sessionWindow(STREAM, partitionBy="place", gap=MINUTE)
    atlas.sessionWindow(STREAM, partitionBy="owner", gap=MINUTE)
    with raises("BAD_TYPE", "partitionBy", PySparkTypeError):
        atlas.sessionWindow(STREAM, partitionBy=["sensor"], gap=MINUTE)  # type: ignore[arg-type]
    with raises("SET_TWICE", "key_by", PySparkValueError):
        atlas.sessionWindow(STREAM.key_by("sensor"), partitionBy="sensor", gap=MINUTE)


@pytest.mark.parametrize(
    ("settings", "condition", "argument"),
    [
        ({"interval": "1 minute"}, "BAD_TYPE", "interval"),
        ({"interval": 0}, "BAD_TYPE", "interval"),
        ({"interval": {"size": 1}}, "BAD_TYPE", "interval"),
        ({"interval": {**MINUTE, "offsetFromUtc": 1}}, "BAD_TYPE", "interval"),
        ({"interval": {"size": 0, "unit": "day"}}, "NOT_POSITIVE", "interval.size"),
        ({"interval": {"size": 1.5, "unit": "day"}}, "BAD_TYPE", "interval.size"),
        ({"interval": {"size": 1, "unit": "week"}}, "BAD_CHOICE", "interval.unit"),
        ({"interval": {"size": 1, "unit": 1}}, "BAD_TYPE", "interval.unit"),
        ({"offset": {"offsetFromUtc": 0, "unit": "hour"}}, "NOT_POSITIVE", "offset.offsetFromUtc"),
        ({"offset": {"offsetFromUtc": 1, "unit": "day"}}, "BAD_CHOICE", "offset.unit"),
        ({"offset": MINUTE}, "BAD_TYPE", "offset"),
        ({"boundary": "arrival"}, "BAD_CHOICE", "boundary"),
        ({"idleTimeout": {"size": -1, "unit": "ms"}}, "NEGATIVE", "idleTimeout.size"),
        ({"allowedLateness": {"size": -1, "unit": "ms"}}, "NEGATIVE", "allowedLateness.size"),
        ({"allowedLateness": 3}, "BAD_TYPE", "allowedLateness"),
        ({"allowedLateness": False}, "BAD_TYPE", "allowedLateness"),
        ({"stream": "documents"}, "BAD_TYPE", "stream"),
    ],
)
def test_a_wrong_field_is_named(settings: dict[str, Any], condition: str, argument: str) -> None:
    with raises(condition, argument):
        atlas.tumblingWindow(**{"stream": STREAM, "interval": MINUTE, **settings})


def test_a_partition_is_idle_after_a_positive_time_and_needs_a_name() -> None:
    with raises("BAD_CHOICE", "partitionIdleTimeout"):
        atlas.stream(ROWS, partitionIdleTimeout=MINUTE)
    with raises("BAD_TYPE", "partitionIdleTimeout"):
        atlas.stream(ROWS, partition="partition", partitionIdleTimeout=0)
    with raises("NOT_POSITIVE", "partitionIdleTimeout.size"):
        atlas.stream(
            ROWS, partition="partition", partitionIdleTimeout={"size": 0, "unit": "second"}
        )


def test_only_a_dataframe_has_metadata() -> None:
    with raises("BAD_TYPE", "results", PySparkTypeError):
        atlas.stream_meta([])  # type: ignore[arg-type]
    with raises("UNKNOWN_COLUMN", "results", PySparkValueError):
        atlas.stream_meta(ROWS)
