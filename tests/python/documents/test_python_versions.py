"""All pages name the Python that CI runs, and no other."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples/README.md"]


def test_the_pages_name_the_versions_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    classifiers = " ".join(project["classifiers"])
    tested = set(re.findall(r"Python :: (3\.\d+)", classifiers))
    assert tested == {"3.11"}
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
    claim = re.compile(r"Python (3\.\d+)(?: (or \w+))?")
    named = [(name, *found) for name, text in texts.items() for found in claim.findall(text)]
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= {name for name, *_ in named}
    assert [found for found in named if found[1] not in tested or found[2]] == []
