"""The code blocks of a page, run from top to bottom."""

import io
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.support.sessions import Reason, is_connect, skip_in_connect
from tests.end_to_end.support.twins import check_twin

# A block of Python, its twin in SQL, and the output that follows in a block without a language.
_BLOCK = re.compile(
    r"```python\n(.*?)```\n(?:\n```sql\n(.*?)```\n)?(?:\n```\n(.*?)```\n)?", re.DOTALL
)
_END = "-- the end of a block --"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Python on a page.

    Attributes
    ----------
    code : str
        The code.
    sql : str
        The block of SQL that follows, a view with the rows of a DataFrame of the code. Empty
        without one.
    shown : str
        The output that the page shows.
    """

    code: str
    sql: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """Return each block of Python of a page."""
    return [
        Block(code, sql, shown.strip())
        for code, sql, shown in _BLOCK.findall(page.read_text("utf-8"))
    ]


def check_in_session(page: Path, names: Mapping[str, object]) -> None:
    """Run the blocks of a page in this process, and compare what they print with the page.

    The rows of each view in SQL are compared with those of its twin in Python.

    Parameters
    ----------
    page : Path
        The page.
    names : mapping
        Variables that the page uses without setting them, such as ``spark``.
    """
    variables: dict[str, Any] = dict(names)
    # The sources of streams have all of their rows at the end of the page.
    twins = []
    for block in blocks(page):
        code = block.code
        if is_connect():
            # The server of the session is set already, and it has no master to set.
            code = code.replace('.master("local[2]")', "")
        printed = io.StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            if is_connect():
                # PySpark warns of settings of the server, which the session has already.
                warnings.simplefilter("ignore", UserWarning)
            exec(compile(code, page.name, "exec"), variables)
        assert printed.getvalue().strip() == block.shown, code
        if block.sql:
            twins.append((block.sql, dict(variables)))
    for text, at_block in twins:
        check_twin(variables["spark"], text, at_block)


def printed_by_program(page: Path, folder: Path) -> list[str]:
    """Run the blocks of a page in one Python process, and return what each block prints.

    The process starts in ``folder``, so the relative paths of the page are in this folder.
    """
    skip_in_connect(Reason.PROCESS)
    code = "".join(f"{block.code}\nprint({_END!r})\n" for block in blocks(page))
    (folder / "program.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [part.strip() for part in done.stdout.split(_END)[:-1]]
