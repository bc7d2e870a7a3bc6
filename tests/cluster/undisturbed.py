"""Undisturbed runs in a local session, which runs on a cluster are compared with.

``python -m tests.cluster.undisturbed FOLDER CASE...`` prints the `Outcome` of each case.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.runs import Case, Outcome, clear, local_session, run, write_input
from tests.cluster.standalone import ROOT

_MOST_SECONDS = 1800


def undisturbed(cases: Sequence[Case], folder: Path) -> dict[Case, Outcome]:
    """Run each case in a process of its own session, and return what it has written."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, folder, *map(str, cases)],
        cwd=ROOT,
        env=os.environ | {"TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = done.stdout.splitlines()[-len(cases) :]
    return {case: Outcome.parse(line) for case, line in zip(cases, lines, strict=True)}


def main(folder: Path, cases: Sequence[Case]) -> None:
    """Run the cases one after the other."""
    write_input(folder / "input")
    spark = local_session(folder)
    for case in cases:
        clear(folder)
        print(run(spark, case, folder).text())
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Case.parse(text) for text in sys.argv[2:]])
