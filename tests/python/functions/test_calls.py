"""Arrow batches of rows become calls of a function, and its results become batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Row

from transom._calls.calls import CallResults, Calls
from transom.functions import Context

AT = datetime(2024, 1, 1, tzinfo=UTC)
TIME = pa.timestamp("us", tz="Europe/Rome")
ROW = pa.struct([("v", pa.int32())])
LATE = pa.struct([("reason", pa.string())])
COLUMNS = pa.schema(
    [
        ("key:origin", pa.string()),
        ("window", pa.struct([("start", TIME), ("end", TIME)])),
        ("watermark", TIME),
        ("clock", TIME),
        ("is_last", pa.bool_()),
        ("row", ROW),
        ("late", LATE),
    ]
)


def of_call(number: int, values: Sequence[int]) -> list[dict[str, Any]]:
    """The rows of a call. A call without values has one row too."""
    start = AT + timedelta(hours=number)
    common = {
        "key:origin": f"k{number}",
        "window": {"start": start, "end": start + timedelta(hours=1)},
        "watermark": None,
        "clock": AT,
        "late": None,
    }
    rows: list[dict[str, int] | None] = [{"v": value} for value in values]
    rows = rows or [None]
    return [{**common, "row": row, "is_last": row is rows[-1]} for row in rows]


def batches(rows: list[dict[str, Any]], ends: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows as batches that end at these places."""
    places = [0, *sorted(min(end, len(rows)) for end in ends), len(rows)]
    for start, end in pairwise(places):
        yield pa.RecordBatch.from_pylist(rows[start:end], COLUMNS)


def calls(function: Callable[..., Any], **changed: Any) -> Calls:
    settings: dict[str, Any] = {
        "name": "f",
        "function": function,
        "takes_context": False,
        "in_pandas": False,
        "own_columns": ("window",),
        "side_output_tags": (),
        "outputs": {},
        "result_schema": pa.schema([("values", pa.list_(pa.int32()))]),
    }
    return Calls(**(settings | changed))


def values(rows: pa.Table) -> pa.Table:
    return pa.table({"values": [rows["v"].to_pylist()]})


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=12),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_each_call_has_its_rows_wherever_batches_end(
    called: list[list[int]], ends: list[int]
) -> None:
    rows = [row for number, held in enumerate(called) for row in of_call(number, held)]
    out = [row for batch in calls(values).run(batches(rows, ends)) for row in batch.to_pylist()]
    assert [(row["origin"], row["values"]) for row in out] == [
        (f"k{number}", held) for number, held in enumerate(called)
    ]
    assert [row["window"]["start"] for row in out] == [
        AT + timedelta(hours=number) for number in range(len(called))
    ]


def test_a_call_without_end_is_not_lost_silently() -> None:
    rows = [*of_call(0, [1]), *of_call(1, [2, 3])[:1]]
    with pytest.raises(RuntimeError, match="after 1 row"):
        list(calls(values).run(batches(rows, [])))


def test_a_batch_of_results_has_many_calls() -> None:
    rows = [row for number in range(500) for row in of_call(number, [1, 2])]
    (out,) = calls(values).run(batches(rows, []))
    assert out.num_rows == 500


def test_results_of_a_call_are_cut_into_batches() -> None:
    def many(_: pa.Table) -> pa.Table:
        return pa.table({"values": [[1]] * 25_000})

    rows = [row for number in range(3) for row in of_call(number, [1])]
    sizes = [batch.num_rows for batch in calls(many).run(batches(rows, []))]
    assert sizes == [10_000, 10_000, 5_000] * 3


def test_a_call_without_rows_has_their_columns() -> None:
    def counted(rows: pa.Table) -> pa.Table:
        assert rows.schema == pa.schema(list(ROW))
        return pa.table({"values": [[rows.num_rows]]})

    (out,) = calls(counted).run(batches(of_call(0, []), []))
    assert out["values"].to_pylist() == [[0]]


def test_nothing_returned_is_no_batch() -> None:
    run = calls(lambda rows: rows.slice(0, 0).select([]).append_column("values", [[]])).run
    assert list(run(batches(of_call(0, [1]), []))) == []


def test_late_rows_come_out_beside_the_results() -> None:
    late = dict.fromkeys(COLUMNS.names) | {"late": {"reason": "late"}}
    rows = [*of_call(0, [1, 2]), late, *of_call(1, [3])]
    out = [
        row
        for batch in calls(values, side_output_tags=("late",)).run(batches(rows, [1, 3]))
        for row in batch.to_pylist()
    ]
    assert [row["results"]["values"] for row in out if row["tag"] == "results"] == [[1, 2], [3]]
    assert [row["late"] for row in out if row["tag"] == "late"] == [{"reason": "late"}]
    assert all((row["late"] is None) == (row["results"] is not None) for row in out)


