"""The page on Spark Connect lists why tests are skipped in a Connect session."""

import re
from pathlib import Path

from tests.end_to_end.support.sessions import Reason

ROOT = Path(__file__).parents[3]


def test_the_page_lists_the_reasons() -> None:
    page = (ROOT / "docs" / "connect.md").read_text("utf-8")
    _, _, section = page.partition("## What is not tested in a Connect session\n")
    listed = re.findall(r"^- (.*(?:\n  .*)*)", section, re.MULTILINE)
    assert [" ".join(text.split()) for text in listed] == [reason.value for reason in Reason]


def test_each_reason_is_one_for_a_test() -> None:
    sources = (ROOT / "tests" / "end_to_end").rglob("*.py")
    given = {
        name
        for source in sources
        for name in re.findall(r"skip_in_connect\(Reason\.(\w+)\)", source.read_text("utf-8"))
    }
    assert given == {reason.name for reason in Reason}
