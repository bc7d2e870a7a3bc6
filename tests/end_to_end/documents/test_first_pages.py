"""What a newcomer runs first, in an empty folder: the README, the home page and the tutorial."""

from pathlib import Path

import pytest

from tests.end_to_end.documents.pages import blocks, printed_by_program

ROOT = Path(__file__).parents[3]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_the_program_of_a_page_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    shown = [block.shown for block in blocks(ROOT / name)]
    assert printed_by_program(ROOT / name, tmp_path) == shown


def test_the_home_page_has_the_example_of_the_readme() -> None:
    assert blocks(ROOT / "docs/index.md") == blocks(ROOT / "README.md")
