"""Checks of the pages of the documentation that need no session."""

import json
import re
from pathlib import Path

import pytest

from docs.pictures import draw
from docs.site_hooks import on_page_markdown

ROOT = Path(__file__).parents[3]
CONDITIONS = ROOT / "spec/error-conditions.json"
CANARIES = ROOT / "jvm/spark/src/test/scala/org/apache/spark/sql/transom/canary"
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TWIN = "```\n\n```sql\nCREATE OR REPLACE TEMP VIEW "
# Pages on how to do a task without a window in SQL beside it, each with the reason.
WITHOUT_SQL = {
    "how-to/index.md": "a list",
    "how-to/time-weighted-average.md": "only Python has functions over windows",
    "how-to/results/python-functions.md": "only Python has functions over windows",
    "how-to/running/cluster.md": "a program for spark-submit",
    "how-to/running/object-store.md": "settings",
    "how-to/running/real-time.md": "the trigger of a query, which SQL does not start",
    "how-to/running/unit-tests.md": "the functions that it tests are Python",
}
PICTURES = sorted(path.name for path in (DOCS / "pictures").glob("*.svg"))


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


def test_each_how_to_page_has_its_windows_in_sql() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.glob("how-to/**/*.md")}
    with_sql = {page for page in pages if TWIN in (DOCS / page).read_text(encoding="utf-8")}
    assert pages - with_sql == set(WITHOUT_SQL)


def test_the_site_has_tabs_for_python_and_its_twin_in_sql() -> None:
    python, sql = "```python\na = 1\n\nb = 2\n```\n", "```sql\nSELECT 1\n```\n"
    other = "```\nthe output\n```\n"
    page = "\n".join([python, other, python, sql, other, sql])
    tabs = """=== "Python"

    ```python
    a = 1

    b = 2
    ```

=== "SQL"

    ```sql
    SELECT 1
    ```
"""
    assert on_page_markdown(page) == "\n".join([python, other, tabs, other, sql])


def test_errors_are_quoted_as_they_are() -> None:
    conditions = json.loads(CONDITIONS.read_text(encoding="utf-8"))
    texts = {name: "\n".join(condition["message"]) for name, condition in conditions.items()}
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\[(TRANSOM_\w+)\] (.*)$", page, re.MULTILINE)
    assert len(quoted) > 10
    assert [(name, text) for name, text in quoted if texts[name] != text] == []


def test_the_canaries_are_listed_with_the_files_that_rely_on_them() -> None:
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([A-Z].*?\.) \| (`\w+\.scala`.*?) \|$", page, re.MULTILINE)
    texts = [suite.read_text(encoding="utf-8") for suite in sorted(CANARIES.glob("*Suite.scala"))]
    calls = [re.findall(r"(?ms)^  canary\((.*?)\) \{", text) for text in texts]
    canaries = []
    for words in (re.findall('"(.*?)"', call) for suite in calls for call in suite):
        files = [word for word in words if word.endswith(".scala")]
        canaries.append(("".join(words[: -len(files)]), files))
    assert len(canaries) > 20
    assert sorted(canaries) == sorted((fact, re.findall("`(.*?)`", used)) for fact, used in listed)


def test_the_properties_are_listed_with_the_suites_that_check_them() -> None:
    page = (DOCS / "semantics.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (p\d) \| .* \| (`\w+`.*?) \|$", page, re.MULTILINE)
    listed = {(name, suite) for name, suites in table for suite in re.findall("`(.*?)`", suites)}
    tests = {
        (name, suite.stem)
        for suite in (ROOT / "jvm/engine/src/test").rglob("*Suite.scala")
        for name in re.findall(r'(?m)^  property\(\s*"(p\d): ', suite.read_text(encoding="utf-8"))
    }
    assert listed == tests
    assert {name for name, _ in listed} == {f"p{number}" for number in range(1, 9)}


def test_rules_that_comments_name_are_there() -> None:
    rules, section = set(), ""
    for line in (DOCS / "flink.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\d+)\.", line):
            section = heading[1]
            rules.add(section)
        elif rule := re.match(r"(\d+)\. ", line):
            rules.add(f"{section}.{rule[1]}")
    sources = [*ROOT.glob("jvm/*/src/**/*.scala"), *ROOT.glob("tests/end_to_end/**/*.py")]
    texts = [re.sub(r"\s*\n\s*\*?\s*", " ", s.read_text(encoding="utf-8")) for s in sources]
    named = [number for text in texts for number in _numbers(text)]
    assert len(named) > 20
    assert [number for number in named if number not in rules] == []


def _numbers(text: str) -> list[str]:
    named = re.findall(r"flink\.md (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)", text)
    return [number for one in named for number in re.split(r", | and | to ", one)]
