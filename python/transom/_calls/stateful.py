"""Calls of functions with state, in Spark's stateful operator for Python.

A call with all its rows is packed into one row, as Arrow bytes. The call stays whole on its way to
the task of its key, and its number restores the order of calls. Results return in the same form.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, Row, StructField, StructType

from transom._base.columns import quoted_list
from transom._calls.calls import (
    MOST_ROWS,
    CallResults,
    Calls,
    CallState,
    check_whole,
    split_calls,
)
from transom._calls.failing import schema_mismatch
from transom._calls.returned import column_of, python_value
from transom.functions import State

# Columns of a packed call, after its group columns. `at` orders the calls of a key. `front` has the
# last row of the call without the row of the window. `rows` has the rows of the window; it is null
# if the window is over and its state must go. `result` has rows of side outputs; other columns of
# such a row are unused.
PACKED = (
    StructField("at", LongType()),
    StructField("front", BinaryType()),
    StructField("rows", BinaryType()),
    StructField("result", BinaryType()),
)
RESULT = StructType([StructField("result", BinaryType())])
_GROUP = "group_"
# A batch of packed calls is yielded as soon as it exceeds this size.
_MOST_BYTES = 8 << 20


class KeyState(Protocol):
    """The state of one key, as bytes."""

    def read(self, window: str | None) -> bytes | None:
        """Return the state of a window, by its name, or of the key if `window` is None."""

    def write(self, window: str | None, value: bytes | None) -> None:
        """Replace the state of a window or of the key, or remove it if `value` is None."""


@dataclass(frozen=True, slots=True)
class StatefulCalls:
    """Calls a user function with state. Workers receive it pickled.

    Attributes
    ----------
    calls : Calls
        The calls without state.
    window_state, key_state : pa.Schema or None
        Schemas of the state, or None if the function has no such state.
    has_bounds : bool
        Whether bounds identify a window. If not, a key has one window at a time.
    """

    calls: Calls
    window_state: pa.Schema | None
    key_state: pa.Schema | None
    has_bounds: bool

    def pack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with a row for each call, and for each batch of side output rows."""
        open_rows: list[pa.RecordBatch] = []
        at = 0
        for batch in batches:
            for tagged in self.calls.side_outputs(batch):
                packed_rows = {"result": _to_bytes([tagged])}
                # No function sees these rows, so any key will do.
                yield self._packed_batch(batch.slice(0, 1), [0], at, [packed_rows])
                at += 1
            calls = self.calls.without_side_outputs(batch)
            dropped = {"row", "is_last", "window_gone", *_groups_of(calls)}
            fronts = calls.select([name for name in calls.schema.names if name not in dropped])
            window_gone = calls.column("window_gone") if self.window_state is not None else None
            lasts: list[int] = []
            packed: list[dict[str, bytes]] = []
            size = 0
            for last, rows in split_calls(calls, open_rows):
                parts = {"front": _to_bytes([fronts.slice(last, 1)])}
                if window_gone is None or not window_gone[last].as_py():
                    parts["rows"] = _to_bytes(rows.to_batches(), rows.schema)
                packed.append(parts)
                lasts.append(last)
                size += sum(len(part) for part in parts.values())
                if size > _MOST_BYTES:
                    yield self._packed_batch(calls, lasts, at, packed)
                    at, lasts, packed, size = at + len(lasts), [], [], 0
            if lasts:
                yield self._packed_batch(calls, lasts, at, packed)
                at += len(lasts)
        check_whole(open_rows)

    def _packed_batch(
        self, calls: pa.RecordBatch, lasts: list[int], at: int, packed: list[dict[str, bytes]]
    ) -> pa.RecordBatch:
        positions = pa.array(lasts, pa.int32())
        names = _groups_of(calls)
        groups = [calls.column(name).take(positions) for name in names]
        numbers = pa.array(range(at, at + len(lasts)), pa.int64())
        parts = ("front", "rows", "result")
        columns = [pa.array([call.get(part) for call in packed], pa.binary()) for part in parts]
        return pa.RecordBatch.from_arrays(
            [*(groups or [pa.nulls(len(lasts), pa.int32())]), numbers, *columns],
            [*(names or [group_column(0)]), "at", *parts],
        )

    def call_all(self, rows: list[Mapping[str, Any]], store: KeyState) -> Iterator[bytes]:
        """Make all calls of a key in their order, and yield the packed results."""
        for row in sorted(rows, key=lambda row: int(row["at"])):
            if row["result"] is not None:
                yield bytes(row["result"])
                continue
            (front,) = _from_bytes(row["front"])
            if row["rows"] is None:
                store.write(self._window(front), None)
            else:
                table = pa.ipc.open_stream(row["rows"]).read_all()
                results = self._call(front, table, store)
                if results:
                    yield _to_bytes(results)

    def in_memory(self, table: pa.Table) -> pa.Table:
        """Make all calls of a key of a static DataFrame, and return the packed results."""
        # Python may have no values for the groups.
        rows = table.select([field.name for field in PACKED]).to_pylist()
        results = list(self.call_all(rows, InMemoryKeyState()))
        return pa.table({"result": pa.array(results, pa.binary())})

    def _call(self, front: pa.RecordBatch, rows: pa.Table, store: KeyState) -> list[pa.RecordBatch]:
        window = self._window(front)
        window_bytes = store.read(window) if self.window_state is not None else None
        key_bytes = store.read(None) if self.key_state is not None else None
        state = CallState(
            _state_values(window_bytes, self.window_state), _state_values(key_bytes, self.key_state)
        )
        results = CallResults()
        self.calls.call(front, 0, rows, results, state)
        new_bytes = self._state_bytes(front, "window_state", state.window_values, self.window_state)
        if new_bytes != window_bytes:
            store.write(window, new_bytes)
        new_bytes = self._state_bytes(front, "key_state", state.key_values, self.key_state)
        if new_bytes != key_bytes:
            store.write(None, new_bytes)
        return list(self.calls.results(front, results))

    def _window(self, front: pa.RecordBatch) -> str:
        """Return the name of a window, which is unique within its key."""
        if not self.has_bounds:
            return ""
        bounds = front.column("window")[0]
        name = f"{bounds['start'].value} {bounds['end'].value}"
        if "window_id" in self.calls.own_columns:
            name = f"{name} {front.column('window_id')[0].as_py()}"
        return name

    def _state_bytes(
        self, front: pa.RecordBatch, name: str, state: dict[str, Any], schema: pa.Schema | None
    ) -> bytes | None:
        names = [] if schema is None else schema.names
        what = f"{self.calls.name}, for its {name},"
        unknown = [key for key in state if key not in names]
        if unknown:
            problem = f"it has {quoted_list(unknown)}, but its schema has {quoted_list(names)}"
            fix = f"Add the name to the schema, as in '{unknown[0]} long'"
            raise schema_mismatch(what, self.calls.where(front, 0), problem, fix)
        if schema is None:
            return None
        try:
            columns = [column_of([state.get(field.name)], field) for field in schema]
        except (pa.ArrowException, OverflowError, ValueError) as error:
            raise schema_mismatch(what, self.calls.where(front, 0), error) from error
        if all(column.null_count for column in columns):
            return None
        return bytes(pa.RecordBatch.from_arrays(columns, schema=schema).serialize())


