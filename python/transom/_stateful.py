"""Calls of functions that keep state: where Spark keeps it, key by key.

A call with all its rows travels as one row, so that it stays whole, and in order, on the way to the
task of its key. What it returns travels back in the same way. Both are Arrow's bytes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import Row

from transom._calls import MOST_ROWS, Calls, Returned, State, check_whole, cut, python_value
from transom._columns import listed
from transom._failing import mismatch
from transom._returned import table_of

# A call, after the columns of its key: the number that puts calls in order, what stands in front of
# its results, and its rows; without these, that its window is over; or what passes by it.
PACKED = "at long, front binary, rows binary, result binary"
RESULT = "result binary"
# A batch of calls leaves when it holds more.
_MOST_BYTES = 8 << 20


class Kept(Protocol):
    """The state of one key."""

    def read(self, window: str | None) -> bytes | None:
        """Of a window, by its name, or of the key itself."""

    def write(self, window: str | None, value: bytes | None) -> None:
        """Replaces it, or forgets it."""


@dataclass(frozen=True, slots=True)
class StatefulCalls:
    """All that workers have to know.

    Attributes
    ----------
    calls : Calls
        What they do without state.
    window_state, key_state : pa.Schema or None
        Of what the function keeps.
    has_bounds : bool
        Whether windows are known by their bounds; if not, a key has one at a time.
    """

    calls: Calls
    window_state: pa.Schema | None
    key_state: pa.Schema | None
    has_bounds: bool

    def pack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each call."""
        begun: list[pa.RecordBatch] = []
        at = 0
        for batch in batches:
            for passing in self.calls.passing(batch):
                yield self._packed(batch.slice(0, 1), [0], at, [{"result": _written([passing])}])
                at += 1
            calls = self.calls.without_passing(batch)
            own = {"row", "is_last", "is_over", *group_columns(len(self.calls.keys))}
            fronts = calls.select([name for name in calls.schema.names if name not in own])
            overs = calls.column("is_over") if self.window_state is not None else None
            lasts: list[int] = []
            packed: list[dict[str, bytes]] = []
            size = 0
            for last, rows in cut(calls, begun):
                one = {"front": _written([fronts.slice(last, 1)])}
                if overs is None or not overs[last].as_py():
                    one["rows"] = _written(rows.to_batches(), rows.schema)
                packed.append(one)
                lasts.append(last)
                size += sum(len(part) for part in one.values())
                if size > _MOST_BYTES:
                    yield self._packed(calls, lasts, at, packed)
                    at, lasts, packed, size = at + len(lasts), [], [], 0
            if lasts:
                yield self._packed(calls, lasts, at, packed)
                at += len(lasts)
        check_whole(begun)

    def _packed(
        self, calls: pa.RecordBatch, lasts: list[int], at: int, packed: list[dict[str, bytes]]
    ) -> pa.RecordBatch:
        ended = pa.array(lasts, pa.int32())
        names = group_columns(len(self.calls.keys))
        groups = [calls.column(name).take(ended) for name in names if self.calls.keys]
        numbers = pa.array(range(at, at + len(lasts)), pa.int64())
        parts = ("front", "rows", "result")
        columns = [pa.array([one.get(part) for one in packed], pa.binary()) for part in parts]
        return pa.RecordBatch.from_arrays(
            [*(groups or [pa.nulls(len(lasts), pa.int32())]), numbers, *columns],
            [*names, "at", *parts],
        )

    def called(self, rows: list[Mapping[str, Any]], kept: Kept) -> Iterator[bytes]:
        """The results of all calls of a key, in their order."""
        for row in sorted(rows, key=lambda row: int(row["at"])):
            if row["result"] is not None:
                yield bytes(row["result"])
                continue
            (front,) = _read(row["front"])
            if row["rows"] is None:
                kept.write(self._window(front), None)
            else:
                table = pa.ipc.open_stream(row["rows"]).read_all()
                results = self._call(front, table, kept)
                if results:
                    yield _written(results)

    def in_memory(self, table: pa.Table) -> pa.Table:
        """The same for a key of a static DataFrame, whose state nobody keeps."""
        results = list(self.called(table.to_pylist(), InMemory()))
        return pa.table({"result": pa.array(results, pa.binary())})

    def _call(self, front: pa.RecordBatch, rows: pa.Table, kept: Kept) -> list[pa.RecordBatch]:
        window = self._window(front)
        of_window = kept.read(window) if self.window_state is not None else None
        of_key = kept.read(None) if self.key_state is not None else None
        state = State(_values(of_window, self.window_state), _values(of_key, self.key_state))
        returned = Returned()
        self.calls.call(front, 0, rows, returned, state)
        written = self._bytes(front, "window_state", state.of_window, self.window_state)
        if written != of_window:
            kept.write(window, written)
        written = self._bytes(front, "key_state", state.of_key, self.key_state)
        if written != of_key:
            kept.write(None, written)
        return list(self.calls.results(front, returned))

    def _window(self, front: pa.RecordBatch) -> str:
        """The name of a window among those of its key."""
        if not self.has_bounds:
            return ""
        bounds = front.column("window")[0]
        return f"{bounds['start'].value} {bounds['end'].value}"

    def _bytes(
        self, front: pa.RecordBatch, name: str, state: dict[str, Any], schema: pa.Schema | None
    ) -> bytes | None:
        names = [] if schema is None else schema.names
        try:
            unknown = [key for key in state if key not in names]
            if unknown:
                raise ValueError(f"it has {listed(unknown)}, but was given {listed(names)}")
            if schema is None:
                return None
            values = pa.table({key: pa.array([state.get(key)]) for key in names})
            table = table_of(values, schema, in_pandas=False)
        except (pa.ArrowException, OverflowError, ValueError) as error:
            what = f"The {name} of {self.calls.name}"
            raise mismatch(what, self.calls.where(front, 0), error) from error
        if all(column.null_count for column in table.columns):
            return None
        (batch,) = table.to_batches()
        return bytes(batch.serialize())


