"""A hook of MkDocs: the site shows links to tests and other code as plain text.

The pages link to files of the repository, which readers of the repository can follow. The site has
no such files, and ``mkdocs build --strict`` rejects links to them.
"""

import re
from typing import Any

_LINK_TO_CODE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:tests|jvm|examples)/[^)]+\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each link to code of the repository by its text."""
    return _LINK_TO_CODE.sub(r"\1", markdown)
