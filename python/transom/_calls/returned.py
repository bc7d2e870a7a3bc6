"""Conversion of the values that a user function returns or keeps, to Arrow and back."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
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
_MICROSECOND = timedelta(microseconds=1)
_TIMES, _DATES = (datetime.min, datetime.max), (date.min, date.max)
Rows = TypeVar("Rows", pa.Table, pa.Array)
Values = TypeVar("Values")


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


def python_values(rows: Rows, convert: Callable[[Rows], Values]) -> Values:
    """Convert a table or an array, by a method of Arrow that makes Python values.

    Arrow raises for times and dates that Python lacks. They become the nearest that Python has.
    """
    try:
        return convert(rows)
    except (ValueError, OverflowError):
        if isinstance(rows, pa.Array):
            return convert(_nearest(rows))
        columns = [
            # pandas has all times, but neither all dates nor all times in structs.
            column if kinds.is_timestamp(column.type) else _nearest(one_array(column))
            for column in rows.columns
        ]
        return convert(pa.Table.from_arrays(columns, schema=rows.schema))


def _nearest(array: pa.Array) -> pa.Array:
    """Replace the times and dates that Python lacks by the nearest that it has, also in structs."""
    kind = array.type
    if kinds.is_date32(kind):
        return _between(array, pa.int32(), *((end - date(1970, 1, 1)).days for end in _DATES))
    if kinds.is_timestamp(kind) and kind.unit == "us":
        return _between(array, pa.int64(), *(_in_zone(end, kind.tz) for end in _TIMES))
    if not (kinds.is_struct(kind) or kinds.is_map(kind) or _is_list(kind)):
        return array
    # A slice would have the offsets and values of its whole array.
    array = array.take(pa.array(range(len(array)), pa.int64()))
    nulls = array.is_null()
    if kinds.is_struct(kind):
        fields = [_nearest(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=nulls)
    if kinds.is_map(kind):
        keys, items = _nearest(array.keys), _nearest(array.items)
        return pa.MapArray.from_arrays(array.offsets, keys, items, kind, mask=nulls)
    return type(array).from_arrays(array.offsets, _nearest(array.values), kind, mask=nulls)


def _between(array: pa.Array, number: pa.DataType, first: int, last: int) -> pa.Array:
    """Replace the values outside of two, which are given as the numbers that Arrow stores."""
    numbers = pc.min_element_wise(array.view(number), pa.scalar(last, number), skip_nulls=False)
    kept = pc.max_element_wise(numbers, pa.scalar(first, number), skip_nulls=False)
    return kept.view(array.type)


def _in_zone(end: datetime, zone: str | None) -> int:
    """Return the time nearest to the first or last of Python, in microseconds since 1970.

    Arrow converts times to their time zone, where Python must have them too.
    """
    micros = (end - datetime(1970, 1, 1)) // _MICROSECOND
    if zone is None:
        return micros
    offset = (pa.lib.string_to_tzinfo(zone).utcoffset(end) or timedelta()) // _MICROSECOND
    return micros - (max(offset, 0) if end == datetime.max else min(offset, 0))
