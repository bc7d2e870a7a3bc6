"""The files that ``make generate`` writes from ``spec``."""

from pathlib import Path

import pytest

from spec import generate

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", generate.files(), ids=str)
def test_a_generated_file_is_what_spec_says(path: Path) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == generate.files()[path]
