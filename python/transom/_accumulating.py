"""Accumulators of the user's, in Spark's Python workers: before rows move, and behind a stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from transom._failing import failed, mismatch
from transom._returned import one_array, table_of

if TYPE_CHECKING:
    from transom.accumulators import Accumulator

_WHERE = "a window's rows"
_RESULT = "result"


@dataclass(frozen=True, slots=True)
class Accumulation:
    """All that a worker has to know.

    Attributes
    ----------
    name : str
        Of the accumulator, for errors.
    accumulator : Accumulator
        The user's.
    state : pa.Schema
        Of what it makes of rows.
    returned : pa.DataType
        Of its results.
    """

    name: str
    accumulator: "Accumulator[Any]"
    state: pa.Schema
    returned: pa.DataType

    def parts(self, place: pa.Array, rows: pa.Array) -> pa.Array:
        """The accumulator of each place, beside the first of its rows; null beside the others."""
        number = place.dictionary_encode().indices
        # Stable, so that rows of a place stay in order.
        order = pc.array_sort_indices(number)
        bounds = [0, *pc.run_end_encode(number.take(order)).run_ends.to_pylist()]
        sorted_rows = rows.take(order)
        made = [
            self._call("add", self._call("init"), _table(sorted_rows[start:end]))
            for start, end in pairwise(bounds)
        ]
        # Sorting has put the first of a place in front of its others.
        firsts = order.take(pa.array(bounds[:-1], pa.int64())).to_pylist()
        beside: list[int | None] = [None] * len(rows)
        for group, first in enumerate(firsts):
            beside[first] = group
        return self._states(made, "add").take(pa.array(beside, pa.int64()))

    def results(self, collected: pa.Array) -> pa.Array:
        """The result of each window, from accumulators or from rows; null where there is none."""
        made = [self._whole(parts) for parts in _slices(collected.drop_null())]
        # As it would come out of the state.
        states = _tuples(self._states(made, "merge"))
        given = [self._call("result", state) for state in states]
        results = self._column(given, _RESULT, pa.schema([(_RESULT, self.returned)]), "result")
        if not collected.null_count:
            return results
        numbers = iter(range(len(results)))
        places = [next(numbers) if valid else None for valid in collected.is_valid().to_pylist()]
        return results.take(pa.array(places, pa.int64()))

    def _whole(self, parts: pa.Array) -> Any:
        rows = parts.field("row")
        if rows.null_count == 0:
            empty = self._call("init")
            return self._call("add", empty, _table(rows)) if len(rows) else empty
        whole, *others = _tuples(parts.field("state").cast(pa.struct(self.state)))
        for other in others:
            whole = self._call("merge", whole, other)
        return whole

    def _call(self, method: str, *given: Any) -> Any:
        try:
            return getattr(self.accumulator, method)(*given)
        except Exception as error:
            raise failed(f"{self.name}.{method}", _WHERE, error) from error

    def _states(self, made: Sequence[Any], method: str) -> pa.StructArray:
        for acc in made:
            if not isinstance(acc, tuple) or len(acc) != len(self.state):
                problem = f"it is {acc!r}, and no tuple of {len(self.state)} values"
                raise mismatch(f"{self.name}.{method}", _WHERE, problem)
        columns = [
            self._column([acc[i] for acc in made], field.name, self.state, method)
            for i, field in enumerate(self.state)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.state))

    def _column(self, values: Sequence[Any], name: str, schema: pa.Schema, method: str) -> pa.Array:
        try:
            table = pa.table({name: pa.array(values)})
            column = table_of(table, pa.schema([schema.field(name)]), in_pandas=False)[name]
        except (pa.ArrowException, OverflowError, ValueError) as error:
            raise mismatch(f"{self.name}.{method}", _WHERE, error) from error
        return one_array(column)


def _slices(lists: pa.Array) -> list[pa.Array]:
    offsets = lists.offsets.to_pylist()
    return [lists.values[start:end] for start, end in pairwise(offsets)]


def _table(rows: pa.Array) -> pa.Table:
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)])


def _tuples(states: pa.StructArray) -> list[tuple[Any, ...]]:
    return [tuple(state.values()) for state in states.to_pylist()]
