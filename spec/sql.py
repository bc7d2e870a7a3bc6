"""The functions of SQL, derived from the values of Python.

Each window, trigger, evictor, time and rule has a function with the same arguments. So SQL has the
names, the order and the defaults of Python.
"""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from transom._base.durations import duration_text
from transom._base.expressions import Col, Delta
from transom.spec import message
from transom.spec.times.idle_timeout import IdleTimeout
from transom.spec.window_spec import WindowSpec
from transom.stream import Stream
from transom.windowed import Windowed

Table = dict[str, Any]
PREFIX = "transom_"
ROLES = {
    "window": message.WINDOWS,
    "trigger": message.TRIGGERS,
    "evictor": message.EVICTORS,
    "time": message.TIMES,
    "rule": message.TIME_RULES,
    "advance": message.ADVANCES,
    "lifetime": message.LIFETIMES,
    "idle_timeout": message.IDLE_TIMEOUTS,
}
# Windows that need no time.
_TIMELESS = ("count", "global")
# Fields of the spec that a function of SQL has by name, with the name in SQL.
_OPTIONS = {
    "trigger": "trigger",
    "evictor": "evictor",
    "allowed_lateness": "allowed_lateness",
    "idle_timeout": "idle_timeout",
    "output_policy": "output_policy",
    "first_output": "first_output",
    "drain": "drain",
    "pane": "with_pane",
    "retract": "retract",
    "changes_only": "changes_only",
    "name": "name",
    "key_groups": "key_groups",
    "layout": "layout",
    "tick": "tick",
    "row_log": "row_log",
}
_SECTION = re.compile(
    r"\n\s*Parameters\n\s*-+\n(.*?)(?:\n\s*\n\s*[A-Z][a-zA-Z ]*\n\s*-+\n|\Z)", re.S
)
_ARGUMENT = re.compile(r"^(\w+) : ", re.M)


def functions(examples: Mapping[str, str]) -> Table:
    """Return the table of all functions: their arguments by name, with forms and defaults."""
    table: Table = {"functions": {}, "options": _options()}
    for role, kinds in ROLES.items():
        for kind, value in kinds.items():
            name = PREFIX + kind
            table["functions"][name] = {
                "kind": kind,
                "role": role,
                "parameters": _parameters(role, kind, value),
                "usage": _summary(value),
                "about": _about(value),
                "example": examples[name],
            }
    for kind, (step, parameters) in _tables(table["options"]).items():
        name = PREFIX + kind
        table["functions"][name] = {
            "kind": kind,
            "role": "table",
            "parameters": parameters,
            "usage": _summary(step),
            "about": {},
            "example": examples[name],
        }
    return table


def _tables(options: list[Table]) -> dict[str, tuple[Any, list[Table]]]:
    """Return the table functions, with the step of Python that does the same."""
    by_name = {option["name"]: option for option in options}
    policy = {name: value for name, value in by_name["policy"].items() if name != "default"}
    hints, by_field = _spec_fields()
    outputs = [
        _parameter(name, hints[name], by_field[name].default, by_name=True)
        for name in ("late_rows", "dead_letters", "watermarks")
    ]
    return {
        "stamped": (
            Stream.stamped,
            [policy | {"required": True}, by_name["lifetime"], by_name["order"]],
        ),
        "side_outputs": (Windowed.with_late_rows, outputs),
    }


def _spec_fields() -> tuple[dict[str, Any], dict[str, Any]]:
    return get_type_hints(WindowSpec), {field.name: field for field in fields(WindowSpec)}


def _parameters(role: str, kind: str, value: type[Any]) -> list[Table]:
    hints = get_type_hints(value)
    own = [
        _parameter(field.name, hints[field.name], field.default, by_name=field.kw_only)
        for field in fields(value)
    ]
    if value is IdleTimeout:
        return _of_step(own)
    if role != "window":
        return own
    needed = {"by_name": True, "default": None} if kind in _TIMELESS else _REQUIRED
    time = {"name": "time", "form": "time", **needed}
    # A row of a snapshot mostly has an end.
    life = [_LIFETIME | {"by_name": False}] if kind == "snapshot" else []
    return [time, *life, *own]


