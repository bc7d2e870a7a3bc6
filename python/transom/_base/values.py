"""The base class of windows, triggers, evictors and time policies."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pyspark.sql import Column

from transom._base.columns import text_of


class Value:
    """Base class of frozen dataclasses, with an equality that supports Columns.

    Two values are equal if their Columns have the same SQL text and their other fields are equal.
    The operator == of a Column returns a Column instead of a bool. A dataclass that holds Columns
    uses this equality by ``eq=False``.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Value)
            and type(other) is type(self)
            and _field_values(self) == _field_values(other)
        )

    def __hash__(self) -> int:
        return hash(_field_values(self))


def _field_values(value: Any) -> tuple[object, ...]:
    return tuple(_comparable(getattr(value, field.name)) for field in fields(value))


def _comparable(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    if isinstance(value, Mapping):
        return frozenset((name, _comparable(item)) for name, item in value.items())
    return text_of(value) if isinstance(value, Column) else value