class Processor(StatefulProcessor):
    """Makes the calls of a stream, with state in Spark's state store."""

    def __init__(self, calls: StatefulCalls) -> None:
        self._calls = calls

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state variables. Their names and types belong to the checkpoint format."""
        if self._calls.key_state is not None:
            self._key_value = handle.getValueState("key_state", "value binary")
        if self._calls.window_state is not None:
            self._window_values = handle.getMapState(
                "window_state", "window string", "value binary"
            )

    # PySpark prescribes these names.
    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Make all calls of a key in a micro-batch."""
        for result in self._calls.call_all([row.asDict() for row in rows], self):
            yield Row(result=result)

    def read(self, window: str | None) -> bytes | None:
        """Implement `KeyState.read`."""
        found = self._key_value.get() if window is None else self._window_values.getValue((window,))
        return None if found is None else bytes(found[0])

    def write(self, window: str | None, value: bytes | None) -> None:
        """Implement `KeyState.write`."""
        if window is None:
            if value is None:
                self._key_value.clear()
            else:
                self._key_value.update((value,))
        elif value is None:
            self._window_values.removeKey((window,))
        else:
            self._window_values.updateValue((window,), (value,))


class InMemoryKeyState:
    """State of one key of a static DataFrame. It is dropped after the last call of the key."""

    def __init__(self) -> None:
        self._values: dict[str | None, bytes | None] = {}

    def read(self, window: str | None) -> bytes | None:
        """Implement `KeyState.read`."""
        return self._values.get(window)

    def write(self, window: str | None, value: bytes | None) -> None:
        """Implement `KeyState.write`."""
        self._values[window] = value


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of packed results, in batches with the results of many calls."""
    for batch in batches:
        pending: list[pa.RecordBatch] = []
        for result in batch.column("result"):
            pending.extend(_from_bytes(result.as_buffer()))
            if sum(piece.num_rows for piece in pending) >= MOST_ROWS:
                yield from pa.Table.from_batches(pending).combine_chunks().to_batches()
                pending = []
        if pending:
            yield from pa.Table.from_batches(pending).combine_chunks().to_batches()


def group_column(i: int) -> str:
    """Return the name of a group column. Without keys, packed calls have one with nulls."""
    return f"{_GROUP}{i}"


def _groups_of(calls: pa.RecordBatch) -> list[str]:
    return [name for name in calls.schema.names if name.startswith(_GROUP)]


def _to_bytes(batches: list[pa.RecordBatch], schema: pa.Schema | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema or batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _from_bytes(stream: Any) -> list[pa.RecordBatch]:
    return list(pa.ipc.open_stream(stream))


def _state_values(value: bytes | None, schema: pa.Schema | None) -> dict[str, Any]:
    if schema is None:
        return State()
    if value is None:
        return State.fromkeys(schema.names)
    batch = pa.ipc.read_record_batch(pa.py_buffer(value), schema)
    return State((field.name, python_value(batch.column(field.name)[0])) for field in schema)
