"""The public names of the package."""

import inspect
import re
from pathlib import Path

import pytest

import transom

SHOWN = [getattr(transom, name) for name in transom.__all__ if name != "__version__"]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_each_public_name_is_described(shown: object) -> None:
    assert inspect.getdoc(shown)


@pytest.mark.parametrize("builder", [transom.Stream, transom.Windowed])
def test_each_step_says_what_it_raises(builder: type) -> None:
    for name, step in inspect.getmembers(builder, inspect.isfunction):
        if not name.startswith("_"):
            assert "Raises\n" in (inspect.getdoc(step) or ""), name


def test_every_condition_that_is_raised_has_a_text_and_every_text_is_used() -> None:
    folder = inspect.getfile(transom).removesuffix("__init__.py")
    raised = _conditions_in(folder)
    texts = set(transom._errors._TEXTS)
    assert raised == texts - {"BAD_TYPE"}


def _conditions_in(folder: str) -> set[str]:
    text = "".join(path.read_text() for path in Path(folder).glob("*.py"))
    return set(re.findall(r'(?:value|runtime)_error\(\s*"([A-Z_]+)"', text))
