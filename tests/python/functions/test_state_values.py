"""Values of state: what a function reads is what it, or an earlier call, has set."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from transom._calls.returned import column_of, python_value

POINT = pa.struct([("x", pa.int64()), ("y", pa.int64())])
INSTANT = pa.timestamp("us", "Europe/Rome")
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (pa.int32(), 3, 3),
        (pa.string(), None, None),
        (INSTANT, NOON, NOON),
        (POINT, {"y": 2, "x": 1}, Row(x=1, y=2)),
        (POINT, {"x": 1}, Row(x=1, y=None)),
        (pa.list_(POINT), [{"x": 1, "y": 2}, None], [Row(x=1, y=2), None]),
        (pa.map_(pa.string(), pa.int64()), {"a": 1, "b": None}, {"a": 1, "b": None}),
        (pa.map_(pa.string(), POINT), {"a": {"x": 1, "y": 2}}, {"a": Row(x=1, y=2)}),
        (pa.struct([("at", INSTANT)]), {"at": NOON}, Row(at=NOON)),
        (POINT, Row(y=2, x=1), Row(x=1, y=2)),
        (POINT, None, None),
        (pa.list_(pa.int64()), (1, None), [1, None]),
        (pa.list_(POINT), [Row(x=1, y=2), {"x": 3, "y": 4}], [Row(x=1, y=2), Row(x=3, y=4)]),
        (pa.list_(pa.list_(pa.int32())), [[1], [], None], [[1], [], None]),
        (pa.list_(pa.float64()), [Decimal("1.5")], [1.5]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)], {"a": 1}),
    ],
    ids=str,
)
def test_a_value_that_a_function_leaves_untouched_stays(
    kind: pa.DataType, value: Any, read: Any
) -> None:
    field = pa.field("v", kind)
    found = python_value(column_of([value], field)[0])
    assert found == read
    assert python_value(column_of([found], field)[0]) == read


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int32(), 1.5),
        (pa.int32(), 2**40),
        (POINT, {"x": 1, "z": 2}),
        (POINT, {"x": "1"}),
        (pa.list_(POINT), [{"z": 2}]),
        (pa.map_(pa.string(), POINT), {"a": {"z": 1}}),
        (pa.struct([("at", POINT)]), {"at": {"z": 1}}),
        (pa.map_(pa.string(), pa.int64()), {"a": "b"}),
        (pa.list_(pa.int32()), [1.5]),
        (pa.list_(pa.int32()), 5),
        (pa.list_(pa.string()), "ab"),
        (pa.list_(INSTANT), [NOON.replace(tzinfo=None)]),
        (pa.list_(pa.field("item", pa.int64(), nullable=False)), [None]),
        (POINT, {"x": 1.5}),
        (POINT, (1, 2, 3)),
        (POINT, 5),
        (pa.map_(pa.string(), pa.int64()), 5),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused(kind: pa.DataType, value: Any) -> None:
    with pytest.raises((ValueError, OverflowError, pa.ArrowException)):
        column_of([value], pa.field("v", kind))


# Microseconds and days beyond Python's years on both sides, in zones on both sides of UTC.
FAR = 253_402_300_800_000_000
BEFORE = -62_135_596_800_000_001


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_time_that_python_lacks_is_the_first_or_the_last_that_it_has(zone: str) -> None:
    kind = pa.timestamp("us", zone)
    times = pa.array([FAR - 1, FAR, BEFORE, BEFORE + 1], pa.int64()).cast(kind)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert [python_value(time) for time in times] == [last, last, first, first]


def test_local_times_and_dates_that_python_lacks() -> None:
    walls = pa.array([FAR, BEFORE, 0], pa.int64()).cast(pa.timestamp("us"))
    assert [python_value(t) for t in walls] == [datetime.max, datetime.min, datetime(1970, 1, 1)]
    dates = pa.array([2_932_897, 2_932_896, -719_163, 0], pa.int32()).cast(pa.date32())
    expected = [date.max, date.max, date.min, date(1970, 1, 1)]
    assert [python_value(d) for d in dates] == expected
    nested = pa.array([{"on": [2_932_897]}], pa.struct([("on", pa.list_(pa.int32()))])).cast(
        pa.struct([("on", pa.list_(pa.date32()))])
    )
    assert python_value(nested[0]) == Row(on=[date.max])
