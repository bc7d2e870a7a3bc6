"""The names of result columns."""

from collections.abc import Callable, Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from transom._base.columns import folding, has_columns
from transom._base.errors import reserved_name, type_error, value_error
from transom._calls.calls import key_names
from transom.spec.window_spec import WindowSpec

# Names of result columns other than keys and values.
RESERVED = ("window", "window_id", "pane", "lifetime", "change")


def named_aggregate(name: str, aggregate: Column) -> Column:
    """Return an aggregate under its name."""
    if not isinstance(aggregate, Column):
        raise type_error(name, aggregate, "a Column such as F.count('*')")
    return aggregate.alias(name)


def check_names(result: DataFrame, spec: WindowSpec) -> None:
    """Raise an error if a key or an aggregate has the name of another column of the result."""
    if not has_columns(result):
        return
    schema = result.schema["results"].dataType if spec.side_output_tags else result.schema
    assert isinstance(schema, StructType)
    keys = len(spec.keys)
    _check_keys(schema.names[:keys], spec)
    for name in schema.names[keys + len(spec.own_columns) :]:
        if name.lower() in RESERVED:
            raise reserved_name("aggregates", name)
    fold = folding(result)
    _check_distinct("keys", schema.names[:keys], fold)
    _check_distinct("aggregates", schema.names, fold)


def check_call_keys(calls: DataFrame, spec: WindowSpec) -> None:
    """Raise an error if a key has the name of a column of ours or of the function."""
    if not has_columns(calls):
        return
    keys = key_names(calls.columns)
    fold = folding(calls)
    _check_distinct("keys", keys, fold)
    _check_keys(keys, spec)
    assert spec.function is not None
    taken = {fold(key) for key in keys}
    outputs = (spec.function.outputs or {}).values()
    for argument, schema in (("schema", spec.function.schema), *(("outputs", o) for o in outputs)):
        for name in schema.names:
            if fold(name) in taken:
                why = f"the key {name!r} is in the result already, so use another name"
                raise value_error(
                    "BAD_SCHEMA", argument=argument, value=repr(schema.simpleString()), why=why
                )


def _check_distinct(argument: str, names: Iterable[str], fold: Callable[[str], str]) -> None:
    found: set[str] = set()
    for name in names:
        if fold(name) in found:
            fix = "Give one of the columns another name, as in agg(other=F.max('delay'))"
            if argument == "keys":
                fix = "Remove one of the keys, or give it another name with alias()"
            raise value_error("DUPLICATE_NAME", argument=argument, column=repr(name), fix=fix)
        found.add(fold(name))


def _check_keys(names: Iterable[str], spec: WindowSpec) -> None:
    for name in names:
        if name.lower() in spec.own_columns:
            raise reserved_name("keys", name)
