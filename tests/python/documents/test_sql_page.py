"""The page on SQL lists each function as the table of functions has it."""

import json
from pathlib import Path
from typing import Any

from spec.sql import ROLES

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "sql.md"
FUNCTIONS: dict[str, Any] = json.loads(
    (ROOT / "spec" / "sql-functions.json").read_text(encoding="utf-8")
)["functions"]
# What no class stands for, by the name in the reference of Python.
_STEPS = {
    "idle_timeout": "Windowed.idle_timeout",
    "top": "Windowed.top",
    "stamped": "Stream.stamped",
    "side_outputs": "Windowed.with_late_rows",
}


def row(name: str) -> str:
    """The row of a function: its arguments, what it does, and its twin in Python."""
    function = FUNCTIONS[name]
    arguments = [
        f"{parameter['name']} =>" if parameter["by_name"] else parameter["name"]
        for parameter in function["parameters"]
    ]
    if function["role"] == "table":
        arguments = ["TABLE(...)", *arguments]
    kind = function["kind"]
    python = _STEPS.get(kind) or ROLES[function["role"]][kind].__name__
    call = f"{name}({', '.join(arguments)})"
    link = f"[`{python}`](reference.md#transom.{python})"
    return f"| `{call}` | {function['usage']} | {link} |"


def test_the_page_lists_each_function() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    heading = lines.index("## All functions")
    start = lines.index("|---|---|---|", heading) + 1
    end = lines.index("", start)
    assert lines[start:end] == [row(name) for name in FUNCTIONS]
