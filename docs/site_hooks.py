"""Hooks of MkDocs: what the site shows otherwise than the repository.

The pages link to files of the repository, which readers of the repository can follow. The site has
no such files, and ``mkdocs build --strict`` rejects links to them. So the site shows the text of
the link.

A block of SQL that follows a block of Python has the same rows. The repository shows the blocks one
after the other, and the site shows tabs.
"""

import re
from textwrap import indent
from typing import Any

_LINK_TO_CODE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:tests|jvm|examples)/[^)]+\)")
_TWINS = re.compile(
    r"^(```python\n(?:(?!```).*\n)*```\n)\n(```sql\n(?:(?!```).*\n)*```\n)", re.MULTILINE
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links to code of the repository, and make tabs of Python and SQL."""
    return _TWINS.sub(_tabs, _LINK_TO_CODE.sub(r"\1", markdown))


def _tabs(twins: re.Match[str]) -> str:
    tabs = zip(("Python", "SQL"), twins.groups(), strict=True)
    return "\n".join(f'=== "{name}"\n\n{indent(block, " " * 4)}' for name, block in tabs)
