"""Undisturbed runs in a local session, which runs on a cluster are compared with.

``python -m tests.cluster.undisturbed FOLDER CASE...`` prints the `Outcome` of each case.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cluster.runs import Case, Outcome, clear, local_session, run, write_input
from tests.cluster.standalone import ROOT

_PREFIX = "outcome "


def undisturbed(cases: Sequence[Case], folder: Path) -> Iterator[tuple[Case, Outcome]]:
    """Run each case in one process of its own, and yield what it has written.

    The process goes on with the next cases while the caller uses an outcome.
    """
    folder.mkdir()
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", __name__, folder, *map(str, cases)],
            cwd=ROOT,
            env=os.environ | {"TZ": "UTC"},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        # Python's functions print lines too.
        outcomes = (line for line in process.stdout if line.startswith(_PREFIX))
        try:
            for case in cases:
                line = next(outcomes, None)
                assert line is not None, (folder / "log").read_text()[-4000:]
                yield case, Outcome.parse(line.removeprefix(_PREFIX))
        finally:
            process.kill()


def main(folder: Path, cases: Sequence[Case]) -> None:
    """Run the cases one after the other."""
    write_input(folder / "input")
    spark = local_session(folder)
    for case in cases:
        clear(folder)
        print(_PREFIX + run(spark, case, folder).text(), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Case.parse(text) for text in sys.argv[2:]])
