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
from transom.spec.times.time_policies import EventTime, TimePolicy
from transom.spec.window_spec import WindowSpec
from transom.stream import Stream, stream
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
_ARGUMENT = re.compile(r"^\*?(\w+) : ", re.M)
# Sentences about what only Python has.
_ONLY_PYTHON = re.compile(r"Python|JVM|parsed as SQL|createDataFrame|step `")
_SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z`])")
_CODE = re.compile(r"``(.+?)``|`(.+?)`")
# A call with an argument, such as ``Accept(duration)`` and `TimePolicy(estimate_arrival=)`.
_CALL = re.compile(r"(?P<owner>\w+)\((?P<argument>.*)\)")
_KEYWORD = re.compile(r"(?P<name>\w+)=(?P<value>.*)")
_NAMES = {kind.__name__: PREFIX + name for kinds in ROLES.values() for name, kind in kinds.items()}
# Words outside of code, with the words of SQL.
_WORDS = {
    "A column or its name": "A column",
    "a static DataFrame": "a static table",
    "A static DataFrame": "A static table",
    "the DataFrame": "the input",
    "A Column": "A column",
    "struct Columns": "struct columns",
    "numeric Column": "numeric column",
    "None": "NULL",
    "True": "true",
    "False": "false",
}
_WORD = re.compile("|".join(rf"\b{word}\b" for word in _WORDS))


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
                "usage": _summary(_described(value)),
                "example": examples[name],
            }
    others = {"aggregate": {"top": _top()}, "table": _tables(table["options"])}
    for role, made in others.items():
        for kind, (usage, parameters) in made.items():
            name = PREFIX + kind
            table["functions"][name] = {
                "kind": kind,
                "role": role,
                "parameters": parameters,
                "usage": usage,
                "example": examples[name],
            }
    return table


def _top() -> tuple[str, list[Table]]:
    """Return what the aggregate `Windowed.top` does, and its parameters."""
    rank = _parameter("k", int, MISSING, _about(Windowed.top)["k"], by_name=False)
    row = {"name": "row", "form": "column", **_REQUIRED, "about": "The columns of a result."}
    return _summary(Windowed.top), [rank, row]


_SIDE_OUTPUTS = {
    "late_rows": Windowed.with_late_rows,
    "dead_letters": Windowed.with_dead_letters,
    "watermarks": Windowed.with_watermarks,
}


def _tables(options: list[Table]) -> dict[str, tuple[str, list[Table]]]:
    """Return what table functions do, and their parameters."""
    by_name = {option["name"]: option for option in options}
    policy = {name: value for name, value in by_name["policy"].items() if name != "default"}
    hints, by_field = _spec_fields()
    outputs = [
        _parameter(name, hints[name], by_field[name].default, _summary(step), by_name=True)
        for name, step in _SIDE_OUTPUTS.items()
    ]
    return {
        "stamped": (
            _summary(Stream.stamped),
            [policy | {"required": True}, by_name["lifetime"], by_name["order"]],
        ),
        "side_outputs": (
            "Return the results of a query with a window, and the rows of its side outputs.",
            outputs,
        ),
    }


def _spec_fields() -> tuple[dict[str, Any], dict[str, Any]]:
    return get_type_hints(WindowSpec), {field.name: field for field in fields(WindowSpec)}


def _described(value: type[Any]) -> Any:
    """Return the class or the function whose docstring describes a value."""
    return Windowed.idle_timeout if value is IdleTimeout else value


def _parameters(role: str, kind: str, value: type[Any]) -> list[Table]:
    hints = get_type_hints(value)
    about = _about(_described(value))
    own = [
        _parameter(
            field.name,
            hints[field.name],
            field.default,
            about[field.name],
            by_name=field.kw_only is True,
        )
        for field in fields(value)
    ]
    if value is IdleTimeout:
        return _of_step(own)
    if role != "window":
        return own
    needed = {"by_name": True, "default": None} if kind in _TIMELESS else _REQUIRED
    time = {"name": "time", "form": "time", **needed, "about": _about(stream)["time"]}
    # A row of a snapshot mostly has an end.
    life = [_lifetime(by_name=False)] if kind == "snapshot" else []
    return [time, *life, *own]


_REQUIRED: Table = {"by_name": False, "required": True}


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
            given["about"] += _default_text(declared.default)
        made.append(given)
    return made


def _options() -> list[Table]:
    hints, by_field = _spec_fields()
    own = []
    for name, option in _OPTIONS.items():
        about = _about_option(option)
        parameter = _parameter(name, hints[name], by_field[name].default, about, by_name=True)
        own.append({**parameter, "field": parameter["name"], "name": option})
    of_stream = _about(stream)
    return [
        _option("delay", "duration", None, _about(EventTime)["delay"]),
        _option("policy", "value", None, _summary(TimePolicy)) | {"kinds": ["time_policy"]},
        _lifetime(by_name=True),
        _option("order", "columns", [], of_stream["order"]),
        *own,
    ]


def _option(name: str, form: str, default: Any, about: str) -> Table:
    return {"name": name, "form": form, "by_name": True, "default": default, "about": about}


def _lifetime(*, by_name: bool) -> Table:
    option = _option("lifetime", "lifetime", None, _about(stream)["lifetime"])
    return option | {"by_name": by_name}


def _about_option(name: str) -> str:
    """Return what the docstring of a step says about an option: its summary and its argument."""
    of_options = _about(Windowed.options)
    if name in of_options:
        return of_options[name]
    step = getattr(Windowed, name)
    arguments = _about(step)
    if len(arguments) > 1:
        return f"{_summary(step)} A duration means `{PREFIX}{name}(duration)`."
    return " ".join([_summary(step), *arguments.values()])


def _parameter(name: str, hint: Any, default: Any, about: str, *, by_name: bool) -> Table:
    made: Table = {"name": name, **_form(hint), "by_name": by_name}
    if type(None) in _parts(hint):
        made["or_null"] = True
    if "choices" in made:
        about += f" One of {', '.join(map(_constant, made['choices']))}."
    if default is MISSING:
        return made | {"required": True, "about": about}
    value = _default(default, hint)
    return made | {"default": value, "about": about + _default_text(value)}


def _default_text(default: Any) -> str:
    """Return a sentence about a default. Docstrings describe other defaults."""
    is_simple = isinstance(default, str | int | float)
    return f" The default is {_constant(default)}." if is_simple else ""


def _constant(value: Any) -> str:
    """Return a constant of SQL."""
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


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
    return default if kinds is None else message.write_value(default, kinds, message.Columns())


def _summary(owner: Any) -> str:
    return _in_sql((inspect.getdoc(owner) or "").split("\n\n")[0])


def _about(owner: Any) -> dict[str, str]:
    """Return what the docstring of a class or a function says about each argument."""
    section = _SECTION.search(inspect.getdoc(owner) or "")
    if section is None:
        return {}
    parts = _ARGUMENT.split(section[1])
    return {
        name: _in_sql(text.split("\n", 1)[-1], name)
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def _in_sql(text: str, name: str = "") -> str:
    """Return a text of a docstring with the names of SQL, and without what only Python has."""
    sentences = [
        sentence
        for sentence in _SENTENCE.split(" ".join(text.split()))
        if not _ONLY_PYTHON.search(sentence) and sentence != f"The {name}."
    ]
    parts = []
    end = 0
    joined = " ".join(sentences)
    for code in _CODE.finditer(joined):
        name = _code(code[1] or code[2])
        owner = " of Python" if name.startswith("Stream.") else ""
        parts += [_words(joined[end : code.start()]), f"`{name}`{owner}"]
        end = code.end()
    return "".join([*parts, _words(joined[end:])])


def _words(text: str) -> str:
    return _WORD.sub(lambda word: _WORDS[word[0]], text).replace('"', "'")


def _code(code: str) -> str:
    """Return a piece of code of Python as SQL has it."""
    if call := _CALL.fullmatch(code):
        name = _NAMES.get(call["owner"])
        if name is not None:
            return f"{name}({_code(call['argument'])})"
        # Options are arguments of the window.
        return _code(call["argument"]) if call["owner"] == "options" else code
    if keyword := _KEYWORD.fullmatch(code):
        value = keyword["value"].replace('"', "'").lower()
        return f"{keyword['name']} => {value or '...'}"
    name = code.removeprefix("F.").removeprefix("Windowed.")
    return _NAMES.get(name, name)


def text(folder: Path) -> str:
    """Return the table as the JVM reads it."""
    examples = json.loads((folder / "sql-examples.json").read_text(encoding="utf-8"))
    return json.dumps(functions(examples), indent=1) + "\n"
