"""Calls of functions over windows, in Spark's Python workers.

What comes in are the rows of many calls, one after the other, in Arrow batches that end anywhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row

from transom._columns import listed
from transom._failing import failed, mismatch
from transom._returned import one_array, table_of
from transom.functions import Context

# As many as Spark's own batches have.
MOST_ROWS = 10_000


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
    outputs : mapping of str to pa.Schema
        What it may hand on beside that, by name.
    """

    name: str
    function: Callable[..., Any]
    takes_context: bool
    in_pandas: bool
    keys: tuple[str, ...]
    has_pane: bool
    asides: tuple[str, ...]
    returned: pa.Schema
    outputs: Mapping[str, pa.Schema]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the calls, many of them in a batch."""
        begun: list[pa.RecordBatch] = []
        for batch in batches:
            yield from self.passing(batch)
            calls = self.without_passing(batch)
            returned = Returned()
            for last, rows in cut(calls, begun):
                self.call(calls, last, rows, returned)
                if returned.rows >= MOST_ROWS:
                    yield from self.results(calls, returned)
                    returned = Returned()
            yield from self.results(calls, returned)
        check_whole(begun)

    def passing(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows that pass by the function, as they come out."""
        for aside in self.asides:
            rows = batch.filter(pc.is_valid(batch.column(aside)))
            if rows.num_rows:
                yield self._tagged(aside, rows.column(aside), rows.schema)

    def without_passing(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The other rows."""
        for aside in self.asides:
            batch = batch.filter(pc.is_null(batch.column(aside)))
        return batch

    def call(
        self,
        calls: pa.RecordBatch,
        at: int,
        rows: pa.Table,
        returned: "Returned",
        state: "State | None" = None,
    ) -> None:
        """Call the function, whose call ends at a row of `calls`."""
        given: list[Any] = [rows.to_pandas() if self.in_pandas else rows]
        outputs: list[tuple[str, Any]] = []
        if self.takes_context:
            context = self._context(calls, at)
            if state is not None:
                context = replace(context, window_state=state.of_window, key_state=state.of_key)
            given.append(replace(context, _given=outputs))
        try:
            result = self.function(*given)
        except Exception as error:
            raise failed(self.name, self.where(calls, at), error) from error
        schemas = {"results": self.returned, **self.outputs}
        for tag, table in [("results", result), *outputs]:
            named = self.name if tag == "results" else f"{self.name}, for its output {tag!r},"
            try:
                if tag not in schemas:
                    raise ValueError(f"it has the outputs {listed(list(self.outputs))}")
                made = table_of(table, schemas[tag], in_pandas=self.in_pandas)
            except ValueError as error:
                raise mismatch(named, self.where(calls, at), error) from error
            returned.add(tag, at, made)

    def _context(self, calls: pa.RecordBatch, at: int) -> Context:
        values = [python_value(calls.column(i)[at].as_py()) for i in range(len(self.keys))]
        key = Row(*self.keys)(*values) if values else Row()

        def of(name: str) -> Any:
            return python_value(calls.column(name)[at].as_py())

        pane = of("pane") if self.has_pane else None
        return Context(key, of("window"), None, pane, of("watermark"), of("clock"))

    def where(self, calls: pa.RecordBatch, at: int) -> str:
        """Which call it is, for errors."""
        context = self._context(calls, at)
        window = context.window
        keys = ", ".join(f"{name} = {value!r}" for name, value in context.key.asDict().items())
        bounds = "a window without bounds"
        if window is not None:
            bounds = f"the window from {window.start} to {window.end}"
        return f"{keys or 'all rows'}, {bounds}"

    def results(self, calls: pa.RecordBatch, returned: "Returned") -> Iterator[pa.RecordBatch]:
        """What calls have returned, behind keys, window and pane of each."""
        for tag, tables in returned.tables.items():
            front = self._front(calls, tag).take(pa.array(returned.positions[tag], pa.int32()))
            values = pa.concat_tables(tables).combine_chunks()
            columns = [*front.columns, *(one_array(column) for column in values.columns)]
            batch = pa.RecordBatch.from_arrays(columns, [*front.schema.names, *values.column_names])
            if self.asides or self.outputs:
                batch = self._tagged(tag, batch.to_struct_array(), calls.schema)
            for start in range(0, batch.num_rows, MOST_ROWS):
                yield batch.slice(start, MOST_ROWS)

    def _tagged(self, tag: str, values: pa.Array, calls: pa.Schema) -> pa.RecordBatch:
        kinds = {aside: calls.field(aside).type for aside in self.asides}
        for name, schema in {"results": self.returned, **self.outputs}.items():
            front = [(n, calls.field(i).type) for n, i in self._places(calls, name).items()]
            kinds[name] = pa.struct([*front, *schema])
        places = ["results", *self.asides, *self.outputs]
        columns = [values if n == tag else pa.nulls(len(values), kinds[n]) for n in places]
        tags = pa.array([tag] * len(values))
        return pa.RecordBatch.from_arrays([tags, *columns], ["tag", *places])

    def _front(self, calls: pa.RecordBatch, tag: str) -> pa.RecordBatch:
        """The columns in front of what calls have returned."""
        places = self._places(calls.schema, tag)
        return pa.RecordBatch.from_arrays([calls.column(i) for i in places.values()], list(places))

    def _places(self, calls: pa.Schema, tag: str) -> dict[str, int]:
        """Where these columns are, by their names."""
        own = ["window", "pane"] if self.has_pane and tag == "results" else ["window"]
        keys = {name: i for i, name in enumerate(self.keys)}
        return keys | {name: calls.get_field_index(name) for name in own}


@dataclass(frozen=True, slots=True)
class State:
    """What a call finds kept, and leaves."""

    of_window: dict[str, Any]
    of_key: dict[str, Any]


class Returned:
    """Tables that calls have returned, by tag, and for each of their rows where its call ended."""

    def __init__(self) -> None:
        self.tables: dict[str, list[pa.Table]] = {}
        self.positions: dict[str, list[int]] = {}
        self.rows = 0

    def add(self, tag: str, last: int, table: pa.Table) -> None:
        """Take a table, of the call that ended there."""
        if table.num_rows:
            self.tables.setdefault(tag, []).append(table)
            self.positions.setdefault(tag, []).extend([last] * table.num_rows)
            self.rows += table.num_rows


def cut(calls: pa.RecordBatch, begun: list[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """The calls that end in a batch: where, and all their rows.

    Those of a call that goes on in the next batch are left in `begun`.
    """
    rows = pa.RecordBatch.from_struct_array(calls.column("row"))
    start = 0
    for last in pc.indices_nonzero(calls.column("is_last")).to_pylist():
        if calls.column("row")[last].is_valid:
            begun.append(rows.slice(start, last + 1 - start))
        else:
            begun.append(rows.slice(last, 0))
        yield last, pa.Table.from_batches(begun)
        begun.clear()
        start = last + 1
    if start < calls.num_rows:
        begun.append(rows.slice(start))


def check_whole(begun: list[pa.RecordBatch]) -> None:
    """Fail rather than lose the rows of a call that has no end, a fault of the stage's."""
    if begun:
        rows = sum(batch.num_rows for batch in begun)
        raise RuntimeError(f"the input is over after {rows} row(s) of a call, without its last one")


def python_value(value: Any) -> Any:
    """A value of Arrow's as Spark would collect it, but for instants: these are in UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return Row(*value)(*(python_value(inner) for inner in value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple):
        return [python_value(inner) for inner in value]
    return value
