"""Calls of user functions over windows, in Spark's Python workers.

The input is Arrow batches. They hold the rows of many calls, one call after the other. A batch may
end in the middle of a call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row

from transom._base.columns import quoted_list
from transom._base.constants import CALL_KEY_PREFIX
from transom._base.errors import runtime_error
from transom._calls.failing import function_failed, schema_mismatch
from transom._calls.returned import one_array, python_value, python_values, table_of
from transom.functions import Context, State

# Maximum rows of an output batch, the default of Spark's Arrow batches.
MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls a user function for the windows in Arrow batches. Workers receive it pickled.

    Attributes
    ----------
    name : str
        Name of the function, for errors.
    function : callable
        The user function.
    takes_context : bool
        Whether the function has a second argument, the context.
    in_pandas : bool
        Whether the function receives and returns pandas DataFrames.
    own_columns : tuple of str
        The columns of a result between the keys and those of the function.
    side_output_tags : tuple of str
        Columns with the rows of side outputs, such as late rows. These rows bypass the function.
    result_schema : pa.Schema
        Schema of the rows that the function returns.
    outputs : mapping of str to pa.Schema
        Schemas of the named outputs.
    """

    name: str
    function: Callable[..., Any]
    takes_context: bool
    in_pandas: bool
    own_columns: tuple[str, ...]
    side_output_tags: tuple[str, ...]
    result_schema: pa.Schema
    outputs: Mapping[str, pa.Schema]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Call the function for all windows, and yield batches with the results of many calls."""
        open_rows: list[pa.RecordBatch] = []
        for batch in batches:
            yield from self.side_outputs(batch)
            calls = self.without_side_outputs(batch)
            results = CallResults()
            for last, rows in split_calls(calls, open_rows):
                self.call(calls, last, rows, results)
                if results.rows >= MOST_ROWS:
                    yield from self.results(calls, results)
                    results = CallResults()
            yield from self.results(calls, results)
        check_whole(open_rows)

    def side_outputs(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the rows of side outputs, as tagged rows."""
        for tag in self.side_output_tags:
            rows = batch.filter(pc.is_valid(batch.column(tag)))
            if rows.num_rows:
                yield self._tagged(tag, rows.column(tag), rows.schema)

    def without_side_outputs(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of calls: the batch without the rows of side outputs."""
        for tag in self.side_output_tags:
            batch = batch.filter(pc.is_null(batch.column(tag)))
        return batch

    def call(
        self,
        calls: pa.RecordBatch,
        last: int,
        rows: pa.Table,
        results: "CallResults",
        state: "CallState | None" = None,
    ) -> None:
        """Call the function once, and add the tables that it returns to `results`.

        Parameters
        ----------
        calls : pa.RecordBatch
            The batch in which the call ends.
        last : int
            Index in `calls` of the last row of the call, which has its key and window.
        rows : pa.Table
            The rows of the window.
        results : CallResults
            Receives the results and the named outputs.
        state : CallState, optional
            State of the window and the key. The function changes it in place.

        Raises
        ------
        PySparkRuntimeError
            ``TRANSOM_FUNCTION_FAILED``, ``TRANSOM_FUNCTION_SCHEMA``, ``TRANSOM_NEEDS_PANDAS``.
        """
        try:
            arguments: list[Any] = [
                python_values(rows, lambda table: table.to_pandas()) if self.in_pandas else rows
            ]
        except ImportError:
            raise runtime_error("NEEDS_PANDAS", argument="form") from None
        outputs: list[tuple[str, Any]] = []
        kept = state or CallState(State(), State())
        if self.takes_context:
            context = replace(
                self._context(calls, last),
                window_state=kept.window_values,
                key_state=kept.key_values,
                _outputs=outputs,
            )
            arguments.append(context)
        try:
            result = self.function(*arguments)
        except Exception as error:
            raise function_failed(self.name, self.where(calls, last), error) from error
        if state is None and (kept.window_values or kept.key_values):
            problem = "it set state, but no state has a schema"
            fix = "Add one, as in apply(..., key_state='n long') or scan(..., state='n long')"
            raise schema_mismatch(self.name, self.where(calls, last), problem, fix)
        schemas = {"results": self.result_schema, **self.outputs}
        for tag, value in [("results", result), *outputs]:
            source = self.name if tag == "results" else f"{self.name}, for its output {tag!r},"
            if tag not in schemas:
                problem = f"the declared outputs are {quoted_list(list(self.outputs))}"
                fix = f"Add the output, as in apply(..., outputs={{{tag!r}: 'n long'}})"
                raise schema_mismatch(source, self.where(calls, last), problem, fix)
            try:
                table = table_of(value, schemas[tag], in_pandas=self.in_pandas)
            except ValueError as error:
                raise schema_mismatch(source, self.where(calls, last), error) from error
            results.add(tag, last, table)

    def _context(self, calls: pa.RecordBatch, last: int) -> Context:
        keys = key_columns(calls.schema.names)
        values = [python_value(calls.column(i)[last]) for i in keys.values()]
        key = Row(*keys)(*values) if values else Row()

        def value_of(name: str) -> Any:
            return python_value(calls.column(name)[last])

        return Context(
            key,
            value_of("window"),
            value_of("window_id") if "window_id" in self.own_columns else None,
            value_of("pane") if "pane" in self.own_columns else None,
            value_of("watermark"),
            value_of("clock"),
        )

    def where(self, calls: pa.RecordBatch, last: int) -> str:
        """Return the key and the window of a call as text, for errors."""
        context = self._context(calls, last)
        window = context.window
        named = zip(key_columns(calls.schema.names), context.key, strict=True)
        keys = ", ".join(f"{name} = {value!r}" for name, value in named)
        bounds = "a window without bounds"
        if window is not None:
            bounds = f"the window from {window.start} to {window.end}"
        return f"{keys or 'all rows'}, {bounds}"

    def results(self, calls: pa.RecordBatch, results: "CallResults") -> Iterator[pa.RecordBatch]:
        """Yield the tables of `results`, with the keys, window and pane of each call in front."""
        for tag, tables in results.tables.items():
            front = self._front(calls, tag).take(pa.array(results.positions[tag], pa.int32()))
            values = pa.concat_tables(tables).combine_chunks()
            columns = [*front.columns, *(one_array(column) for column in values.columns)]
            batch = pa.RecordBatch.from_arrays(columns, [*front.schema.names, *values.column_names])
            if self.side_output_tags or self.outputs:
                batch = self._tagged(tag, batch.to_struct_array(), calls.schema)
            for start in range(0, batch.num_rows, MOST_ROWS):
                yield batch.slice(start, MOST_ROWS)

    def _tagged(self, tag: str, values: pa.Array, calls: pa.Schema) -> pa.RecordBatch:
        types = {name: calls.field(name).type for name in self.side_output_tags}
        for name, schema in {"results": self.result_schema, **self.outputs}.items():
            front = [(n, calls.field(i).type) for n, i in self._front_indexes(calls, name).items()]
            types[name] = pa.struct([*front, *schema])
        names = ["results", *self.side_output_tags, *self.outputs]
        columns = [values if n == tag else pa.nulls(len(values), types[n]) for n in names]
        tags = pa.array([tag] * len(values))
        return pa.RecordBatch.from_arrays([tags, *columns], ["tag", *names])

    def _front(self, calls: pa.RecordBatch, tag: str) -> pa.RecordBatch:
        """Return the columns in front of the function's own.

        They are the keys, the window and its id, and for results all columns of their own.
        """
        indexes = self._front_indexes(calls.schema, tag)
        return pa.RecordBatch.from_arrays(
            [calls.column(i) for i in indexes.values()], list(indexes)
        )

    def _front_indexes(self, calls: pa.Schema, tag: str) -> dict[str, int]:
        """Return the indexes in `calls` of the columns in front, by name."""
        of_outputs = ("window", "window_id")
        names = [name for name in self.own_columns if tag == "results" or name in of_outputs]
        return key_columns(calls.names) | {name: calls.get_field_index(name) for name in names}


@dataclass(frozen=True, slots=True)
class CallState:
    """State of a window and of a key, by name. A call reads and changes both dictionaries."""

    window_values: dict[str, Any]
    key_values: dict[str, Any]


class CallResults:
    """Tables that calls have returned, by tag.

    For each row of a table, ``positions`` has the index of the last row of its call.
    """

    def __init__(self) -> None:
        self.tables: dict[str, list[pa.Table]] = {}
        self.positions: dict[str, list[int]] = {}
        self.rows = 0

    def add(self, tag: str, last: int, table: pa.Table) -> None:
        """Add a table of the call whose last row has the index `last`."""
        if table.num_rows:
            self.tables.setdefault(tag, []).append(table)
            self.positions.setdefault(tag, []).extend([last] * table.num_rows)
            self.rows += table.num_rows


def split_calls(
    calls: pa.RecordBatch, open_rows: list[pa.RecordBatch]
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the calls that end in a batch: the index of the last row, and all rows of the window.

    Parameters
    ----------
    calls : pa.RecordBatch
        The batch. ``is_last`` marks the last row of a call, and ``row`` has the row of the window.
    open_rows : list of pa.RecordBatch
        The rows of the call that the previous batch has begun. On return, the rows of the call that
        the next batch continues.
    """
    rows = pa.RecordBatch.from_struct_array(calls.column("row"))
    start = 0
    for last in pc.indices_nonzero(calls.column("is_last")).to_pylist():
        # A call without rows is a single row in which ``row`` is null.
        if calls.column("row")[last].is_valid:
            open_rows.append(rows.slice(start, last + 1 - start))
        else:
            open_rows.append(rows.slice(last, 0))
        yield last, pa.Table.from_batches(open_rows)
        open_rows.clear()
        start = last + 1
    if start < calls.num_rows:
        open_rows.append(rows.slice(start))


def check_whole(open_rows: list[pa.RecordBatch]) -> None:
    """Raise a RuntimeError if the input has ended in the middle of a call.

    Only a bug of the window operator can cause this. Without the error the rows would be lost.
    """
    if open_rows:
        rows = sum(batch.num_rows for batch in open_rows)
        raise RuntimeError(f"the input ended after {rows} row(s) of a call, before its last row")


def key_columns(columns: Sequence[str]) -> dict[str, int]:
    """Return the names of the keys among the columns of calls, with the indexes of the columns."""
    return {name: columns.index(CALL_KEY_PREFIX + name) for name in key_names(columns)}


def key_names(columns: Sequence[str]) -> list[str]:
    """Return the names of the keys among the columns of calls."""
    return [
        name.removeprefix(CALL_KEY_PREFIX) for name in columns if name.startswith(CALL_KEY_PREFIX)
    ]
