"""Each class and function of the public API is shown on a page of the concepts."""

import re
from pathlib import Path

import pytest

import transom

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [*(DOCS / "concepts").glob("*.md"), DOCS / "operations/monitoring.md"]
CODE = "".join(
    code
    for page in PAGES
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
)
# `Sliding` only raises an error. Setting up and the presets have pages of their own.
ELSEWHERE = {
    *("Sliding", "__version__", "configure", "earliest_input", "jar_path"),
    *("atlas", "azure", "streaminsight"),
}


@pytest.mark.parametrize("name", sorted(set(transom.__all__) - ELSEWHERE))
def test_code_on_the_pages_of_concepts_uses_a_public_name(name: str) -> None:
    assert re.search(rf"\btransom\.{name}\b", CODE)


def test_the_page_of_windows_names_the_class_that_only_raises() -> None:
    assert "transom.Sliding" in (DOCS / "concepts/windows.md").read_text("utf-8")