def test_instants_of_a_context_are_in_utc() -> None:
    seen: list[Context] = []

    def noting(rows: pa.Table, context: Context) -> pa.Table:
        seen.append(context)
        return values(rows)

    list(calls(noting, takes_context=True).run(batches(of_call(1, [1]), [])))
    (context,) = seen
    hour = timedelta(hours=1)
    assert context == Context(
        key=Row(origin="k1"),
        window=Row(start=AT + hour, end=AT + 2 * hour),
        window_id=None,
        pane=None,
        watermark=None,
        clock=AT,
    )
    assert context.clock.tzinfo == UTC


def test_an_error_without_keys_names_the_window() -> None:
    def fail(_: pa.Table) -> pa.Table:
        raise LookupError("no such value")

    (batch,) = batches(of_call(1, [1]), [])
    without_key = batch.select(COLUMNS.names[1:])
    with pytest.raises(PySparkRuntimeError) as caught:
        list(calls(fail).run(iter([without_key])))
    assert caught.value.getCondition() == "TRANSOM_FUNCTION_FAILED"
    assert "f failed for all rows, the window from 2024-01-01 01:00:00" in str(caught.value)


def test_an_error_names_the_function_the_key_and_the_window() -> None:
    def fail(_: pa.Table) -> pa.Table:
        raise LookupError("no such value")

    with pytest.raises(PySparkRuntimeError) as caught:
        list(calls(fail).run(batches(of_call(1, [1]), [])))
    assert caught.value.getCondition() == "TRANSOM_FUNCTION_FAILED"
    assert "f failed for origin = 'k1', the window from 2024-01-01 01:00" in str(caught.value)
    assert isinstance(caught.value.__cause__, LookupError)
    assert "in fail" in caught.value.__notes__[0]


def test_state_that_is_not_declared_is_an_error() -> None:
    def read(_: pa.Table, context: Context) -> pa.Table:
        return pa.table({"values": [[context.key_state["seen"]]]})

    def write(rows: pa.Table, context: Context) -> pa.Table:
        context.key_state["seen"] = rows.num_rows
        return values(rows)

    with pytest.raises(PySparkRuntimeError) as caught:
        list(calls(read, takes_context=True).run(batches(of_call(1, [1]), [])))
    assert caught.value.getCondition() == "TRANSOM_FUNCTION_FAILED"
    assert "the state has no 'seen': add it to the schema, as in 'seen long'" in str(caught.value)
    with pytest.raises(PySparkRuntimeError) as caught:
        list(calls(write, takes_context=True).run(batches(of_call(1, [1]), [])))
    assert caught.value.getCondition() == "TRANSOM_FUNCTION_SCHEMA"
    assert "Add one, as in apply(..., key_state='n long')" in str(caught.value)


def test_outputs_stand_beside_the_results() -> None:
    def both(rows: pa.Table, context: Context) -> pa.Table:
        held = rows["v"].to_pylist()
        context.output("odd", pa.table({"n": [v for v in held if v % 2]}))
        context.output("odd", pa.table({"n": [9.0]}))
        return values(rows)

    outputs = {"odd": pa.schema([("n", pa.int64())])}
    late = dict.fromkeys(COLUMNS.names) | {"late": {"reason": "late"}}
    run = calls(both, takes_context=True, outputs=outputs, side_output_tags=("late",)).run
    out = [
        row
        for batch in run(batches([*of_call(0, [1, 2]), late, *of_call(1, [3])], [2]))
        for row in batch.to_pylist()
    ]
    assert all(list(row) == ["tag", "results", "late", "odd"] for row in out)
    assert all([k for k, v in row.items() if v is not None] == ["tag", row["tag"]] for row in out)
    assert sorted((row["odd"]["origin"], row["odd"]["n"]) for row in out if row["odd"]) == [
        ("k0", 1),
        ("k0", 9),
        ("k1", 3),
        ("k1", 9),
    ]
    assert [row["results"]["values"] for row in out if row["results"]] == [[1, 2], [3]]
    assert [row["late"] for row in out if row["late"]] == [{"reason": "late"}]


@pytest.mark.parametrize(("name", "rows"), [("even", {"n": [1]}), ("odd", {"m": [1]})])
def test_outputs_have_their_names_and_schemas(name: str, rows: dict[str, Any]) -> None:
    def other(given: pa.Table, context: Context) -> pa.Table:
        context.output(name, pa.table(rows))
        return values(given)

    outputs = {"odd": pa.schema([("n", pa.int64())])}
    run = calls(other, takes_context=True, outputs=outputs).run
    with pytest.raises(PySparkRuntimeError, match=f"f, for its output '{name}', returned") as error:
        list(run(batches(of_call(0, [1]), [])))
    assert error.value.getCondition() == "TRANSOM_FUNCTION_SCHEMA"


def test_pandas_that_is_missing_in_a_worker_is_told() -> None:
    class Rows:
        def to_pandas(self) -> None:
            raise ImportError("No module named 'pandas'")

    batch = pa.RecordBatch.from_pylist(of_call(0, [1]), COLUMNS)
    rows: Any = Rows()
    with pytest.raises(PySparkRuntimeError, match="TRANSOM_NEEDS_PANDAS"):
        calls(values, in_pandas=True).call(batch, 0, rows, CallResults())