class Processor(StatefulProcessor):
    """Calls of a stream: Spark keeps what they keep."""

    def __init__(self, calls: StatefulCalls) -> None:
        self._calls = calls

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        if self._calls.key_state is not None:
            self._of_key = handle.getValueState("key_state", "value binary")
        if self._calls.window_state is not None:
            self._of_windows = handle.getMapState("window_state", "window string", "value binary")

    # The names are PySpark's.
    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Call the function for all calls of a key."""
        for result in self._calls.called([row.asDict() for row in rows], self):
            yield Row(result=result)

    def read(self, window: str | None) -> bytes | None:
        """As `Kept`."""
        found = self._of_key.get() if window is None else self._of_windows.getValue((window,))
        return None if found is None else bytes(found[0])

    def write(self, window: str | None, value: bytes | None) -> None:
        """As `Kept`."""
        if window is None:
            if value is None:
                self._of_key.clear()
            else:
                self._of_key.update((value,))
        elif value is None:
            self._of_windows.removeKey((window,))
        else:
            self._of_windows.updateValue((window,), (value,))


class InMemory:
    """What calls of one key of a static DataFrame keep."""

    def __init__(self) -> None:
        self._values: dict[str | None, bytes | None] = {}

    def read(self, window: str | None) -> bytes | None:
        """As `Kept`."""
        return self._values.get(window)

    def write(self, window: str | None, value: bytes | None) -> None:
        """As `Kept`."""
        self._values[window] = value


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What calls have returned, those of many in a batch."""
    for batch in batches:
        held: list[pa.RecordBatch] = []
        for result in batch.column("result"):
            held.extend(_read(result.as_buffer()))
            if sum(one.num_rows for one in held) >= MOST_ROWS:
                yield from pa.Table.from_batches(held).combine_chunks().to_batches()
                held = []
        if held:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def group_columns(keys: int) -> list[str]:
    """The columns by which calls are grouped; without keys there is one of nulls."""
    return [f"group_{i}" for i in range(keys)] or ["group_0"]


def _written(batches: list[pa.RecordBatch], schema: pa.Schema | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema or batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _read(stream: Any) -> list[pa.RecordBatch]:
    return list(pa.ipc.open_stream(stream))


def _values(held: bytes | None, schema: pa.Schema | None) -> dict[str, Any]:
    if schema is None:
        return {}
    if held is None:
        return dict.fromkeys(schema.names)
    (row,) = pa.ipc.read_record_batch(pa.py_buffer(held), schema).to_pylist()
    return {name: python_value(value) for name, value in row.items()}
