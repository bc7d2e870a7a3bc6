"""A hook of MkDocs: the site shows links to tests as plain text.

The pages link to tests of the repository, which readers of the repository can follow. The site has
no such files, and ``mkdocs build --strict`` rejects links to them.
"""

import re
from typing import Any

_LINK_TO_TEST = re.compile(r"\[([^\]]+)\]\(\.\./tests/[^)]+\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each link to a file in ``tests`` by its text."""
    return _LINK_TO_TEST.sub(r"\1", markdown)
