"""Lifetimes of streams, and the steps that their windows refuse."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql import Column
from pyspark.sql.types import (
    DayTimeIntervalType,
    LongType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

import transom
from tests.python.conditions import raises
from tests.python.unbound import NUMBER, Rows, windowed
from transom.spec import Apply

AT = transom.EventTime("at")
LANDED = transom.Lifetime("landed")
SHIFTS = transom.Custom(windows="shifts")
SWEPT = [transom.Snapshot(), transom.Rolling("10 minutes"), transom.CountByStart(2)]
FLIGHTS = StructType(
    [
        StructField("at", TimestampType(), metadata={"spark.watermarkDelayMs": 0}),
        StructField("landed", TimestampType()),
        StructField("local", TimestampNTZType()),
        StructField("flown", DayTimeIntervalType()),
        StructField("miles", LongType()),
    ]
)


class Named(Column):
    """A column without a session."""

    def __new__(cls, _: str) -> "Named":
        return object.__new__(cls)

    def __init__(self, name: str) -> None:
        self.called = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __str__(self) -> str:
        return self.called

    def __repr__(self) -> str:
        return f"Column<'{self.called}'>"


@pytest.mark.parametrize(
    ("lifetime", "expected"),
    [
        ("landed", transom.Lifetime("landed")),
        (Named("landed"), None),
        (transom.Lifetime("landed"), transom.Lifetime("landed")),
        (transom.Lifetime(duration="1 hour"), transom.Lifetime(duration="1 hour")),
        (transom.Lifetime(duration=Named("flown")), None),
    ],
)
def test_a_stream_takes_a_column_or_a_lifetime(lifetime: Any, expected: Any) -> None:
    built = transom.stream(Rows(FLIGHTS), time="at", lifetime=lifetime)
    spec = built.window_all(transom.Snapshot())._spec
    assert spec.lifetime is not None
    if expected is not None:
        assert spec.lifetime == expected
    else:
        is_end = isinstance(lifetime, Column)
        assert (spec.lifetime.end is lifetime) if is_end else (spec.lifetime == lifetime)


def test_rows_have_no_lifetime_by_default() -> None:
    spec = transom.stream(Rows(FLIGHTS), time="at").window_all(transom.Snapshot())._spec
    assert spec.lifetime is None


@pytest.mark.parametrize(
    ("lifetime", "condition", "argument"),
    [
        (7, "BAD_TYPE", "lifetime"),
        (timedelta(hours=1), "BAD_TYPE", "lifetime"),
        ("miles", "NOT_A_TIMESTAMP", "lifetime"),
        (Named("miles"), "NOT_A_TIMESTAMP", "lifetime"),
        (transom.Lifetime("flown"), "NOT_A_TIMESTAMP", "lifetime"),
        (transom.Lifetime(duration=Named("miles")), "BAD_TYPE", "duration"),
        (transom.Lifetime(duration=Named("landed")), "BAD_TYPE", "duration"),
    ],
)
def test_a_wrong_lifetime_is_named(lifetime: Any, condition: str, argument: str) -> None:
    with raises(condition, argument):
        transom.stream(Rows(FLIGHTS), time="at", lifetime=lifetime)


def test_the_columns_of_an_id_must_exist() -> None:
    with raises("UNKNOWN_COLUMN", "id", PySparkValueError):
        edges = transom.Lifetime("landed", id=["miles", "gate"])
        transom.stream(Rows(FLIGHTS), time="at", lifetime=edges)


def test_edges_need_a_time_that_both_rows_have() -> None:
    edges = transom.Lifetime("landed", id=["miles"])
    with raises("CONFLICT", "lifetime", PySparkValueError):
        transom.stream(Rows(FLIGHTS), time=transom.TimePolicy(None, arrival="at"), lifetime=edges)


def test_windows_of_starts_take_no_edges() -> None:
    edges = transom.Lifetime("landed", id=["miles"])
    with raises("CONFLICT", "CountByStart", PySparkValueError):
        windowed(transom.CountByStart(2), time=AT, lifetime=edges)


@pytest.mark.parametrize("time", [None, transom.ProcessingTime()])
def test_a_lifetime_needs_event_time(time: Any) -> None:
    with raises("NOT_EVENT_TIME", "lifetime", PySparkValueError):
        transom.stream(Rows(FLIGHTS), time=time, lifetime="landed")


@pytest.mark.parametrize("window", SWEPT, ids=repr)
@pytest.mark.parametrize("time", [None, transom.ProcessingTime()])
def test_the_windows_need_event_time(window: transom.Window, time: Any) -> None:
    with raises("NOT_EVENT_TIME", type(window).__name__, PySparkValueError):
        windowed(window, time=time)


GRIDS = [
    transom.Tumbling(size="1 hour"),
    transom.Hopping(size="1 hour", slide="5 minutes"),
    transom.Hopping(size="5 minutes", slide="1 hour"),
    transom.Cumulate(size="1 day", step="1 hour"),
    transom.Calendar(unit="day", time_zone="Europe/Rome"),
]


@pytest.mark.parametrize("window", [*GRIDS, transom.Snapshot(), transom.CountByStart(2)], ids=repr)
def test_these_windows_hold_lifetimes(window: transom.Window) -> None:
    assert windowed(window, time=AT, lifetime=LANDED)._spec.lifetime == LANDED


@pytest.mark.parametrize(
    ("window", "trigger"),
    [
        (transom.Rolling("10 minutes"), None),
        (transom.Session(gap="5 minutes"), None),
        (transom.Count(size=9), None),
        (SHIFTS, None),
        (transom.Global(), transom.EndOfStream()),
    ],
    ids=repr,
)
def test_other_windows_hold_points_in_time(
    window: transom.Window, trigger: transom.Trigger | None
) -> None:
    name = type(window).__name__
    with raises("CONFLICT", name, PySparkValueError) as error:
        windowed(window, time=AT, lifetime=LANDED, trigger=trigger)
    assert f"{name} windows hold points in time" in str(error.value)


def _swept() -> list[Any]:
    lived = [(window, LANDED) for window in [*GRIDS, transom.Snapshot(), transom.CountByStart(2)]]
    return [(window, None) for window in SWEPT] + lived


@pytest.mark.parametrize(
    ("step", "value"),
    [
        ("trigger", (transom.AfterWatermark(late=None),)),
        ("trigger", (transom.AfterWatermark(early=transom.AfterCount(3)),)),
        ("trigger", (transom.AfterCount(3),)),
        ("trigger", (transom.AfterLateness(),)),
        ("trigger", (transom.EveryBatch(),)),
        ("trigger", (transom.EndOfStream(),)),
        ("evictor", (transom.KeepLast(5),)),
        ("retract", ()),
        ("allowed_lateness", ("1 second",)),
    ],
)
@pytest.mark.parametrize(("window", "lifetime"), _swept(), ids=repr)
def test_the_windows_fire_once(
    window: transom.Window, lifetime: transom.Lifetime | None, step: str, value: tuple[Any, ...]
) -> None:
    builder = windowed(window, time=AT, lifetime=lifetime)
    with raises("CONFLICT", step, PySparkValueError) as error:
        getattr(builder, step)(*value)
    other = type(window).__name__ if lifetime is None else "stream(lifetime=)"
    assert other in str(error.value)


@pytest.mark.parametrize(("window", "lifetime"), _swept(), ids=repr)
def test_the_windows_have_no_slices_and_no_state(
    window: transom.Window, lifetime: transom.Lifetime | None
) -> None:
    builder = windowed(window, time=AT, lifetime=lifetime)
    with raises("CONFLICT"):
        builder.options(layout="slices")
    builder.options(layout="keyed").with_pane().drain().with_late_rows(partly=True)
    state = Apply(schema=NUMBER, form="arrow", window_state=NUMBER)
    with raises("CONFLICT", "window_state"):
        windowed(window, time=AT, lifetime=lifetime, function=state)
    windowed(
        window,
        time=AT,
        lifetime=lifetime,
        function=Apply(schema=NUMBER, form="arrow", key_state=NUMBER),
    )


@pytest.mark.parametrize("stagger", ["random", "natural"])
def test_lifetimes_need_aligned_windows(stagger: Any) -> None:
    with raises("CONFLICT", "stagger"):
        windowed(transom.Tumbling(size="1 hour", stagger=stagger), time=AT, lifetime=LANDED)


@pytest.mark.parametrize(("window", "lifetime"), _swept(), ids=repr)
def test_the_windows_do_not_close_in_silence(
    window: transom.Window, lifetime: transom.Lifetime | None
) -> None:
    builder = windowed(window, time=transom.TimePolicy("at"), lifetime=lifetime)
    with pytest.raises(PySparkValueError, match=r"TRANSOM_(CONFLICT|UNBOUNDED_WINDOW)"):
        builder.idle_timeout("1 minute")


@pytest.mark.parametrize(("window", "lifetime"), _swept(), ids=repr)
def test_the_default_steps_are_allowed(
    window: transom.Window, lifetime: transom.Lifetime | None
) -> None:
    builder = windowed(window, time=AT, lifetime=lifetime)
    again = builder.trigger(transom.AfterWatermark()).allowed_lateness("0 seconds")
    assert again._spec == builder._spec
