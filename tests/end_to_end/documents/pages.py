"""The code blocks of a page, run from top to bottom."""

import io
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

from tests.end_to_end.support.sessions import Reason, is_connect, skip_in_connect

# A block of Python, and the output that follows it in a block without a language.
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)
_END = "-- the end of a block --"


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the code of each block of Python, with the output that the page shows."""
    return [(code, shown.strip()) for code, shown in BLOCK.findall(page.read_text("utf-8"))]


def check_in_session(page: Path, names: Mapping[str, object]) -> None:
    """Run the blocks of a page in this process, and compare what they print with the page.

    Parameters
    ----------
    page : Path
        The page.
    names : mapping
        Variables that the page uses without setting them, such as ``spark``.
    """
    variables = dict(names)
    for code, shown in blocks(page):
        if is_connect():
            # The server of the session is set already, and it has no master to set.
            code = code.replace('.master("local[2]")', "")
        printed = io.StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            if is_connect():
                # PySpark warns of settings of the server, which the session has already.
                warnings.simplefilter("ignore", UserWarning)
            exec(compile(code, page.name, "exec"), variables)
        assert printed.getvalue().strip() == shown, code


def printed_by_program(page: Path, folder: Path) -> list[str]:
    """Run the blocks of a page in one Python process, and return what each block prints.

    The process starts in ``folder``, so the relative paths of the page are in this folder.
    """
    skip_in_connect(Reason.PROCESS)
    code = "".join(f"{code}\nprint({_END!r})\n" for code, _ in blocks(page))
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
