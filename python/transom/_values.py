"""What the values that users make have in common."""

from dataclasses import fields
from typing import Any

from pyspark.sql import Column

from transom._columns import text_of


class Value:
    """A frozen dataclass with ``eq=False`` that holds Columns, equal if they read the same in SQL.

    Columns themselves cannot be compared: == makes a third.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Value) and type(other) is type(self) and _held(self) == _held(other)
        )

    def __hash__(self) -> int:
        return hash(_held(self))


def _held(value: Any) -> tuple[object, ...]:
    return tuple(_meaning(getattr(value, field.name)) for field in fields(value))


def _meaning(held: object) -> object:
    return text_of(held) if isinstance(held, Column) else held
