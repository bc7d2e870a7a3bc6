"""The page of features: it lists each feature once, and the tests that it names exist."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from docs.site_hooks import on_page_markdown

PAGE = Path(__file__).parents[3] / "docs" / "features.md"
LINK = re.compile(r"\[`([^`]+)`\]\((\.\./tests/[^)]+)\)")


@dataclass(frozen=True)
class Feature:
    """A row of the page.

    Attributes
    ----------
    state : str
        "supported", "planned" or "left out: " with a reason.
    in_python : str
        The Python code for the feature, or the part of the feature that exists.
    tests : list
        Names of tests or vectors, each with its path relative to the page.
    """

    number: int
    state: str
    in_python: str
    tests: list[tuple[str, str]]


def features() -> list[Feature]:
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        if not re.match(r"\| \d", line):
            continue
        number, phrase, state, in_python, tests = (cell.strip() for cell in line[1:-1].split("|"))
        assert phrase
        assert LINK.sub("", tests).strip(", ") == "", f"row {number} has more than links: {tests}"
        found.append(Feature(int(number), state, in_python, LINK.findall(tests)))
    return found


FEATURES = features()
TESTS = sorted({test for feature in FEATURES for test in feature.tests})


def test_each_feature_has_a_row_in_order() -> None:
    assert [feature.number for feature in FEATURES] == list(range(1, 95))


def test_a_feature_is_supported_planned_or_left_out_for_a_reason() -> None:
    state = re.compile(r"supported|planned|left out: \w.*")
    assert [f.number for f in FEATURES if not state.fullmatch(f.state)] == []


def test_a_supported_feature_has_a_way_to_ask_for_it_and_a_test() -> None:
    supported = [feature for feature in FEATURES if feature.state == "supported"]
    assert supported
    assert [f.number for f in supported if not f.in_python or not f.tests] == []


@pytest.mark.parametrize(("name", "path"), TESTS, ids=[name for name, _ in TESTS])
def test_a_test_that_the_page_names_exists(name: str, path: str) -> None:
    text = (PAGE.parent / path).read_text("utf-8")
    if path.endswith(".json"):
        assert json.loads(text)["id"] == name
    else:
        assert re.search(rf"^def {name}\(", text, re.MULTILINE)


def test_the_site_shows_the_name_of_a_test_without_a_link() -> None:
    assert "](../tests/" not in on_page_markdown(PAGE.read_text("utf-8"))
    assert on_page_markdown("[`test_a`](../tests/a.py), [b](b.md)") == "`test_a`, [b](b.md)"
    assert on_page_markdown("[a](../../jvm/a.scala), [b](../b.md)") == "a, [b](../b.md)"
