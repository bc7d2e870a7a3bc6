"""The base class of windows, triggers, evictors and time policies."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar

from pyspark.sql import Column

from transom._base.call_text import call_text
from transom._base.errors import type_error
from transom._base.expressions import text_of
from transom._base.misplaced import Hints, check_given, misplaced_keyword, unknown_keyword

T = TypeVar("T")

# The name of the first argument of Spark's functions for windows.
TIME_COLUMN = "timeColumn"


class Value:
    """Base class of frozen dataclasses, with an equality that supports Columns.

    Two values are equal if their Columns have the same SQL text and their other fields are equal.
    The operator == of a Column returns a Column instead of a bool. A dataclass that holds Columns
    uses this equality by ``eq=False``.

    The ``repr`` by ``repr=False`` is a call that makes the value again, without the arguments that
    have their default. A Column prints as Spark prints it, and a function by its name.
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

    def __repr__(self) -> str:
        # A class of a user need not be a dataclass. It is shown in the error that refuses it.
        known: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        defaults = {field.name: field.default for field in known}
        return call_text(
            type(self).__name__,
            **{
                name: value
                for name, default in defaults.items()
                if repr(value := getattr(self, name)) != repr(default)
            },
        )


def is_kind_of(base: type[Value], value: object) -> bool:
    """Return whether a value is of a class of transom that has this base class.

    The message has no form for the base class itself, or for a subclass of a user.
    """
    kind = type(value)
    return (
        isinstance(value, base)
        and kind is not base
        and kind.__module__.startswith(f"{__package__.partition('.')[0]}.")
    )


def _field_values(value: Any) -> tuple[object, ...]:
    return tuple(_comparable(getattr(value, field.name)) for field in fields(value))


def _comparable(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    if isinstance(value, Mapping):
        return frozenset((name, _comparable(item)) for name, item in value.items())
    return text_of(value) if isinstance(value, Column) else value


def _is_column(value: object) -> bool:
    return isinstance(value, Column) or (isinstance(value, str) and value.isidentifier())


def keywords_after(
    count: int, *, example: str, hints: Hints | None = None, in_list: bool = False
) -> Callable[[type[T]], type[T]]:
    """Return a decorator for a dataclass that explains a wrong call.

    Python's own error has only the number of arguments, or the name of an unknown keyword. This one
    lists the arguments that the class has.

    Parameters
    ----------
    count : int
        The number of fields that may be given by position.
    example : str
        A call, with a keyword if there is one, for the error.
    hints : mapping, optional
        Keywords of other libraries, see `keyword_hints`. With `TIME_COLUMN` among them, too many
        arguments raise its hint if the first argument looks like a column.
    in_list : bool
        Whether several arguments by position belong in one list.
    """

    def decorate(kind: type[T]) -> type[T]:
        made_by_dataclass = kind.__init__
        known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        required = [
            field.name
            for field in fields(kind)  # type: ignore[arg-type]
            if field.default is MISSING and field.default_factory is MISSING
        ]
        instead = f"a call such as {example}"

        @wraps(made_by_dataclass)
        def init(self: T, *arguments: object, **keywords: object) -> None:
            if len(arguments) > count:
                time = (hints or {}).get(TIME_COLUMN)
                if time is not None and _is_column(arguments[0]):
                    raise misplaced_keyword(kind.__name__, TIME_COLUMN, arguments[0], time)
                place = f"argument {count + 1} of {kind.__name__}"
                taken = [list(arguments)] if in_list else arguments[:count]
                has_more = len(known) > count
                call = example if has_more else call_text(kind.__name__, *taken)
                expected = f"a keyword, as in {call}" if has_more else call
                raise type_error(place, arguments[count], expected)
            given = {*known[: len(arguments)], *keywords}
            for name, value in keywords.items():
                if name not in known:
                    hint = (hints or {}).get(name)
                    hint = hint or unknown_keyword(name, known, given, instead)
                    raise misplaced_keyword(kind.__name__, name, value, hint)
            check_given(kind.__name__, required, given, instead)
            made_by_dataclass(self, *arguments, **keywords)

        kind.__init__ = init  # type: ignore[assignment, method-assign]
        return kind

    return decorate
