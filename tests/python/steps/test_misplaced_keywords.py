"""Keywords of other libraries and other places: the error says what to write instead."""

from collections.abc import Callable

import pytest
from pyspark.errors import PySparkTypeError

import transom
from tests.python.conditions import raises
from tests.python.steps.test_misplaced import DF, WINDOWED


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (
            lambda: transom.stream(DF, time="at", delay="1 minute"),  # type: ignore[call-arg]
            "delay",
            "stream(df, time=transom.EventTime(..., delay='1 minute'))",
        ),
        (
            lambda: WINDOWED.trigger(processingTime="1 second"),
            "processingTime",
            "df.writeStream.trigger(processingTime='1 second') after agg()",
        ),
        (
            lambda: WINDOWED.trigger(availableNow=True),
            "availableNow",
            "df.writeStream.trigger(availableNow=True) after agg()",
        ),
        (
            lambda: WINDOWED.options(checkpointLocation="/tmp/c"),
            "checkpointLocation",
            "df.writeStream.option('checkpointLocation', '/tmp/c') after agg()",
        ),
        (
            lambda: transom.Cumulate(step="1 hour", max_size="1 day"),  # type: ignore[call-arg]
            "max_size",
            "Cumulate('1 day', '1 hour')",
        ),
        (
            lambda: transom.Tumbling("at", "1 hour"),  # type: ignore[call-arg]
            "timeColumn",
            "stream(df, time='at')",
        ),
        (
            lambda: transom.Hopping("at", "1 hour", "1 minute"),  # type: ignore[call-arg]
            "timeColumn",
            "stream(df, time='at')",
        ),
        (
            lambda: transom.Session(timeColumn="at", gap="1 hour"),  # type: ignore[call-arg]
            "timeColumn",
            "stream(df, time='at')",
        ),
        (
            lambda: transom.Tumbling("1 hour", time="at"),  # type: ignore[call-arg]
            "time",
            "stream(df, time='at')",
        ),
        (
            lambda: transom.Tumbling(windowDuration="1 hour"),  # type: ignore[call-arg]
            "windowDuration",
            "Tumbling('1 hour')",
        ),
        (
            lambda: transom.Hopping("1 hour", slideDuration="1 minute"),  # type: ignore[call-arg]
            "slideDuration",
            "Hopping('1 hour', '5 minutes')",
        ),
        (
            lambda: transom.Tumbling("1 hour", startTime="1 minute"),  # type: ignore[call-arg]
            "startTime",
            "Tumbling('1 hour', offset='15 minutes')",
        ),
        (
            lambda: transom.Session(gapDuration="1 hour"),  # type: ignore[call-arg]
            "gapDuration",
            "Session('5 minutes')",
        ),
        (
            lambda: transom.Session(timeout="1 hour"),  # type: ignore[call-arg]
            "timeout",
            "Session('5 minutes')",
        ),
        (
            lambda: transom.Tumbling("1 hour", slide="1 minute"),  # type: ignore[call-arg]
            "slide",
            "Hopping('1 hour', '5 minutes')",
        ),
        (
            lambda: transom.Hopping("1 hour", "1 minute", startTime="1 second"),  # type: ignore[call-arg]
            "startTime",
            "Hopping('1 hour', '5 minutes', offset='1 minute')",
        ),
        (
            lambda: transom.stream(DF, time="at", watermark="1 minute"),  # type: ignore[call-arg]
            "watermark",
            "stream(df, time=transom.EventTime(..., delay='1 minute'))",
        ),
        (
            lambda: transom.EventTime("at", delayThreshold="1 minute"),  # type: ignore[call-arg]
            "delayThreshold",
            "EventTime(..., delay='1 minute')",
        ),
        (
            lambda: transom.TimePolicy("at", delay="1 minute"),  # type: ignore[call-arg]
            "delay",
            "TimePolicy(..., out_of_order='1 minute')",
        ),
        (
            lambda: transom.stream(DF, timestamp="at"),  # type: ignore[call-arg]
            "timestamp",
            "stream(df, time='at')",
        ),
        (
            lambda: transom.stream(DF, time="at", key="k"),  # type: ignore[call-arg]
            "key",
            "stream(...).key_by('k')",
        ),
        (
            lambda: WINDOWED.top(1, order_by="k"),
            "order_by",
            "top(3, F.desc(...))",
        ),
        (
            lambda: WINDOWED.top(1, "k", ascending=False),
            "ascending",
            "top(3, F.desc(...), F.asc(...))",
        ),
        (
            lambda: transom.Cumulate("1 day", slide="1 hour"),  # type: ignore[call-arg]
            "slide",
            "Cumulate('1 day', '1 hour')",
        ),
        (
            lambda: transom.Rolling("1 day", sizes="1 hour"),  # type: ignore[call-arg]
            "sizes",
            "a call such as Rolling('1 minute')",
        ),
        (
            lambda: transom.Tumbling("1 day", timezone="Europe/Rome"),  # type: ignore[call-arg]
            "timezone",
            "time_zone='Europe/Rome'",
        ),
        (
            lambda: transom.TimePolicy("at", lateness="1 minute"),  # type: ignore[call-arg]
            "lateness",
            "window(...).allowed_lateness('15 minutes')",
        ),
    ],
)
def test_an_argument_of_another_place_or_library_is_explained(
    mistake: Callable[[], object], argument: str, instead: str
) -> None:
    with raises("MISPLACED", argument, PySparkTypeError) as caught:
        mistake()
    assert str(caught.value).endswith(f" Write {instead}.")


@pytest.mark.parametrize(
    ("mistake", "argument", "arguments"),
    [
        (
            lambda: transom.Hopping("1 hour", hop="1 minute"),  # type: ignore[call-arg]
            "hop",
            "size, slide, offset, closed, time_zone",
        ),
        (
            lambda: transom.Session(max="1 minute"),  # type: ignore[call-arg]
            "max",
            "gap, inclusive, closed, max_duration, max_check, late_start",
        ),
        (
            lambda: transom.Every("1 minute", align=True),  # type: ignore[call-arg]
            "align",
            "interval, clock, aligned",
        ),
    ],
)
def test_an_unknown_argument_is_answered_with_those_that_exist(
    mistake: Callable[[], object], argument: str, arguments: str
) -> None:
    with raises("MISPLACED", argument, PySparkTypeError) as caught:
        mistake()
    assert f"its arguments are {arguments}. Write " in str(caught.value)
