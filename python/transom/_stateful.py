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
# its results, and its rows; or, in place of a call, what passes by it.
PACKED = "at long, front binary, rows binary, result binary"
RESULT = "result binary"
# A batch of calls leaves when it holds more.
_MOST_BYTES = 8 << 20


class Kept(Protocol):
    """The state of one key."""

    def read(self, window: str | None) -> bytes | None:
        """Of a window, by its name, or of the key itself."""

    def write(self, window: str | None, value: bytes | None, until_ms: int | None) -> None:
        """Replaces it; that of a window may go when the watermark has come there."""


@dataclass(frozen=True, slots=True)
class StatefulCalls:
    """All that workers have to know.

    Attributes
    ----------
    calls : Calls
        What they do without state.
    window_state, key_state : pa.Schema or None
        Of what the function keeps.
    kept_us : int or None
        How long the state of a window is kept after its end; None for windows without end.
    is_once : bool
        Whether each window is handed out once, so that nothing need be kept of it.
    """

    calls: Calls
    window_state: pa.Schema | None
    key_state: pa.Schema | None
    kept_us: int | None
    is_once: bool

    def pack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each call."""
        begun: list[pa.RecordBatch] = []
        at = 0
        for batch in batches:
            for passing in self.calls.passing(batch):
                yield self._packed(batch.slice(0, 1), [0], at, [{"result": _written([passing])}])
                at += 1
            calls = self.calls.without_passing(batch)
            fronts = calls.drop_columns(["row", "is_last"])
            lasts: list[int] = []
            packed: list[dict[str, bytes]] = []
            size = 0
            for last, rows in cut(calls, begun):
                front = _written([fronts.slice(last, 1)])
                packed.append({"front": front, "rows": _written(rows.to_batches(), rows.schema)})
                lasts.append(last)
                size += len(packed[-1]["rows"])
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
        keys = [calls.column(i).take(ended) for i in range(len(self.calls.keys))]
        numbers = pa.array(range(at, at + len(lasts)), pa.int64())
        names = ("front", "rows", "result")
        columns = [pa.array([one.get(name) for one in packed], pa.binary()) for name in names]
        return pa.RecordBatch.from_arrays(
            [*(keys or [pa.nulls(len(lasts), pa.int32())]), numbers, *columns],
            [*group_columns(len(keys)), "at", *names],
        )

    def called(self, rows: list[Mapping[str, Any]], kept: Kept) -> Iterator[bytes]:
        """The results of all calls of a key, in their order."""
        for row in sorted(rows, key=lambda row: int(row["at"])):
            if row["result"] is not None:
                yield bytes(row["result"])
            else:
                (front,) = _read(row["front"])
                table = pa.ipc.open_stream(row["rows"]).read_all()
                results = self._call(front, table, kept)
                if results:
                    yield _written(results)

    def in_memory(self, table: pa.Table) -> pa.Table:
        """The same for a key of a static DataFrame, whose state nobody keeps."""
        results = list(self.called(table.to_pylist(), InMemory()))
        return pa.table({"result": pa.array(results, pa.binary())})

    def _call(self, front: pa.RecordBatch, rows: pa.Table, kept: Kept) -> list[pa.RecordBatch]:
        window, until_ms = self._window(front)
        keeps_window = self.window_state is not None and not self.is_once
        of_window = kept.read(window) if keeps_window else None
        of_key = kept.read(None) if self.key_state is not None else None
        state = State(_values(of_window, self.window_state), _values(of_key, self.key_state))
        returned = Returned()
        self.calls.call(front, 0, rows, returned, state)
        written = self._bytes(front, "window_state", state.of_window, self.window_state)
        if keeps_window and written != of_window:
            kept.write(window, written, until_ms)
        written = self._bytes(front, "key_state", state.of_key, self.key_state)
        if written != of_key:
            kept.write(None, written, None)
        return list(self.calls.results(front, returned))

    def _window(self, front: pa.RecordBatch) -> tuple[str, int | None]:
        """The name of a window, and when the watermark has it end for good."""
        if self.kept_us is None:
            return "", None
        bounds = front.column("window")[0]
        end = bounds["end"].value
        # No earlier than the stage, which counts in microseconds.
        until_ms = -((end + self.kept_us) // -1000)
        return f"{until_ms} {bounds['start'].value} {end}", until_ms

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
        self._handle = handle
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

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        timerValues: Any,  # noqa: ARG002, N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Forget windows that are over."""
        expired = expiredTimerInfo.getExpiryTimeInMs()
        for (window,) in list(self._of_windows.keys()):
            if int(window.split()[0]) <= expired:
                self._of_windows.removeKey((window,))
        return iter(())

    def read(self, window: str | None) -> bytes | None:
        """As `Kept`."""
        found = self._of_key.get() if window is None else self._of_windows.getValue((window,))
        return None if found is None else bytes(found[0])

    def write(self, window: str | None, value: bytes | None, until_ms: int | None) -> None:
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
            if until_ms is not None:
                self._handle.registerTimer(until_ms)


class InMemory:
    """What calls of one key of a static DataFrame keep."""

    def __init__(self) -> None:
        self._values: dict[str | None, bytes | None] = {}

    def read(self, window: str | None) -> bytes | None:
        """As `Kept`."""
        return self._values.get(window)

    def write(self, window: str | None, value: bytes | None, until_ms: int | None) -> None:  # noqa: ARG002
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
    return [f"key_{i}" for i in range(keys)] or ["key_0"]


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
