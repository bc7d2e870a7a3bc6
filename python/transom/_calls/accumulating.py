"""User accumulators in Spark's Python workers, before the exchange and behind a window operator."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from transom._calls.failing import function_failed, schema_mismatch
from transom._calls.returned import column_of, python_values
from transom.accumulators import Accumulator

_WHERE = "a window's rows"
_RESULT = "result"


@dataclass(frozen=True, slots=True)
class Accumulation:
    """Calls a user accumulator on Arrow arrays. Workers receive it pickled.

    Attributes
    ----------
    name : str
        Name of the accumulator, for errors.
    accumulator : Accumulator
        The user accumulator.
    state : pa.Schema
        Schema of its state.
    result_type : pa.DataType
        Type of its results.
    removes : bool
        Whether rows can be removed from an accumulator.
    last : list
        The accumulator of the last window of the task, if any.
    """

    name: str
    accumulator: Accumulator[Any]
    state: pa.Schema
    result_type: pa.DataType
    removes: bool
    last: list[Any] = field(default_factory=list)

    def parts(self, place: pa.Array, rows: pa.Array) -> pa.Array:
        """Return one accumulator for each place, in the position of its first row.

        All other positions are null, so the array is as long as `rows`.

        Parameters
        ----------
        place : pa.Array
            The key and the slice of each row, as bytes.
        rows : pa.Array
            The rows, as structs.
        """
        number = place.dictionary_encode().indices
        # The sort is stable, so the rows of a place stay in their order.
        order = pc.array_sort_indices(number)
        bounds = [0, *pc.run_end_encode(number.take(order)).run_ends.to_pylist()]
        sorted_rows = rows.take(order)
        accumulators = [
            self._call("add", self._empty(), _table(sorted_rows[start:end]))
            for start, end in pairwise(bounds)
        ]
        first_rows = order.take(pa.array(bounds[:-1], pa.int64())).to_pylist()
        indexes: list[int | None] = [None] * len(rows)
        for index, first in enumerate(first_rows):
            indexes[first] = index
        return self._states(accumulators, "add").take(pa.array(indexes, pa.int64()))

    def results(self, collected: pa.Array) -> pa.Array:
        """Return the result of each window, or null where `collected` is null.

        Parameters
        ----------
        collected : pa.Array
            For each window, a list of structs with the fields ``state`` and ``row``. Either all
            structs have an accumulator in ``state``, or all have a row in ``row``. If rows can be
            removed, a struct may have neither. Then the structs before it hold the rows that
            entered since the previous window. The structs after it hold the rows that left.
        """
        content = self._changed if self.removes else self._merged
        accumulators = [content(parts) for parts in _lists(collected.drop_null())]
        # Casting to the state schema gives result() the same types as values from the state.
        states = _tuples(self._states(accumulators, "merge"))
        values = [self._call("result", state) for state in states]
        schema = pa.schema([(_RESULT, self.result_type)])
        results = self._column(values, _RESULT, schema, "result")
        if not collected.null_count:
            return results
        numbers = iter(range(len(results)))
        indexes = [next(numbers) if valid else None for valid in collected.is_valid().to_pylist()]
        return results.take(pa.array(indexes, pa.int64()))

    def _changed(self, parts: pa.Array) -> Any:
        rows = parts.field("row")
        between = pc.index(rows.is_null(), True).as_py()
        if between < 0 or parts.field("state").null_count < len(parts):
            changed = self._merged(parts)
        else:
            changed = self.last[0]
            for method, some in (("add", rows[:between]), ("remove", rows[between + 1 :])):
                if len(some):
                    changed = self._call(method, changed, _table(some))
        self.last[:] = [changed]
        return changed

    def _merged(self, parts: pa.Array) -> Any:
        rows = parts.field("row")
        if rows.null_count == 0:
            empty = self._empty()
            return self._call("add", empty, _table(rows)) if len(rows) else empty
        merged, *others = _tuples(parts.field("state").cast(pa.struct(self.state)))
        for other in others:
            merged = self._call("merge", merged, other)
        return merged

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self.accumulator, method)(*arguments)
        except Exception as error:
            raise function_failed(f"{self.name}.{method}", _WHERE, error) from error

    def _empty(self) -> Any:
        empty = self._call("init")
        self._check_tuple(empty, "init")
        return empty

    def _check_tuple(self, acc: Any, method: str) -> None:
        count = len(self.state)
        if not isinstance(acc, tuple) or len(acc) != count:
            kind = "one value, such as (0,)" if count == 1 else f"{count} values"
            problem = f"it is {acc!r} instead of a tuple of {kind}"
            raise schema_mismatch(f"{self.name}.{method}", _WHERE, problem)

    def _states(self, accumulators: Sequence[Any], method: str) -> pa.StructArray:
        for acc in accumulators:
            self._check_tuple(acc, method)
        columns = [
            self._column([acc[i] for acc in accumulators], field.name, self.state, method)
            for i, field in enumerate(self.state)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.state))

    def _column(self, values: Sequence[Any], name: str, schema: pa.Schema, method: str) -> pa.Array:
        try:
            return column_of(values, schema.field(name))
        except (pa.ArrowException, OverflowError, ValueError) as error:
            raise schema_mismatch(f"{self.name}.{method}", _WHERE, error) from error


def _lists(lists: pa.Array) -> list[pa.Array]:
    offsets = lists.offsets.to_pylist()
    return [lists.values[start:end] for start, end in pairwise(offsets)]


def _table(rows: pa.Array) -> pa.Table:
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)])


def _tuples(states: pa.StructArray) -> list[tuple[Any, ...]]:
    return [tuple(state.values()) for state in python_values(states, pa.Array.to_pylist)]
