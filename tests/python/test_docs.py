"""The pages of the documentation, as far as they can be checked without a session."""

import re
from pathlib import Path

import pytest

from docs.pictures import draw

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PICTURES = sorted(path.name for path in DOCS.rglob("*.svg"))


def words(picture: Path) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"))


def test_the_pictures_are_those_that_the_script_draws(tmp_path: Path) -> None:
    draw.main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == PICTURES
    for name in PICTURES:
        assert words(tmp_path / name) == words(DOCS / "pictures" / name)


def test_every_picture_is_shown() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in PICTURES if f"pictures/{name})" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
