"""Accumulators in Python over Arrow batches, and how they are merged."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.conditions import raises
from transom._calls.accumulating import Accumulation
from transom.accumulators import Accumulator

ROW = pa.struct([("v", pa.int32())])
STATE = pa.schema([("total", pa.int64()), ("adds", pa.int32())])
PART = pa.list_(pa.struct([("state", pa.struct(STATE)), ("row", ROW)]))


class Total(Accumulator[tuple[int, int]]):
    state = "total long, adds int"

    def init(self) -> tuple[int, int]:
        return 0, 0

    def add(self, acc: tuple[int, int], rows: pa.Table) -> tuple[int, int]:
        return acc[0] + (pc.sum(rows["v"]).as_py() or 0), acc[1] + 1

    def merge(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        return left[0] + right[0], left[1] + right[1]

    def result(self, acc: tuple[int, int]) -> Any:
        return list(acc)


class Remaining(Total):
    def remove(self, acc: tuple[int, int], rows: pa.Table) -> tuple[int, int]:
        return acc[0] - (pc.sum(rows["v"]).as_py() or 0), acc[1] + 1


def accumulation(accumulator: Accumulator[Any]) -> Accumulation:
    removes = isinstance(accumulator, Remaining)
    return Accumulation("Total", accumulator, STATE, pa.list_(pa.int64()), removes)


def parts(rows: list[tuple[str, int]], total: Accumulator[Any] | None = None) -> pa.Array:
    place = pa.array([place.encode() for place, _ in rows], pa.binary())
    values = pa.array([{"v": value} for _, value in rows], ROW)
    return accumulation(total or Total()).parts(place, values)


def results(windows: list[Any], total: Accumulator[Any] | None = None) -> list[Any]:
    made = accumulation(total or Total()).results(pa.array(windows, PART))
    return list(made.to_pylist())


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9))),
    st.lists(st.integers(0, 40), max_size=4),
)
def test_accumulators_of_batches_make_what_the_rows_make(
    rows: list[tuple[str, int]], ends: list[int]
) -> None:
    of_places: dict[str, list[Any]] = {}
    for start, end in pairwise([0, *sorted(min(end, len(rows)) for end in ends), len(rows)]):
        made = parts(rows[start:end]).to_pylist()
        for (place, _), state in zip(rows[start:end], made, strict=True):
            if state is not None:
                of_places.setdefault(place, []).append({"state": state, "row": None})
    of_rows = [
        [{"state": None, "row": {"v": value}} for at, value in rows if at == place]
        for place in of_places
    ]
    merged = results(list(of_places.values()))
    assert [total for total, _ in merged] == [total for total, _ in results(of_rows)]
    assert [adds for _, adds in merged] == [len(states) for states in of_places.values()]


def test_a_batch_has_one_accumulator_for_each_place_beside_its_first_row() -> None:
    assert parts([("a", 1), ("b", 2), ("a", 3), ("b", 4), ("b", 5)]).to_pylist() == [
        {"total": 4, "adds": 1},
        {"total": 11, "adds": 1},
        None,
        None,
        None,
    ]


def test_a_window_without_rows_gives_the_result_of_none() -> None:
    assert results([[]]) == [[0, 0]]


def test_what_is_no_window_has_no_result() -> None:
    window = [{"state": {"total": 5, "adds": 1}, "row": None}]
    assert results([None, window, None, window, window, None]) == [
        None,
        [5, 1],
        None,
        [5, 1],
        [5, 1],
        None,
    ]


@pytest.mark.parametrize(
    "made", [None, 3, [1, 2], (1,), (1, 2, 3), (1.5, 1), ("1", 1), (2**70, 1), (1, 2**40)]
)
def test_an_accumulator_has_its_schema(made: Any) -> None:
    class Other(Total):
        def add(self, acc: Any, rows: Any) -> Any:  # noqa: ARG002
            return made

    with raises("FUNCTION_SCHEMA"):
        parts([("a", 1)], Other())
    with raises("FUNCTION_SCHEMA"):
        results([[{"state": None, "row": {"v": 1}}]], Other())


@pytest.mark.parametrize("rows", [[], [{"state": None, "row": {"v": 1}}]])
def test_the_empty_accumulator_is_a_tuple_too(rows: list[Any]) -> None:
    class Other(Total):
        def init(self) -> Any:
            return 0

    with raises("FUNCTION_SCHEMA") as caught:
        results([rows], Other())
    assert ".init returned a value" in str(caught.value)
    assert "it is 0 instead of a tuple of 2 values" in str(caught.value)
    with raises("FUNCTION_SCHEMA"):
        parts([("a", 1)], Other())


def test_results_have_their_type() -> None:
    class Other(Total):
        def result(self, acc: Any) -> Any:
            return str(acc)

    with raises("FUNCTION_SCHEMA"):
        results([[]], Other())


@pytest.mark.parametrize("method", ["init", "add", "merge", "result"])
def test_an_error_names_the_method(method: str) -> None:
    def fail(*_: Any) -> Any:
        raise LookupError("no such value")

    failing = type("Failing", (Total,), {method: fail})()
    state = {"state": {"total": 5, "adds": 1}, "row": None}
    # Without parts, `init` is called. A part with a row calls `add`.
    window = {"init": [], "add": [{"state": None, "row": {"v": 1}}]}.get(method, [state, state])
    with pytest.raises(Exception, match=rf"Total\.{method} failed for a window's rows") as caught:
        results([window], failing)
    assert isinstance(caught.value.__cause__, LookupError)
    assert "in fail" in caught.value.__notes__[0]


def of_row(value: int | None) -> Any:
    """The part of a row, or the part that separates new rows from rows that have left."""
    return {"state": None, "row": None if value is None else {"v": value}}


def test_rows_that_have_left_are_removed_from_the_accumulator_of_the_window_before() -> None:
    windows = [
        [1, 2, 3],
        [4, None, 1],
        [None, 2, 3],
        [5, 6, None],
        # Neither has a row entered, nor left.
        [None],
        # The first window of another key.
        [7],
        [None],
    ]
    remaining = accumulation(Remaining())

    def of(some: list[Any]) -> list[Any]:
        collected = [None if rows is None else list(map(of_row, rows)) for rows in some]
        return list(remaining.results(pa.array(collected, PART)).to_pylist())

    # The second number counts the calls of add and remove.
    expected = [[6, 1], [9, 3], [4, 4], [15, 5], [15, 5], [7, 1], [7, 1]]
    assert of([windows[0], None, *windows[1:4]]) == [expected[0], None, *expected[1:4]]
    # The next Arrow batch of the task goes on.
    assert of(windows[4:]) == expected[4:]


def test_one_that_removes_also_merges() -> None:
    merged = [{"state": {"total": 2, "adds": 1}, "row": None} for _ in range(3)]
    assert results([merged], Remaining()) == [[6, 3]]
