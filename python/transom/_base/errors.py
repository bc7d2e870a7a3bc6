"""PySpark errors with the conditions and texts of ``error-conditions.json``.

This file is a copy of ``spec/error-conditions.json``, from which the JVM reads its texts too. The
name of a condition is ``TRANSOM_`` and the name that the functions of this module accept.
"""

import json
import re
import sys
import warnings
from functools import cache
from importlib.resources import files
from types import FrameType

from pyspark.errors import (
    PySparkAttributeError,
    PySparkRuntimeError,
    PySparkTypeError,
    PySparkValueError,
)

from transom._base.call_text import without_address

_PACKAGE = __name__.partition(".")[0]
# Characters of a value in an error.
_MOST_SHOWN = 200
# How to give a column another name, by argument.
_OTHER_NAME = {
    "aggregates": "Use another name, as in agg(flights=F.count('*'))",
    "keys": "Use another name, as in key_by(F.col(...).alias('other'))",
    "df": "Rename the column, as in df.withColumnRenamed(..., 'other')",
    "outputs": "Use another name",
}


class TransomWarning(UserWarning):
    """A warning of transom: the query runs, but may not do what you expect.

    Python shows it once for each line that causes it. The text begins with the name of a condition,
    as the text of an error does.

    Examples
    --------
    >>> import warnings
    >>> import transom
    >>> rows = spark.createDataFrame([("2013-01-01 05:40",)], "at string")
    >>> hours = transom.stream(rows, time=F.to_timestamp("at")).window(transom.Tumbling("1 hour"))
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     counts = hours.trigger(transom.AfterCount(10)).agg(n=F.count("*"))
    >>> print(caught[0].message)
    [TRANSOM_ROWS_LEFT] AfterCount does not fire at the end of Tumbling windows. ...
    >>> counts.count()
    0
    """


def value_error(condition: str, **parameters: object) -> PySparkValueError:
    """Return an error for an argument of the right type that cannot be used."""
    text, parameter_texts = _text(condition, parameters)
    return PySparkValueError(text, f"TRANSOM_{condition}", parameter_texts)


def reserved_name(argument: str, name: str) -> PySparkValueError:
    """Return the error for a name that transom reserves.

    The argument has the name as a column. ``outputs`` may also have it as the name of an output.
    """
    fix = _OTHER_NAME.get(argument, "Use another name in the schema")
    if argument == "keys" and name.lower() == "window":
        fix += ". Windows of time are no key: write window(transom.Tumbling('1 hour'))"
    return value_error("RESERVED_NAME", argument=argument, column=repr(name), fix=fix)


def type_error(argument: str, value: object, expected: str) -> PySparkTypeError:
    """Return an error for an argument of a wrong type."""
    parameters = {"argument": argument, "value": short_repr(value), "type": type(value).__name__}
    text, parameter_texts = _text("BAD_TYPE", {**parameters, "expected": expected})
    return PySparkTypeError(text, "TRANSOM_BAD_TYPE", parameter_texts)


def column_type_error(argument: str, column: object, kind: object, expected: str) -> Exception:
    """Return an error for a column of a wrong type."""
    parameters = {"argument": argument, "value": column, "type": kind, "expected": expected}
    text, parameter_texts = _text("BAD_TYPE", parameters)
    return PySparkTypeError(text, "TRANSOM_BAD_TYPE", parameter_texts)


def runtime_error(condition: str, **parameters: object) -> PySparkRuntimeError:
    """Return an error about the session, the installation, or a failed user function."""
    text, parameter_texts = _text(condition, parameters)
    return PySparkRuntimeError(text, f"TRANSOM_{condition}", parameter_texts)


def attribute_error(condition: str, **parameters: object) -> PySparkAttributeError:
    """Return an error for an attribute that an object does not have."""
    text, parameter_texts = _text(condition, parameters)
    return PySparkAttributeError(text, f"TRANSOM_{condition}", parameter_texts)


def keyword_error(condition: str, **parameters: object) -> PySparkTypeError:
    """Return an error for a keyword that a function does not have."""
    text, parameter_texts = _text(condition, parameters)
    return PySparkTypeError(text, f"TRANSOM_{condition}", parameter_texts)


def short_repr(value: object) -> str:
    """Return the `repr` of a value without addresses, or less for a table or a long list."""
    shown = without_address(value)
    if "\n" in shown:
        return f"<{type(value).__module__.partition('.')[0]}.{type(value).__name__}>"
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}..."


def warn(condition: str, **parameters: object) -> None:
    """Warn in the line of the user: the latest call outside of this package."""
    text, _ = _text(condition, parameters)
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _in_package(frame):
        level += 1
        frame = frame.f_back
    warnings.warn(TransomWarning(f"[TRANSOM_{condition}] {text}"), stacklevel=level)


def _in_package(frame: FrameType) -> bool:
    # Code that `exec` runs may have no module name.
    return str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE


def _text(condition: str, parameters: dict[str, object]) -> tuple[str, dict[str, str]]:
    parameter_texts = {name: str(value) for name, value in parameters.items()}
    template = _templates()[f"TRANSOM_{condition}"]
    return re.sub(r"<(\w+)>", lambda name: parameter_texts[name[1]], template), parameter_texts


@cache
def _templates() -> dict[str, str]:
    file = files("transom").joinpath("error-conditions.json")
    conditions = json.loads(file.read_text(encoding="utf-8"))
    return {name: "\n".join(entry["message"]) for name, entry in conditions.items()}
