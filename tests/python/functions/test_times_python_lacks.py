"""Rows and accumulators with times and dates that Python lacks, as pandas and Python values."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from transom._calls.returned import python_values

# Microseconds since 1970 of the last and the first time of Python, and of a time in between.
END, START, NOON = 253_402_300_799_999_999, -62_135_596_800_000_000, 1_704_110_400_000_000
ZONES = [None, "UTC", "Asia/Tokyo", "America/New_York", "+09:00", "-05:00"]


def times(zone: str | None, *micros: int | None) -> pa.Array:
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", zone))


def in_struct(array: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([array], names=["at"])


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("micros", "year"), [(END + 1, 9999), (START - 1, 1), (10**18, 9999)])
def test_times_in_structs(zone: str | None, micros: int, year: int) -> None:
    table = pa.table({"s": in_struct(times(zone, micros, NOON, None))})
    beyond, noon, null = (value["at"] for value in python_values(table, pa.Table.to_pandas)["s"])
    assert beyond.year == year
    assert beyond.replace(tzinfo=None) in (datetime.min, datetime.max) or zone not in (None, "UTC")
    assert noon == datetime(2024, 1, 1, 12, tzinfo=None if zone is None else UTC)
    assert null is None


@pytest.mark.parametrize("zone", ZONES)
def test_the_nearest_time_of_a_zone_is_a_day_off_at_most(zone: str | None) -> None:
    table = pa.table({"s": in_struct(times(zone, END + 1, START - 1))})
    last, first = (value["at"] for value in python_values(table, pa.Table.to_pandas)["s"])
    assert last.replace(tzinfo=None) >= datetime(9999, 12, 31)
    assert first.replace(tzinfo=None) < datetime(1, 1, 2)


def test_dates() -> None:
    days = pa.array([3_000_000, None, 0, -800_000], pa.int32()).cast(pa.date32())
    found = python_values(pa.table({"d": days}), pa.Table.to_pandas)["d"]
    assert found.tolist() == [date.max, None, date(1970, 1, 1), date.min]


def test_a_column_of_times_keeps_what_pandas_has() -> None:
    dates = pa.array([3_000_000], pa.int32()).cast(pa.date32())
    table = pa.table({"at": times("UTC", END + 1), "d": dates, "n": pa.array([7])})
    found = python_values(table, pa.Table.to_pandas)
    assert found["at"].astype("int64").tolist() == [END + 1]
    assert found["d"].tolist() == [date.max]
    assert found["n"].tolist() == [7]


def nested() -> list[tuple[pa.Array, Any]]:
    dates = pa.array([3_000_000, 0, None, -800_000], pa.int32()).cast(pa.date32())
    lists = pa.ListArray.from_arrays(pa.array([0, None, 2, 2, 4]), dates)
    maps = pa.MapArray.from_arrays(pa.array([0, None, 1, 1, 2]), pa.array(["a", "b"]), dates[2:])
    keyed = pa.array([[(1, None)], None], pa.map_(pa.int32(), pa.date32()))
    return [
        (lists, [[date.max, date(1970, 1, 1)], None, [], [None, date.min]]),
        (lists[2:], [[], [None, date.min]]),
        (maps, [[("a", None)], None, [], [("b", date.min)]]),
        (maps[1:], [None, [], [("b", date.min)]]),
        (pa.concat_arrays([keyed, keyed]), [[(1, None)], None, [(1, None)], None]),
        (
            pa.StructArray.from_arrays(
                [lists, dates], ["l", "d"], mask=pa.array([False, False, False, True])
            )[1:],
            [{"l": None, "d": date(1970, 1, 1)}, {"l": [], "d": None}, None],
        ),
    ]


@pytest.mark.parametrize(("array", "expected"), nested(), ids=lambda value: str(value)[:20])
def test_nested_values(array: pa.Array, expected: list[Any]) -> None:
    assert python_values(array, pa.Array.to_pylist) == expected


def test_other_errors_pass() -> None:
    def fail(_: pa.Array) -> pd.DataFrame:
        raise ValueError("another problem")

    with pytest.raises(ValueError, match="another problem"):
        python_values(pa.array(np.arange(2)), fail)
