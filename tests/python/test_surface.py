"""The public names of the package."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import transom
from transom._base.durations import duration
from transom.spec import WindowSpec

ROOT = Path(__file__).parents[2]
SHOWN = [getattr(transom, name) for name in transom.__all__ if name != "__version__"]
# These do nothing to rows: they set up, describe and measure.
WITHOUT_ROWS = {
    "transom.Context",
    "transom.TransomWarning",
    "transom.configure",
    "transom.earliest_input",
    "transom.explain",
    "transom.jar_path",
    "transom.metrics",
}
# Base classes, builders, whose steps have examples, and the results of `transom.metrics`.
WITHOUT_EXAMPLE = {
    "Evictor",
    "Metrics",
    "PartitionMetrics",
    "Sliding",
    "Stream",
    "Trigger",
    "Window",
    "Windowed",
}


def _documented() -> Iterator[tuple[str, str]]:
    """The public functions, classes and methods, with their docstrings."""
    for module in (transom, transom.atlas, transom.azure, transom.streaminsight):
        for name in module.__all__:
            shown = getattr(module, name)
            if not inspect.isfunction(shown) and not inspect.isclass(shown):
                continue
            if module is not transom or name not in WITHOUT_EXAMPLE:
                yield f"{module.__name__}.{name}", inspect.getdoc(shown) or ""
            # The example of an abstract class implements its methods.
            if inspect.isclass(shown) and not inspect.isabstract(shown):
                for step, function in inspect.getmembers(shown, inspect.isfunction):
                    if not step.startswith("_"):
                        name_of_step = f"{module.__name__}.{name}.{step}"
                        yield name_of_step, inspect.getdoc(function) or ""


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_each_public_name_is_described(shown: object) -> None:
    assert inspect.getdoc(shown)


@pytest.mark.parametrize("builder", [transom.Stream, transom.Windowed])
def test_each_step_says_what_it_raises(builder: type) -> None:
    for name, step in inspect.getmembers(builder, inspect.isfunction):
        if not name.startswith("_"):
            assert "Raises\n" in (inspect.getdoc(step) or ""), name


@pytest.mark.parametrize("builder", [transom.Stream, transom.Windowed])
def test_each_step_says_what_it_returns(builder: type) -> None:
    for name, step in inspect.getmembers(builder, inspect.isfunction):
        if not name.startswith("_"):
            assert "Returns\n-------\n" in (inspect.getdoc(step) or ""), name


@pytest.mark.parametrize(("name", "text"), sorted(_documented()))
def test_each_public_name_has_an_example_with_rows(name: str, text: str) -> None:
    assert ">>> " in text
    assert re.search(r"^\+-+", text, re.MULTILINE) or name in WITHOUT_ROWS


def test_a_preset_is_imported_when_it_is_used() -> None:
    names = ("atlas", "azure", "streaminsight", "typing")
    assert {*names} <= {*dir(transom)}
    program = f"""
import sys, transom
for name in {names}:
    before = f"transom.{{name}}" in sys.modules
    getattr(transom, name)
    print(name, before, f"transom.{{name}}" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "atlas False True",
        "azure False True",
        "streaminsight False True",
        "typing False True",
    ]


def test_names_without_rows_are_still_there() -> None:
    assert set(dict(_documented())) >= WITHOUT_ROWS


def test_every_condition_that_is_raised_has_a_text_and_every_text_is_used() -> None:
    texts = json.loads((ROOT / "spec/error-conditions.json").read_text())
    raised = _raised(
        ROOT / "python",
        "*.py",
        r'(?:(?:value|runtime|attribute|keyword)_error|warn)\(\s*"([A-Z_]+)"',
    )
    raised |= _raised(ROOT / "jvm/spark/src/main", "*.scala", r'"TRANSOM_([A-Z_]+)"')
    raised |= _raised(ROOT / "jvm/spark/src/main", "*.scala", r'refusal\("([A-Z_]+)"')
    raised |= _raised(ROOT / "jvm/spark/src/main", "*.scala", r'refuse\(\s*"(?!TRANSOM_)([A-Z_]+)"')
    assert {f"TRANSOM_{name}" for name in raised | {"BAD_TYPE"}} == set(texts)


def test_types_in_public_signatures_are_in_transom_typing() -> None:
    trees = [ast.parse(path.read_text()) for path in (ROOT / "python/transom").rglob("*.py")]
    aliases = {name for tree in trees for name in _aliases(tree)}
    annotated = {name for tree in trees for name in _annotated(tree)}
    assert {"Duration", "Writer", "Rows", "Layout", "Boundary"} <= annotated & aliases
    assert annotated & aliases - set(transom.typing.__all__) == set()
    assert all(hasattr(transom.typing, name) for name in transom.typing.__all__)


def _aliases(tree: ast.Module) -> Iterator[str]:
    """The names of the types that a module defines by assignment."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            if isinstance(target, ast.Name) and re.match(r"[A-Z][a-z]", target.id):
                yield target.id


def _annotated(tree: ast.Module) -> Iterator[str]:
    """The names in the annotations of what a module makes public."""
    modules = (transom, transom.atlas, transom.azure, transom.streaminsight)
    public = {name for module in modules for name in module.__all__} | {"Scanning"}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in public:
            yield from _in_arguments(node)
        elif isinstance(node, ast.ClassDef) and (node.name in public or "Steps" in node.name):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    yield from _in_arguments(inner)
                elif isinstance(inner, ast.AnnAssign) and ast.unparse(inner.target)[0] != "_":
                    yield from re.findall(r"\w+", ast.unparse(inner.annotation))


def _in_arguments(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield from re.findall(r"\w+", ast.unparse(node.annotation))


def _raised(folder: Path, files: str, pattern: str) -> set[str]:
    text = "".join(path.read_text() for path in folder.rglob(files))
    return set(re.findall(pattern, text))


def test_options_has_the_defaults_of_the_spec() -> None:
    defaults = {field.name: field.default for field in fields(WindowSpec)}
    options = inspect.signature(transom.Windowed.options).parameters
    given = {name: option.default for name, option in options.items() if name != "self"}
    given["tick"] = duration("tick", given["tick"])
    assert given == {name: defaults[name] for name in given}
