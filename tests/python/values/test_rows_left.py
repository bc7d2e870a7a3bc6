"""A trigger that may leave rows without a result is warned of where it is set."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import StructType

import transom
from tests.python.unbound import EVER, HOURS, ON_THE_CLOCK, RowsOfFlow, windowed

DELTA = transom.AfterDelta(lambda old, new: new["v"] - old["v"], threshold=1)
CLOCK = transom.EventTime("at")


@pytest.mark.parametrize(
    ("builder", "trigger", "instead"),
    [
        (
            HOURS,
            transom.AfterCount(10),
            "transom.AfterWatermark(early=transom.AfterCount(rows=10))",
        ),
        (
            HOURS,
            transom.Purging(transom.AfterCount(10)),
            "transom.AfterWatermark(early=transom.Purging(trigger=transom.AfterCount(rows=10)))",
        ),
        (
            HOURS,
            transom.When("v > 5"),
            "transom.AfterWatermark(early=transom.When(condition='v > 5'))",
        ),
        (HOURS, DELTA, "transom.AfterWatermark(early=transom.AfterDelta(...))"),
        (HOURS, transom.EndOfStream(), "transom.AfterWatermark()"),
        (HOURS, transom.AfterClock(), "transom.AfterWatermark()"),
        (HOURS, transom.Purging(transom.AfterClock()), "transom.AfterWatermark()"),
        (
            windowed(transom.Session("1 minute"), time=CLOCK),
            transom.AfterCount(10),
            "transom.AfterWatermark(early=transom.AfterCount(rows=10))",
        ),
        (
            ON_THE_CLOCK,
            transom.AfterCount(10),
            "transom.ProcessingTimeout(transom.AfterCount(rows=10), after='1 minute')",
        ),
        (
            windowed(transom.Session("1 minute"), time=transom.ProcessingTime()),
            transom.AfterCount(10),
            "transom.AfterClock()",
        ),
    ],
)
def test_the_warning_names_the_trigger_that_fires_at_the_end_too(
    builder: Any, trigger: transom.Trigger, instead: str
) -> None:
    with pytest.warns(transom.TransomWarning, match=r"^\[TRANSOM_ROWS_LEFT\] ") as caught:
        builder.trigger(trigger)
    (warning,) = caught
    assert f" Write {instead} to fire at the end too." in str(warning.message)
    # Python shows the line of the user.
    assert warning.filename == __file__


@pytest.mark.parametrize(
    ("trigger", "instead"),
    [
        (transom.AfterWatermark(late=None), "transom.AfterWatermark()"),
        (
            transom.AfterWatermark(early=transom.AfterCount(9), late=transom.AfterCount(2)),
            "transom.AfterWatermark(early=transom.AfterCount(rows=9))",
        ),
        (
            transom.AfterWatermark(early=DELTA, late=DELTA),
            "transom.AfterWatermark(early=transom.AfterDelta(...))",
        ),
        (transom.AfterWatermark(late=transom.Purging(transom.Never())), "transom.AfterWatermark()"),
        (
            transom.Purging(transom.AfterWatermark(late=transom.When("v > 5"))),
            "transom.Purging(transom.AfterWatermark())",
        ),
        (
            transom.Every("1 minute", clock="processing"),
            "transom.AfterWatermark(early=transom.Every(interval='1 minute', clock='processing'))",
        ),
    ],
)
def test_a_lateness_whose_rows_fire_no_window_is_warned_of(
    trigger: transom.Trigger, instead: str
) -> None:
    later: Any = HOURS.trigger(trigger)
    steps: list[Callable[[], object]] = [
        lambda: later.allowed_lateness("1 hour"),
        lambda: HOURS.allowed_lateness("1 hour").trigger(trigger),
    ]
    for step in steps:
        with pytest.warns(transom.TransomWarning, match=r"^\[TRANSOM_LATE_ROWS_LEFT\] ") as caught:
            step()
        (warning,) = caught
        assert f" Write {instead} to fire for each of them, or " in str(warning.message)
        assert warning.filename == __file__


@pytest.mark.parametrize(
    "trigger",
    [
        transom.AfterWatermark(),
        transom.AfterWatermark(early=transom.AfterCount(9)),
        transom.AfterWatermark(late=transom.Every("1 minute")),
        transom.AfterLateness(),
        transom.Every("1 minute"),
        transom.EveryBatch(),
        transom.AfterCount(1),
        transom.Never(),
    ],
)
def test_no_warning_if_each_late_row_fires(trigger: transom.Trigger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HOURS.allowed_lateness("1 hour").trigger(trigger)
        HOURS.trigger(transom.AfterWatermark(late=None)).allowed_lateness("0 seconds")


@pytest.mark.parametrize(
    ("builder", "reason", "instead"),
    [
        (
            windowed(transom.Count(3), time=CLOCK),
            "drain() does not fire Count windows that are not full",
            (
                "window(transom.Global()).trigger("
                "transom.AfterWatermark(early=transom.Purging(transom.AfterCount(3))))"
            ),
        ),
        (
            windowed(transom.Count(3, 2), time=CLOCK),
            "drain() does not fire Count windows that are not full",
            "transom.Count(3, 1, partial=True), which gives a result at each row,",
        ),
        (
            windowed(transom.Count(3, partial=True)),
            "drain() does not fire Count windows that are not full",
            "transom.Count(3, 1, partial=True), which gives a result at each row,",
        ),
        (
            windowed(transom.Global(), time=CLOCK, trigger=transom.When("AbsV(v) > 5")),
            "When does not fire at the end of Global windows",
            "transom.AfterWatermark(early=transom.When(condition='AbsV(v) > 5'))",
        ),
        (
            windowed(transom.Global(), trigger=transom.Purging(transom.AfterCount(3))),
            "Purging does not fire at the end of Global windows",
            "transom.EndOfStream()",
        ),
        (
            windowed(
                transom.Global(),
                time=CLOCK,
                trigger=transom.ProcessingTimeout(transom.AfterCount(3), after="1 minute"),
            ),
            "ProcessingTimeout does not fire at the end of Global windows",
            (
                "transom.AfterWatermark(early=transom.ProcessingTimeout("
                "trigger=transom.AfterCount(rows=3), after='1 minute'))"
            ),
        ),
    ],
)
def test_a_drained_stream_whose_windows_keep_rows_is_warned_of(
    builder: Any, reason: str, instead: str
) -> None:
    with pytest.warns(transom.TransomWarning, match=r"^\[TRANSOM_ROWS_LEFT\] ") as caught:
        builder.drain()
    (warning,) = caught
    assert str(warning.message).startswith(f"[TRANSOM_ROWS_LEFT] {reason}. Rows that arrive ")
    assert f" Write {instead} to fire at the end too." in str(warning.message)
    assert warning.filename == __file__


def test_code_without_a_module_name_is_warned() -> None:
    with pytest.warns(transom.TransomWarning, match=r"^\[TRANSOM_ROWS_LEFT\] "):
        exec("stream.drain()", {"stream": EVER.trigger(transom.AfterCount(2))})


def test_the_warning_of_a_drained_stream_comes_in_either_order_of_the_steps() -> None:
    with pytest.warns(transom.TransomWarning, match="AfterCount does not fire") as caught:
        EVER.drain().trigger(transom.AfterCount(2))
    (warning,) = caught
    assert warning.filename == __file__


@pytest.mark.parametrize(
    "builder",
    [
        HOURS,
        EVER,
        windowed(transom.Count(1)),
        windowed(transom.Count(3, 1, partial=True)),
        windowed(transom.Global(), trigger=transom.EndOfStream()),
        windowed(transom.Global(), trigger=transom.AfterCount(1)),
        windowed(transom.Global(), time=CLOCK, trigger=transom.Every("1 minute")),
    ],
)
def test_no_warning_of_a_drained_stream_without_a_loss(builder: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.drain()


@pytest.mark.parametrize(
    ("builder", "trigger"),
    [
        (HOURS, transom.AfterCount(1)),
        (HOURS, transom.AfterWatermark(early=transom.AfterCount(10))),
        (HOURS, transom.AfterLateness()),
        (HOURS, transom.Every("1 minute")),
        (HOURS, transom.EveryBatch()),
        (HOURS, transom.Never()),
        (HOURS, transom.ProcessingTimeout(transom.AfterCount(10), after="1 minute")),
        (EVER, transom.AfterCount(10)),
        (EVER, transom.EndOfStream()),
        (ON_THE_CLOCK, transom.AfterClock()),
        (windowed(transom.Count(9, 3)), transom.AfterCount(9)),
    ],
)
def test_no_warning_without_a_loss(builder: Any, trigger: transom.Trigger) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.trigger(trigger)


def test_a_flow_does_not_know_whether_it_streams() -> None:
    stream = transom.Stream(RowsOfFlow(StructType()), CLOCK, ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream.window(transom.Tumbling("1 hour")).trigger(transom.EndOfStream())


def test_the_warning_is_shown_unless_it_is_turned_off() -> None:
    assert issubclass(transom.TransomWarning, UserWarning)
