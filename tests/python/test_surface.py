"""The public names of the package."""

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

import transom
from transom._base.durations import duration
from transom.spec import WindowSpec

ROOT = Path(__file__).parents[2]
SHOWN = [getattr(transom, name) for name in transom.__all__ if name != "__version__"]
FUNCTIONS = [shown for shown in SHOWN if inspect.isfunction(shown)]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_each_public_name_is_described(shown: object) -> None:
    assert inspect.getdoc(shown)


@pytest.mark.parametrize("builder", [transom.Stream, transom.Windowed])
def test_each_step_says_what_it_raises(builder: type) -> None:
    for name, step in inspect.getmembers(builder, inspect.isfunction):
        if not name.startswith("_"):
            assert "Raises\n" in (inspect.getdoc(step) or ""), name


@pytest.mark.parametrize("builder", [transom.Stream, transom.Windowed])
def test_each_step_has_an_example(builder: type) -> None:
    for name, step in inspect.getmembers(builder, inspect.isfunction):
        if not name.startswith("_"):
            assert ">>> " in (inspect.getdoc(step) or ""), name


@pytest.mark.parametrize("shown", FUNCTIONS, ids=lambda shown: shown.__name__)
def test_each_public_function_has_an_example(shown: object) -> None:
    assert ">>> " in (inspect.getdoc(shown) or "")


def test_every_condition_that_is_raised_has_a_text_and_every_text_is_used() -> None:
    texts = json.loads((ROOT / "spec/error-conditions.json").read_text())
    raised = _raised(ROOT / "python", "*.py", r'(?:value|runtime)_error\(\s*"([A-Z_]+)"')
    raised |= _raised(ROOT / "jvm/spark/src/main", "*.scala", r'"TRANSOM_([A-Z_]+)"')
    raised |= _raised(ROOT / "jvm/spark/src/main", "*.scala", r'refusal\("([A-Z_]+)"')
    assert {f"TRANSOM_{name}" for name in raised | {"BAD_TYPE"}} == set(texts)


def _raised(folder: Path, files: str, pattern: str) -> set[str]:
    text = "".join(path.read_text() for path in folder.rglob(files))
    return set(re.findall(pattern, text))


def test_options_has_the_defaults_of_the_spec() -> None:
    defaults = {field.name: field.default for field in fields(WindowSpec)}
    options = inspect.signature(transom.Windowed.options).parameters
    given = {name: option.default for name, option in options.items() if name != "self"}
    given["tick"] = duration("tick", given["tick"])
    assert given == {name: defaults[name] for name in given}
