"""The text of a call, for errors and for the `repr` of values and builders."""

import re
from types import FunctionType

# The address of an object in the `repr` that Python gives it.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def call_text(name: str, /, *arguments: object, **keywords: object) -> str:
    """Return the text of a call.

    Examples
    --------
    >>> call_text("key_by", "origin", strict=True)
    "key_by('origin', strict=True)"
    """
    shown = [argument_text(argument) for argument in arguments]
    shown += [f"{keyword}={argument_text(value)}" for keyword, value in keywords.items()]
    return f"{name}({', '.join(shown)})"


def argument_text(value: object) -> str:
    """Return the text of an argument: the name of a function, the `repr` of another value.

    Examples
    --------
    >>> argument_text(argument_text)
    'argument_text'
    >>> argument_text("origin")
    "'origin'"
    """
    return value.__name__ if isinstance(value, FunctionType) else without_address(value)


def without_address(value: object) -> str:
    """Return the `repr` of a value, without addresses in memory.

    Examples
    --------
    >>> without_address({"late": argument_text})
    "{'late': <function argument_text>}"
    """
    return repr(value) if isinstance(value, str) else _ADDRESS.sub("", repr(value))
