"""The base class of windows, triggers, evictors and time policies."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

from pyspark.sql import Column

from transom._base.columns import text_of
from transom._base.errors import type_error

T = TypeVar("T")


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


def keywords_after(count: int, *, example: str) -> Callable[[type[T]], type[T]]:
    """Return a decorator for a dataclass that names the keyword in an error for one without.

    Python's own error has only the number of arguments.

    Parameters
    ----------
    count : int
        The number of fields that may be given by position.
    example : str
        A call with a keyword, for the error.
    """

    def decorate(kind: type[T]) -> type[T]:
        made_by_dataclass = kind.__init__

        @wraps(made_by_dataclass)
        def init(self: T, *arguments: object, **keywords: object) -> None:
            if len(arguments) > count:
                place = f"argument {count + 1} of {kind.__name__}"
                raise type_error(place, arguments[count], f"a keyword, as in {example}")
            made_by_dataclass(self, *arguments, **keywords)

        kind.__init__ = init  # type: ignore[assignment, method-assign]
        return kind

    return decorate
