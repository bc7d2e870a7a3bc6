"""Conversion of the values that a user function returns or keeps, to Arrow and back."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds
from pyspark.sql import Row

from transom._base.columns import quoted_list
from transom._base.times import date_of, datetime_of

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
    kind = field.type
    if not field.nullable and any(value is None for value in values):
        raise ValueError(f"'{field.name}' has nulls, which the schema forbids")
    if kinds.is_struct(kind):
        return _structs(values, kind)
    if _is_list(kind):
        items, offsets = _flat(values, field.name, list)
        inner = column_of(items, kind.value_field)
        return pa.ListArray.from_arrays(offsets, inner, kind)
    if kinds.is_map(kind):
        pairs, offsets = _flat(values, field.name, _pairs)
        keys = column_of([key for key, _ in pairs], kind.key_field)
        items = column_of([item for _, item in pairs], kind.item_field)
        return pa.MapArray.from_arrays(offsets, keys, items, kind)
    # Arrow would change some values to fit the type. Their own type is compared instead.
    table = pa.table({field.name: pa.array(values)})
    return one_array(table_of(table, pa.schema([field]), in_pandas=False)[field.name])


def _structs(values: Sequence[Any], kind: pa.StructType) -> pa.Array:
    """Convert structs. The columns of their fields have only the structs that are not null."""
    names = [field.name for field in kind]
    structs = [_by_name(value, names) for value in values if value is not None]
    columns = [column_of([struct[field.name] for struct in structs], field) for field in kind]
    there = pa.StructArray.from_arrays(columns, fields=list(kind))
    numbers = iter(range(len(structs)))
    positions = [None if value is None else next(numbers) for value in values]
    return there.take(pa.array(positions, pa.int64()))


def _by_name(value: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields of a struct by name. A field that a dict lacks is null."""
    given = value.asDict() if isinstance(value, Row) and hasattr(value, "__fields__") else value
    if isinstance(given, tuple) and len(given) == len(names):
        return dict(zip(names, given, strict=True))
    if not isinstance(given, Mapping):
        raise ValueError(f"{value!r} is no struct of {quoted_list(names)}: use a dict or a Row")
    if unknown := [name for name in given if name not in names]:
        raise ValueError(
            f"a struct has {quoted_list(unknown)}, but its type has {quoted_list(names)}"
        )
    return {name: given.get(name) for name in names}


def _flat(
    values: Sequence[Any], name: str, items_of: Callable[[Any], list[Any]]
) -> tuple[list[Any], pa.Array]:
    """Return the items of all lists or maps, and the offset of each. A null has no offset."""
    items: list[Any] = []
    offsets: list[int | None] = []
    for value in values:
        offsets.append(None if value is None else len(items))
        try:
            items += [] if value is None else items_of(value)
        except TypeError:
            raise ValueError(f"'{name}' has {value!r}, which is no list or map") from None
        if isinstance(value, str | bytes):
            raise ValueError(f"'{name}' has {value!r}, which is no list or map")
    return items, pa.array([*offsets, len(items)], pa.int32())


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else [(k, v) for k, v in value]


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


def python_value(scalar: pa.Scalar) -> Any:
    """Convert a value of Arrow to the Python value that Spark collects.

    Timestamps with a time zone are an exception: they are in UTC. Spark has times and dates outside
    of the years 1 to 9999, which Python lacks. They are the first or the last of Python's.
    """
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if kinds.is_struct(kind):
        names = [field.name for field in kind]
        return Row(*names)(*(python_value(scalar[name]) for name in names))
    if kinds.is_map(kind):
        keys, items = scalar.values.flatten()
        return {python_value(k): python_value(v) for k, v in zip(keys, items, strict=True)}
    if _is_list(kind):
        return [python_value(item) for item in scalar.values]
    if kinds.is_timestamp(kind) and kind.unit == "us":
        return datetime_of(scalar.value, None if kind.tz is None else UTC)
    if kinds.is_date32(kind):
        return date_of(scalar.value)
    return scalar.as_py()
