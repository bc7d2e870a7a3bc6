"""Errors for names that have their place elsewhere: words of other libraries, and early steps."""

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, ClassVar, NoReturn, ParamSpec, TypeVar

from pyspark.errors import PySparkAttributeError, PySparkTypeError, PySparkValueError
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from transom._base.call_text import call_text
from transom._base.errors import (
    attribute_error,
    keyword_error,
    short_repr,
    type_error,
    value_error,
)

P = ParamSpec("P")
R = TypeVar("R")

# Why a name is not here, and what to write instead.
Hint = tuple[str, str]
Hints = Mapping[str, Hint]


_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
# What to write instead of a call as another library has it.
_EXAMPLES = {
    "window": "window(transom.Tumbling('1 hour')). The column of the time belongs to stream()",
}


class Hinted:
    """Base class of builders, with errors for the attributes that users look for first.

    The public methods of its subclasses explain arguments that they do not have.
    """

    __slots__ = ()
    _hints: ClassVar[Hints] = {}
    # For all other attributes of a DataFrame and its writer: the call that returns a DataFrame.
    _dataframe_hint: ClassVar[Hint]

    def __init_subclass__(cls) -> None:
        for name, method in vars(cls).items():
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, explained(method, own=1))

    # Type checkers do not see this method, so they report unknown attributes.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            owner = type(self).__name__
            if name in self._hints:
                raise misplaced_attribute(owner, name, self._hints[name])
            if not name.startswith("_"):
                why, instead = self._dataframe_hint
                for kind, before in ((DataFrame, ""), (DataStreamWriter, "writeStream.")):
                    if hasattr(kind, name):
                        call = "(...)" if callable(getattr(kind, name)) else ""
                        hint = why, f"{instead}.{before}{name}{call}"
                        raise misplaced_attribute(owner, name, hint)
            text = f"{owner!r} object has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self)


def explained(function: Callable[P, R], *, own: int = 0) -> Callable[P, R]:
    """Return a function that explains a call with arguments that it does not have.

    Parameters
    ----------
    function : callable
        The function or method.
    own : int
        The number of arguments that the caller does not write: 1 for a method.
    """
    if hasattr(function, "_is_explained"):
        return function

    @wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*arguments, **keywords)
        except PySparkTypeError:
            raise
        except TypeError:
            _check_call(function, own, arguments[own:], keywords)
            raise

    call._is_explained = True  # type: ignore[attr-defined]
    return call


def _check_call(
    function: Callable[..., object],
    own: int,
    arguments: tuple[object, ...],
    keywords: Mapping[str, object],
) -> None:
    """Raise an error for the first argument that a function does not have."""
    name = function.__name__
    parameters = list(signature(function).parameters.values())[own:]
    kinds = [parameter.kind for parameter in parameters]
    if Parameter.VAR_POSITIONAL not in kinds:
        free = [each for each in parameters if each.kind is Parameter.KEYWORD_ONLY]
        count = kinds.count(Parameter.POSITIONAL_OR_KEYWORD)
        if len(arguments) > count:
            pairs = zip(free, arguments[count:], strict=False)
            extra = {each.name: _fitting(each, value) for each, value in pairs}
            first = arguments[count]
            if isinstance(first, Mapping) and Parameter.VAR_KEYWORD in kinds:
                extra = {str(keyword): value for keyword, value in first.items()}
            call = call_text(name, *arguments[:count], **extra)
            place = f"argument {count + 1} of {name}"
            all_named = _EXAMPLES.get(
                name, f"{name}({', '.join(f'{each.name}=...' for each in parameters)})"
            )
            expected = f"a keyword, as in {call}" if free else all_named
            raise type_error(place, arguments[count], expected)
    named = [each for each in parameters if each.kind not in _VARIADIC]
    known = [each.name for each in named]
    shown = [f"{each}=..." for each in known] or ["..."] * len(parameters)
    call = f"{name}({', '.join(shown)})"
    by_position = [each.name for each in named if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    given = {*by_position[: len(arguments)], *keywords}
    for keyword, value in keywords.items():
        if keyword not in known and Parameter.VAR_KEYWORD not in kinds:
            hint = unknown_keyword(keyword, known, given, call)
            raise misplaced_keyword(name, keyword, value, hint)
    required = [each.name for each in named if each.default is Parameter.empty]
    check_given(name, required, given, call)


def _fitting(parameter: Parameter, value: object) -> object:
    """Return a value for an example: for a flag, another value than the default."""
    flag = parameter.default
    return not flag if isinstance(flag, bool) and not isinstance(value, bool) else value


def unknown_keyword(
    keyword: str, known: Sequence[str], given: Collection[str], example: str
) -> Hint:
    """Return why a keyword is not known, and the argument or the call to write instead."""
    why = f"its arguments are {', '.join(known)}" if known else "it takes none by name"
    similar = get_close_matches(keyword, [name for name in known if name not in given], n=1)
    return why, f"{similar[0]}=<value>" if similar else example


def check_given(owner: str, required: Sequence[str], given: Collection[str], example: str) -> None:
    """Raise ``TRANSOM_MISSING_ARGUMENT`` for the first required argument that is not given."""
    for name in required:
        if name not in given:
            raise keyword_error("MISSING_ARGUMENT", argument=name, owner=owner, instead=example)


def misplaced_attribute(owner: str, name: str, hint: Hint) -> PySparkAttributeError:
    """Return the error for an attribute that has its place elsewhere."""
    why, instead = hint
    return attribute_error(
        "MISPLACED", argument=name, owner=owner, name=name, why=why, instead=instead
    )


def misplaced_keyword(function: str, keyword: str, value: object, hint: Hint) -> PySparkTypeError:
    """Return the error for a keyword that has its place elsewhere.

    In the hint, ``<argument>`` stands for the keyword and its value, ``<value>`` for its value.
    """
    (why, instead), name = hint, f"argument {keyword}"
    instead = instead.replace("<argument>", f"{keyword}=<value>").replace(
        "<value>", short_repr(value)
    )
    return keyword_error(
        "MISPLACED", argument=keyword, owner=f"{function}()", name=name, why=why, instead=instead
    )


def preset_limit(argument: str, value: object, system: str, hint: Hint) -> PySparkValueError:
    """Return the error for an argument that a system of the presets does not have."""
    why, instead = hint
    return value_error(
        "PRESET_LIMIT",
        argument=argument,
        value=repr(value),
        system=system,
        why=why,
        fix=f"Write {instead}",
    )


def keyword_hints(
    hints: Hints, *, first: int | None = None, example: str = "", system: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that raises ``TRANSOM_MISPLACED`` for these keywords.

    The keywords that another system does not have raise ``TRANSOM_PRESET_LIMIT``.

    Parameters
    ----------
    hints : mapping
        What to write instead of each keyword.
    first : int, optional
        The number of arguments by position. More of them raise ``TRANSOM_BAD_TYPE``.
    example : str
        A call with a keyword, for this error. ``<value>`` in it stands for the first argument
        too many.
    system : str, optional
        The system that does not have the keywords.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*arguments: P.args, **keywords: P.kwargs) -> R:
            if first is not None and len(arguments) > first:
                place = f"argument {first + 1} of {function.__name__}"
                shown = example.replace("<value>", short_repr(arguments[first]))
                raise type_error(place, arguments[first], f"a keyword, as in {shown}")
            for name, value in keywords.items():
                if name in hints and system is not None:
                    raise preset_limit(name, value, system, hints[name])
                if name in hints:
                    raise misplaced_keyword(function.__name__, name, value, hints[name])
            return function(*arguments, **keywords)

        return call

    return decorate
