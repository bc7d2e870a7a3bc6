"""Conversion of the rows that a user function returns to the schema of the function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from transom._base.columns import quoted_list

# Families of types. Values are cast only within a family, by Arrow's safe casts, which raise when
# they would truncate a value.
_NUMBERS = (kinds.is_integer, kinds.is_floating, kinds.is_decimal)
_FAMILIES: tuple[tuple[Callable[[pa.DataType], bool], ...], ...] = (
    _NUMBERS,
    (kinds.is_string, kinds.is_large_string, kinds.is_string_view),
    (kinds.is_binary, kinds.is_large_binary, kinds.is_fixed_size_binary, kinds.is_binary_view),
    (kinds.is_date,),
    (kinds.is_duration,),
)


def table_of(result: Any, target: pa.Schema, *, in_pandas: bool) -> pa.Table:
    """Convert the result of a function to an Arrow table with exactly the columns of a schema.

    Raises
    ------
    ValueError
        The result does not match the schema. The message names the difference.
    """
    table = _from_pandas(result) if in_pandas else result
    if not isinstance(table, pa.Table):
        kind = "pandas.DataFrame" if in_pandas else "pyarrow.Table"
        raise ValueError(f"it has the type {type(result).__name__} instead of {kind}")
    if sorted(table.schema.names) != sorted(target.names):
        raise ValueError(
            f"it has the columns {quoted_list(table.schema.names)} instead of "
            f"{quoted_list(target.names)}"
        )
    return pa.Table.from_arrays([_cast(table, field) for field in target], schema=target)


def column_of(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Convert Python values to a column of a field. A struct is a Row or a dict, a map is a dict.

    Raises
    ------
    ValueError, OverflowError, pa.ArrowException
        A value does not match the type.
    """
    if not kinds.is_nested(field.type):
        # Arrow would change some values to fit the type. Their own type is compared instead.
        values_alone = pa.table({field.name: pa.array(values)})
        return one_array(table_of(values_alone, pa.schema([field]), in_pandas=False)[field.name])
    for value in values:
        _check_names(value, field.type)
    return pa.array(values, field.type)


def _check_names(value: Any, kind: pa.DataType) -> None:
    """Raise a ValueError for a name in a dict that the struct does not have. Arrow drops it."""
    if kinds.is_struct(kind) and isinstance(value, Mapping):
        names = [field.name for field in kind]
        if unknown := [name for name in value if name not in names]:
            raise ValueError(
                f"a struct has {quoted_list(unknown)}, but its type has {quoted_list(names)}"
            )
        for field in kind:
            _check_names(value.get(field.name), field.type)
    elif _is_list(kind) and isinstance(value, Sequence):
        for item in value:
            _check_names(item, kind.value_type)
    elif kinds.is_map(kind) and isinstance(value, Mapping):
        for item in value.values():
            _check_names(item, kind.item_type)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of a column into one array."""
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
        raise ValueError(f"Arrow cannot represent its values: {error}") from error


def _cast(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    column = table.column(field.name)
    if not field.nullable and column.null_count:
        raise ValueError(f"its column '{field.name}' has nulls, which the schema forbids")
    if column.type == field.type:
        return column
    if not _fits(column.type, field.type):
        raise ValueError(
            f"its column '{field.name}' has the type {column.type} instead of {field.type}"
        )
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise ValueError(
            f"its column '{field.name}' cannot be cast to {field.type}: {error}"
        ) from error


def _fits(source: pa.DataType, target: pa.DataType) -> bool:
    if kinds.is_null(source) or source == target:
        return True
    if kinds.is_dictionary(source):
        return _fits(source.value_type, target)
    if kinds.is_timestamp(source) and kinds.is_timestamp(target):
        # A timestamp with any time zone is an instant. A timestamp without one is not.
        return (source.tz is None) == (target.tz is None)
    if _is_list(source) and _is_list(target):
        return _fits(source.value_type, target.value_type)
    if kinds.is_struct(source) and kinds.is_struct(target):
        return [f.name for f in source] == [f.name for f in target] and all(
            _fits(one.type, other.type) for one, other in zip(source, target, strict=True)
        )
    return any(
        any(is_type(source) for is_type in family) and any(is_type(target) for is_type in family)
        for family in _FAMILIES
    )


def _is_list(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
