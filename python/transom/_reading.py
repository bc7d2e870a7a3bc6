"""The message read back: what `encode` wrote, checked field by field as the JVM does."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any, TypeVar, get_type_hints

from pyspark.errors import PySparkException, PySparkTypeError, PySparkValueError
from pyspark.sql.types import StructType

from transom._durations import Duration
from transom._errors import value_error
from transom._writing import (
    COLUMN_HINTS,
    EVICTORS,
    LATER,
    LENGTH_HINTS,
    TIMES,
    TRIGGER_HINTS,
    TRIGGERS,
    VERSION,
    WINDOWS,
    Kind,
    Message,
)
from transom.assigners import Gap
from transom.spec import Apply, WindowSpec

V = TypeVar("V")


def decode(text: str, columns: Sequence[Any]) -> WindowSpec:
    """What `encode` wrote as JSON, with these columns.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_SPEC``, naming the field that is missing, unknown or cannot be.
    """
    try:
        message = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise _bad("message", f"it is not JSON: {error}") from None
    read = _Reader(message, "", columns)
    if read.whole("version") != VERSION:
        raise _bad("version", f"it is not {VERSION}")
    read.constants(LATER)
    function, aggregates = _read_function(read.inner("function"))
    spec = read.value(
        WindowSpec,
        {
            "keys": read.columns("key_columns"),
            "time": read.optional("time", lambda name: _read(read.inner(name), TIMES)),
            "order": read.columns("order_columns"),
            "window": _read(read.inner("window"), WINDOWS),
            "trigger": _read(read.inner("trigger"), TRIGGERS),
            "evictor": read.optional("evictor", lambda name: _read(read.inner(name), EVICTORS)),
            "function": function,
            "aggregates": aggregates,
            "allowed_lateness": read.length("allowed_lateness_us"),
            "clock": read.length("clock_us"),
            **{
                name: read.plain(name)
                for name in (
                    "name",
                    "drain",
                    "pane",
                    "retract",
                    "late_rows",
                    "dead_letters",
                    "key_groups",
                    "layout",
                    "row_log",
                )
            },
        },
    )
    read.end()
    return spec


class _Reader:
    """An object of the message. Each field must be asked for, and there must be no other."""

    def __init__(self, node: object, path: str, columns: Sequence[Any]) -> None:
        if not isinstance(node, dict):
            raise _bad(path or "message", "it is not an object")
        self._left = dict(node)
        self._path = path
        self._columns = columns

    def plain(self, name: str) -> Any:
        if name not in self._left:
            raise self.bad(name, "it is missing")
        return self._left.pop(name)

    def whole(self, name: str) -> int:
        value = self.plain(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.bad(name, "it is not a whole number")
        return value

    def length(self, name: str) -> timedelta:
        value = self.whole(name)
        if not -(2**63) < value < 2**63:
            raise self.bad(name, "it does not fit into 64 bits")
        return timedelta(microseconds=value)

    def column(self, name: str) -> Any:
        return self._named(name, self.plain(name))

    def columns(self, name: str) -> tuple[Any, ...]:
        indexes = self.plain(name)
        if not isinstance(indexes, list):
            raise self.bad(name, "it is not a list of columns' indexes")
        return tuple(self._named(name, index) for index in indexes)

    def inner(self, name: str) -> "_Reader":
        return _Reader(self.plain(name), self._at(name), self._columns)

    def schema(self, name: str) -> StructType:
        try:
            return StructType.fromJson(self.plain(name))
        except (AttributeError, KeyError, TypeError, ValueError, PySparkException):
            raise self.bad(name, "it is not a schema of Spark's") from None

    def schemas(self) -> dict[str, StructType]:
        return {name: self.schema(name) for name in list(self._left)}

    def optional(self, name: str, read: Callable[[str], V]) -> V | None:
        if name in self._left and self._left[name] is None:
            self.plain(name)
            return None
        return read(name)

    def constants(self, later: Mapping[str, Any]) -> None:
        for name, default in later.items():
            # 0 is no false, though Python has them equal.
            if json.dumps(self.plain(name)) != json.dumps(default):
                raise self.bad(name, f"in this version it must be {json.dumps(default)}")

    def value(self, made: type[V], arguments: Mapping[str, Any]) -> V:
        try:
            return made(**arguments)
        except (PySparkTypeError, PySparkValueError) as error:
            parameters = error.getMessageParameters() or {}
            argument = parameters["argument"]
            is_length = isinstance(arguments.get(argument), timedelta)
            name = f"{argument}_us" if is_length else argument
            raise self.bad(name, str(error).removesuffix(".")) from None

    def end(self) -> None:
        for name in self._left:
            raise self.bad(name, "this version does not know this field")

    def bad(self, name: str, problem: str) -> Exception:
        return _bad(self._at(name), problem)

    def _named(self, name: str, index: object) -> Any:
        if isinstance(index, bool) or not isinstance(index, int):
            raise self.bad(name, "it has no index of a column")
        if not 0 <= index < len(self._columns):
            raise self.bad(name, f"there is no column {index}")
        return self._columns[index]

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def _read(read: _Reader, kinds: Mapping[str, Kind]) -> Any:
    kind = _kind(read, kinds)
    hints = get_type_hints(kind.made)
    read.constants(kind.later)
    arguments = {f.name: _read_field(read, f.name, hints[f.name]) for f in fields(kind.made)}
    value = read.value(kind.made, arguments)
    read.end()
    return value


def _read_field(read: _Reader, name: str, hint: object) -> Any:
    if hint in COLUMN_HINTS:
        return read.column(f"{name}_column")
    if hint == Gap:
        length = read.optional(f"{name}_us", read.length)
        column = read.optional(f"{name}_column", read.column)
        if (length is None) == (column is None):
            raise read.bad(f"{name}_column", f"one of it and {name}_us must be null, and one not")
        return column if length is None else length
    if hint == Duration:
        return read.length(f"{name}_us")
    if hint in LENGTH_HINTS:
        return read.optional(f"{name}_us", read.length)
    if hint in TRIGGER_HINTS:
        return read.optional(name, lambda name: _read(read.inner(name), TRIGGERS))
    return read.plain(name)


def _read_function(read: _Reader) -> tuple[Apply | None, tuple[Any, ...]]:
    name = _kind(read, {"agg": "aggregate_columns", "apply": "agg_columns"})
    columns = read.columns(name)
    function = None
    if name == "agg_columns":
        arguments = {
            "schema": read.schema("schema"),
            "form": read.plain("form"),
            "window_state": read.optional("window_state", read.schema),
            "key_state": read.optional("key_state", read.schema),
            "outputs": read.optional("outputs", lambda name: read.inner(name).schemas()),
        }
        function = read.value(Apply, arguments)
    read.end()
    return function, columns


def _kind(read: _Reader, kinds: Mapping[str, V]) -> V:
    name = read.plain("kind")
    if not isinstance(name, str) or name not in kinds:
        raise read.bad("kind", f"this version does not know {name}")
    return kinds[name]


def _once(pairs: list[tuple[str, Any]]) -> Message:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _bad("message", "a field is there twice")
    return found


def _bad(field: str, problem: str) -> Exception:
    return value_error("BAD_SPEC", field=field, problem=problem)
