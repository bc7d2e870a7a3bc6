"""What functions over windows return, brought into the schema that was announced."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from transom._columns import listed

# Types of one meaning: a value is cast among them, as long as it stays the same.
_NUMBERS = (kinds.is_integer, kinds.is_floating, kinds.is_decimal)
_KIN: tuple[tuple[Callable[[pa.DataType], bool], ...], ...] = (
    _NUMBERS,
    (kinds.is_string, kinds.is_large_string, kinds.is_string_view),
    (kinds.is_binary, kinds.is_large_binary, kinds.is_fixed_size_binary, kinds.is_binary_view),
    (kinds.is_date,),
    (kinds.is_duration,),
)


def table_of(result: Any, wanted: pa.Schema, *, in_pandas: bool) -> pa.Table:
    """The result as a table of just these columns.

    Raises
    ------
    ValueError
        Saying what differs.
    """
    table = _from_pandas(result) if in_pandas else result
    if not isinstance(table, pa.Table):
        kind = "pandas DataFrame" if in_pandas else "pyarrow Table"
        raise ValueError(f"it is of type {type(result).__name__}, and no {kind}")
    if sorted(table.schema.names) != sorted(wanted.names):
        raise ValueError(f"its columns are {listed(table.schema.names)}")
    return pa.Table.from_arrays([_cast(table, field) for field in wanted], schema=wanted)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def _from_pandas(result: Any) -> Any:
    import pandas as pd

    if not isinstance(result, pd.DataFrame):
        return result
    names = [str(name) for name in result.columns]
    try:
        return pa.Table.from_pandas(result.set_axis(names, axis=1), preserve_index=False)
    except pa.ArrowException as error:
        raise ValueError(f"Arrow cannot hold its values: {error}") from error


def _cast(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    column = table.column(field.name)
    if not field.nullable and column.null_count:
        raise ValueError(f"its column '{field.name}' has nulls")
    if column.type == field.type:
        return column
    if not _fits(column.type, field.type):
        raise ValueError(f"its column '{field.name}' is of type {column.type}, not {field.type}")
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise ValueError(f"its column '{field.name}' is no {field.type}: {error}") from error


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    if kinds.is_null(given) or given == wanted:
        return True
    if kinds.is_dictionary(given):
        return _fits(given.value_type, wanted)
    if kinds.is_timestamp(given) and kinds.is_timestamp(wanted):
        # An instant is none without a time zone; in which one it is written is all the same.
        return (given.tz is None) == (wanted.tz is None)
    if _is_list(given) and _is_list(wanted):
        return _fits(given.value_type, wanted.value_type)
    if kinds.is_struct(given) and kinds.is_struct(wanted):
        return [f.name for f in given] == [f.name for f in wanted] and all(
            _fits(one.type, other.type) for one, other in zip(given, wanted, strict=True)
        )
    return any(
        any(is_one(given) for is_one in kin) and any(is_one(wanted) for is_one in kin)
        for kin in _KIN
    )


def _is_list(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
