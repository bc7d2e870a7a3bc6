"""Calls of SQL for values of Python, by the table of functions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import Column

from spec.sql import ROLES, functions
from transom._base.durations import duration_text
from transom._base.expressions import Delta, text_of
from transom.spec import message
from transom.spec.stamp_spec import StampSpec
from transom.spec.times.time_policies import EventTime, TimePolicy
from transom.spec.window_spec import WindowSpec
from transom.spec.windows.several import Windows

_SPEC = Path(__file__).parents[3] / "spec"
EXAMPLES: dict[str, str] = json.loads((_SPEC / "sql-examples.json").read_text(encoding="utf-8"))
TABLE = functions(EXAMPLES)
_KINDS = {kind: name for kinds in ROLES.values() for name, kind in kinds.items()}


def parameters_of(name: str) -> list[dict[str, Any]]:
    """Return the parameters of a function in ``GROUP BY``, or within a window."""
    function = TABLE["functions"][name]
    own = list(function["parameters"])
    names = {parameter["name"] for parameter in own}
    if function["role"] == "window":
        own += [option for option in TABLE["options"] if option["name"] not in names]
    return own


@dataclass
class Writer:
    """Writes a spec as a call of SQL.

    Parameters
    ----------
    distances : callable
        Returns the SQL of a distance function.
    is_full : bool
        Whether to write each argument, or only those that are not the default.
    """

    distances: Callable[[Delta], str]
    is_full: bool
    # The arguments that were written, as functions and names.
    written: set[tuple[str, str]] = field(default_factory=set)

    def window(self, spec: WindowSpec) -> str:
        """Return the call in ``GROUP BY`` for a spec."""
        options = {
            option["name"]: getattr(spec, option.get("field", ""), None)
            for option in TABLE["options"]
        }
        options |= {"lifetime": spec.lifetime, "order": spec.order}
        if replace(spec, trigger=None).trigger == spec.trigger and not self.is_full:
            options["trigger"] = None
        time: Any = spec.time
        if isinstance(time, EventTime) and not self.is_full:
            options["delay"] = time.delay
            time = _Written(self._column(time.time))
        elif isinstance(time, TimePolicy) and not self.is_full:
            options["policy"] = _Written(self.value(time, leave_out=("time",)))
            time = _Written("NULL" if time.time is None else self._column(time.time))
        options["time"] = time
        name = f"transom_{_KINDS[type(spec.window)]}"
        given = {
            parameter["name"]: options.get(
                parameter["name"], getattr(spec.window, parameter["name"], None)
            )
            for parameter in parameters_of(name)
        }
        # These two are parts of the time.
        left_out = ("delay", "policy") if self.is_full else ()
        return self._call(name, parameters_of(name), given, left_out=left_out)

    def side_outputs(self, query: str, spec: WindowSpec) -> str:
        """Return the call around a query with the window of a spec, for its side outputs."""
        name = "transom_side_outputs"
        parameters = TABLE["functions"][name]["parameters"]
        given = {parameter["name"]: getattr(spec, parameter["name"]) for parameter in parameters}
        return self._call(name, parameters, given, table=query)

    def stamped(self, table: str, spec: StampSpec) -> str:
        """Return the call for the stamped rows of a table."""
        name = "transom_stamped"
        given = {"policy": spec.time, "lifetime": spec.lifetime, "order": spec.order}
        return self._call(name, TABLE["functions"][name]["parameters"], given, table=table)

    def value(self, value: Any, leave_out: tuple[str, ...] = ()) -> str:
        """Return the call for a value of Python."""
        name = f"transom_{_KINDS[type(value)]}"
        parameters = [
            parameter
            for parameter in TABLE["functions"][name]["parameters"]
            if hasattr(value, parameter["name"])
        ]
        given = {parameter["name"]: getattr(value, parameter["name"]) for parameter in parameters}
        return self._call(name, parameters, given, left_out=leave_out)

    def _call(
        self,
        name: str,
        parameters: list[dict[str, Any]],
        given: Mapping[str, Any],
        *,
        left_out: tuple[str, ...] = (),
        table: str | None = None,
    ) -> str:
        arguments = [] if table is None else [f"TABLE({table})"]
        for parameter in sorted(parameters, key=lambda parameter: bool(parameter["by_name"])):
            argument = parameter["name"]
            value = given[argument]
            if argument in left_out or self._is_left_out(parameter, value):
                continue
            self.written.add((name, argument))
            by_name = f"{argument} => " if parameter["by_name"] else ""
            arguments.append(by_name + self._argument(parameter, value))
        return f"{name}({', '.join(arguments)})"

    def _is_left_out(self, parameter: dict[str, Any], value: Any) -> bool:
        if parameter.get("required"):
            return False
        if parameter["form"] == "columns" and not value:
            return True
        if self.is_full:
            return value is None and parameter["form"] in ("time", "lifetime")
        default = parameter["default"]
        if default is None or isinstance(value, _Written):
            return value is None
        if parameter["form"] == "value":
            return value is not None and _message(value) == default
        return bool(self._argument(parameter, value) == self._constant(default))

    def _argument(self, parameter: dict[str, Any], value: Any) -> str:
        if isinstance(value, _Written):
            return value
        if value is None:
            return "NULL"
        forms: dict[str, Callable[[Any], str]] = {
            "column": self._column,
            "columns": lambda columns: f"({', '.join(map(self._column, columns))})",
            "delta": self.distances,
            "windows": lambda _: self._members(value),
            "texts": lambda texts: f"array({', '.join(map(self._constant, texts))})",
        }
        if parameter["form"] in forms:
            return forms[parameter["form"]](value)
        return self.value(value) if type(value) in _KINDS else self._constant(value)

    def _members(self, windows: Any) -> str:
        named = list(Windows(windows).named)
        if named[0][0] is None:
            return f"array({', '.join(self.value(window) for _, window in named)})"
        pairs = (f"{self._constant(name)}, {self.value(window)}" for name, window in named)
        return f"map({', '.join(pairs)})"

    def _column(self, column: Any) -> str:
        return str(text_of(column)) if isinstance(column, Column) else column

    def _constant(self, value: Any) -> str:
        if isinstance(value, Column):
            return self._column(value)
        if isinstance(value, datetime):
            return f"TIMESTAMP '{value}'"
        if isinstance(value, timedelta):
            return f"'{duration_text(value)}'"
        return f"'{value}'" if isinstance(value, str) else json.dumps(value)


class _Written(str):
    """An argument that is written already."""

    __slots__ = ()


def _message(value: Any) -> Any:
    kinds = next(kinds for kinds in ROLES.values() if type(value) in kinds.values())
    return message.write_value(value, kinds, message.Columns())