_REQUIRED: Table = {"by_name": False, "required": True}
_LIFETIME: Table = {"name": "lifetime", "form": "lifetime", "by_name": True, "default": None}


def _of_step(own: list[Table]) -> list[Table]:
    """Return the parameters of a value that Python makes in a step, with the step's defaults."""
    step = inspect.signature(Windowed.idle_timeout).parameters
    made = []
    for parameter in own:
        declared = step[parameter["name"]]
        given = dict(parameter, by_name=declared.kind is declared.KEYWORD_ONLY)
        if declared.default is not declared.empty:
            given.pop("required", None)
            given["default"] = declared.default
        made.append(given)
    return made


def _options() -> list[Table]:
    hints, by_field = _spec_fields()
    own = []
    for name, option in _OPTIONS.items():
        parameter = _parameter(name, hints[name], by_field[name].default, by_name=True)
        own.append({**parameter, "field": parameter["name"], "name": option})
    return [
        {"name": "delay", "form": "duration", "by_name": True, "default": None},
        {
            "name": "policy",
            "form": "value",
            "by_name": True,
            "default": None,
            "kinds": ["time_policy"],
        },
        _LIFETIME,
        {"name": "order", "form": "columns", "by_name": True, "default": []},
        *own,
    ]


def _parameter(name: str, hint: Any, default: Any, *, by_name: bool) -> Table:
    made: Table = {"name": name, **_form(hint), "by_name": by_name}
    if default is MISSING:
        made["required"] = True
    else:
        made["default"] = _default(default, hint)
    return made


def _form(hint: Any) -> Table:
    if hint == Delta:
        return {"form": "delta"}
    if hint in message.COLUMN_HINTS:
        return {"form": "column"}
    if hint == Sequence[Col]:
        return {"form": "columns"}
    if hint == Sequence[str]:
        return {"form": "texts"}
    if hint in message.GAP_HINTS:
        return {"form": "gap"}
    if hint in message.LENGTH_HINTS:
        return {"form": "duration"}
    parts = [part for part in _parts(hint) if part is not type(None)]
    if get_origin(parts[0]) is Literal:
        return {"form": "choice", "choices": list(get_args(parts[0]))}
    if len(parts) == 1 and parts[0] in _SIMPLE:
        return {"form": _SIMPLE[parts[0]]}
    classes = tuple(part for part in parts if isinstance(part, type))
    kinds = [
        name
        for values in ROLES.values()
        for name, kind in values.items()
        if issubclass(kind, classes)
    ]
    if any(get_origin(part) is Mapping for part in parts):
        return {"form": "windows"}
    # A duration stands for a value that has one argument without a default.
    stands = {str: "accept", IdleTimeout: "idle_timeout"}
    short = next((stands[part] for part in parts if part in stands), None)
    return {"form": "value", "kinds": kinds} | ({"for_duration": short} if short else {})


_SIMPLE = {bool: "flag", int: "whole", float: "number", str: "text", datetime: "instant"}


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the parts of a union of types, also of nested ones."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return tuple(part for inner in get_args(hint) for part in _parts(inner))
    return (hint,)


def _default(default: Any, hint: Any) -> Any:
    if hint in message.LENGTH_HINTS and isinstance(default, timedelta):
        return duration_text(default)
    kinds = next((kinds for kinds in ROLES.values() if type(default) in kinds.values()), None)
    return default if kinds is None else message._write(default, kinds, message.Columns())


def _summary(value: type[Any]) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def _about(value: type[Any]) -> dict[str, str]:
    """Return what the docstring says about each argument."""
    section = _SECTION.search(inspect.getdoc(value) or "")
    if section is None:
        return {}
    parts = _ARGUMENT.split(section[1])
    return {
        name: " ".join(text.split("\n", 1)[-1].split())
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def text(folder: Path) -> str:
    """Return the table as the JVM reads it."""
    examples = json.loads((folder / "sql-examples.json").read_text(encoding="utf-8"))
    return json.dumps(functions(examples), indent=1) + "\n"
