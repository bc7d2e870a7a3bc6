"""The Python on the pages of the documentation, run from top to bottom."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[3] / "docs"
# A block of Python, and the output that follows it in a block without a language.
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_on_a_page_prints_what_the_page_says(page: Path, spark: SparkSession) -> None:
    names: dict[str, object] = {"spark": spark}
    for code, expected in BLOCK.findall(page.read_text("utf-8")):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        assert printed.getvalue().strip() == expected.strip(), code
