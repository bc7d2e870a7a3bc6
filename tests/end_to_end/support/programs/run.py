"""Runs a program of this folder in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.end_to_end.support.sessions import Reason, skip_in_connect

_ROOT = Path(__file__).parents[4]
_PACKAGE = __name__.rpartition(".")[0]


def run(name: str, *arguments: object, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return its exit code and what it printed."""
    skip_in_connect(Reason.PROCESS)
    return subprocess.run(
        [sys.executable, "-m", f"{_PACKAGE}.{name}", *map(str, arguments)],
        cwd=_ROOT,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
