"""Calls of functions over windows, in Spark's Python workers.

What comes in are the rows of many calls, one after the other, in Arrow batches that end anywhere.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row

from transom._failing import failed, mismatch
from transom._returned import one_array, table_of
from transom.functions import Context

# As many as Spark's own batches have.
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Calls:
    """All that a worker has to know.

    Attributes
    ----------
    name : str
        Of the function, for errors.
    function : callable
        The user's.
    takes_context : bool
        Whether it has a second argument.
    in_pandas : bool
        Whether rows are handed over as a pandas DataFrame.
    keys : tuple of str
        The names of the keys.
    has_pane : bool
        Whether results say which of their window's they are.
    asides : tuple of str
        The columns of rows that pass by the function, to come out beside its results.
    returned : pa.Schema
        What the function has to return.
    """

    name: str
    function: Callable[..., Any]
    takes_context: bool
    in_pandas: bool
    keys: tuple[str, ...]
    has_pane: bool
    asides: tuple[str, ...]
    returned: pa.Schema

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the calls, many of them in a batch."""
        # The rows of a call that goes on in the next batch.
        begun: list[pa.RecordBatch] = []
        for batch in batches:
            calls = batch
            for aside in self.asides:
                passes = pc.is_valid(calls.column(aside))
                yield from self._passing(aside, calls.filter(passes))
                calls = calls.filter(pc.invert(passes))
            rows = pa.RecordBatch.from_struct_array(calls.column("row"))
            returned = _Returned()
            start = 0
            for last in pc.indices_nonzero(calls.column("is_last")).to_pylist():
                if calls.column("row")[last].is_valid:
                    begun.append(rows.slice(start, last + 1 - start))
                else:
                    begun.append(rows.slice(last, 0))
                returned.add(last, self._call(calls, last, pa.Table.from_batches(begun)))
                start, begun = last + 1, []
                if returned.rows >= _MOST_ROWS:
                    yield from self._results(calls, returned)
                    returned = _Returned()
            if start < calls.num_rows:
                begun.append(rows.slice(start))
            yield from self._results(calls, returned)

    def _call(self, calls: pa.RecordBatch, at: int, rows: pa.Table) -> pa.Table:
        given: list[Any] = [rows.to_pandas() if self.in_pandas else rows]
        if self.takes_context:
            given.append(self._context(calls, at))
        try:
            result = self.function(*given)
        except Exception as error:
            raise failed(self.name, self._where(calls, at), error) from error
        try:
            return table_of(result, self.returned, in_pandas=self.in_pandas)
        except ValueError as error:
            raise mismatch(self.name, self._where(calls, at), error) from error

    def _context(self, calls: pa.RecordBatch, at: int) -> Context:
        values = [_python(calls.column(i)[at].as_py()) for i in range(len(self.keys))]
        key = Row(*self.keys)(*values) if values else Row()

        def of(name: str) -> Any:
            return _python(calls.column(name)[at].as_py())

        pane = of("pane") if self.has_pane else None
        return Context(key, of("window"), None, pane, of("watermark"), of("clock"))

    def _where(self, calls: pa.RecordBatch, at: int) -> str:
        context = self._context(calls, at)
        window = context.window
        keys = ", ".join(f"{name} = {value!r}" for name, value in context.key.asDict().items())
        bounds = "a window without bounds"
        if window is not None:
            bounds = f"the window from {window.start} to {window.end}"
        return f"{keys or 'all rows'}, {bounds}"

    def _results(self, calls: pa.RecordBatch, returned: "_Returned") -> Iterator[pa.RecordBatch]:
        """What calls have returned, behind keys, window and pane of each."""
        if returned.rows == 0:
            return
        front = self._front(calls).take(pa.array(returned.positions, pa.int32()))
        values = pa.concat_tables(returned.tables).combine_chunks()
        columns = [*front.columns, *(one_array(column) for column in values.columns)]
        batch = pa.RecordBatch.from_arrays(columns, [*front.schema.names, *self.returned.names])
        if self.asides:
            asides = [pa.nulls(batch.num_rows, calls.schema.field(a).type) for a in self.asides]
            batch = self._tagged("results", batch.to_struct_array(), asides)
        for start in range(0, batch.num_rows, _MOST_ROWS):
            yield batch.slice(start, _MOST_ROWS)

    def _passing(self, aside: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if rows.num_rows:
            results = pa.struct([*self._front(rows).schema, *self.returned])
            asides = [rows.column(name) for name in self.asides]
            yield self._tagged(aside, pa.nulls(rows.num_rows, results), asides)

    def _tagged(self, tag: str, results: pa.Array, asides: list[pa.Array]) -> pa.RecordBatch:
        tags = pa.array([tag] * len(results))
        return pa.RecordBatch.from_arrays(
            [tags, results, *asides], ["tag", "results", *self.asides]
        )

    def _front(self, calls: pa.RecordBatch) -> pa.RecordBatch:
        width = len(self.keys)
        names = [*self.keys, "window", *(["pane"] if self.has_pane else [])]
        places = [*range(width), *(calls.schema.get_field_index(name) for name in names[width:])]
        return pa.RecordBatch.from_arrays([calls.column(i) for i in places], names)


class _Returned:
    """Tables that calls have returned, and for each of their rows where its call ended."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []
        self.positions: list[int] = []

    def add(self, last: int, table: pa.Table) -> None:
        self.tables.append(table)
        self.positions.extend([last] * table.num_rows)

    @property
    def rows(self) -> int:
        return len(self.positions)


def _python(value: Any) -> Any:
    """A value of Arrow's as Spark would collect it, but for instants: these are in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return Row(*value)(*(_python(inner) for inner in value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple):
        return [_python(inner) for inner in value]
    return value
