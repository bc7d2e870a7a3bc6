"""CONTRIBUTING.md names files, tests and commands that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# The sections whose tables say where to look for a name.
RECIPES = {
    name: re.findall(r"`([^`]+/[^`]+)`", table)
    for name, table in re.findall(r"where to look for `(\w+)` \|\n(.*?)\n\n", PAGE, re.DOTALL)
}


def files(text: str) -> list[str]:
    return re.findall(r"\b(?:[\w.-]+/)+[\w-]+\.(?:py|scala|json|md)\b", text)


def test_the_files_and_folders_of_the_page_exist() -> None:
    folders = re.findall(r"^([a-z_/]+/)  ", PAGE, re.MULTILINE)
    assert len(folders) > 10
    named = [*folders, *files(PAGE)]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_page_shows_what_can_be_added() -> None:
    least = {
        "Cumulate": 9,
        "AfterCount": 9,
        "UnknownPartition": 5,
        "OutOfOrder": 10,
        "EndEdges": 5,
        "rowsOpen": 4,
    }
    assert RECIPES.keys() == least.keys()
    assert [name for name, paths in RECIPES.items() if len(paths) < least[name]] == []


@pytest.mark.parametrize("name", RECIPES)
def test_the_files_of_a_recipe_have_the_name(name: str) -> None:
    in_the_message = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    forms = {name, in_the_message, name[:1].lower() + name[1:]}
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in RECIPES[name]}
    assert [p for p, text in texts.items() if not any(form in text for form in forms)] == []


def test_the_commands_of_the_page_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    commands = re.findall(r"`make ([a-z -]+)[`A-Z]|^make ([a-z-]+)", PAGE, re.MULTILINE)
    named = {word for command in commands for text in command for word in text.split()}
    assert {"setup", "check", "lint", "types"} <= named
    assert named <= targets


def test_the_tests_of_the_page_exist() -> None:
    suites = {path.stem for path in ROOT.glob("jvm/*/src/test/**/*Suite.scala")}
    named = re.findall(r"\*(\w+Suite)", PAGE)
    assert named
    assert set(named) <= suites
    tests = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", PAGE)
    assert named
    assert [name for name in named if f"def {name}(" not in tests] == []
