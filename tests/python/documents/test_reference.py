"""The reference lists each public name, and each type with its values."""

import re
from pathlib import Path
from typing import Literal, get_args, get_origin

import transom
import transom.typing

PAGE = (Path(__file__).parents[3] / "docs/reference.md").read_text(encoding="utf-8")
TYPES = dict(re.findall(r"^\| `([A-Z]\w+)` \| (.*) \|$", PAGE, re.MULTILINE))


def test_each_public_name_has_its_place() -> None:
    members = re.findall(r"members: \[(.*)\]", PAGE)
    modules = re.findall(r"^::: transom\.(\w+)$", PAGE, re.MULTILINE)
    shown = [name for line in members for name in line.split(", ")] + modules
    assert sorted(shown) == sorted({*transom.__all__, "typing"} - {"__version__"})


def test_each_type_is_in_the_table() -> None:
    assert sorted(TYPES) == sorted(transom.typing.__all__)


def test_types_with_few_values_have_them_in_the_table() -> None:
    types = {name: getattr(transom.typing, name) for name in transom.typing.__all__}
    values = {name: get_args(t) for name, t in types.items() if get_origin(t) is Literal}
    assert len(values) > 10
    assert values == {name: tuple(re.findall(r'"([^"]+)"', TYPES[name])) for name in values}
