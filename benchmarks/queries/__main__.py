"""Times what users pick today and transom, in turn.

``python -m benchmarks.queries [NAME ...]``. For each query both sides first write their rows once,
which must be the same; then each runs in fresh processes, in turn, and the medians are printed.

Environment
-----------
BENCH_ROWS
    Rows of input, 10,000,000 unless set.
BENCH_REPEATS
    Timed runs of each side, 3 unless set.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.queries.data import SEED, Input
from benchmarks.queries.shapes import SHAPES

BUILD = Path("build/bench")
WORK = BUILD / "work"
SIDES = ("theirs", "ours")


def one_run(name: str, side: str, folder: Path, *options: str) -> dict[str, Any]:
    """Run one side of a query once, in a process and a folder of its own."""
    work = Path(tempfile.mkdtemp(prefix=f"{name}-{side}-", dir=WORK))
    command = [sys.executable, "-m", "benchmarks.queries.once", name, side, *options]
    command += [str(folder), str(work)]
    try:
        printed = printed_by(command, work)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{error.stderr}\n{name}: the {side} query failed, see above") from None
    finally:
        shutil.rmtree(work)
    outcome: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return outcome


def printed_by(command: list[str], work: Path) -> str:
    """Run a command to its end, and end with it whatever it started.

    A JVM may hang as it exits, when a thread of RocksDB's wants to log through it just then. So its
    output goes to files: a pipe would stay open.
    """
    printed, errors = work / "printed", work / "errors"
    with printed.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
    try:
        code = process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if code != 0:
        raise subprocess.CalledProcessError(code, command, stderr=errors.read_text())
    return printed.read_text()


def compare(name: str, rows: int, repeats: int) -> dict[str, Any]:
    """Compare both sides of a query: first their rows, then their times."""
    shape = SHAPES[name]
    asked = {"theirs": rows // shape.share, "ours": rows}
    folders = {side: Input(rows=asked[side], keys=shape.keys).make(BUILD) for side in SIDES}
    written = {side: one_run(name, side, folders["theirs"], "--hash") for side in SIDES}
    if written["theirs"] != written["ours"]:
        raise SystemExit(f"{name}: the rows differ: {json.dumps(written)}")
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(repeats):
        for side in SIDES:
            seconds[side].append(one_run(name, side, folders[side])["seconds"])
    pairs = zip(*seconds.values(), strict=True)
    return {
        "name": name,
        "peer": shape.peer,
        "input_rows": asked,
        "seconds": seconds,
        "ratio": statistics.median(theirs / ours for theirs, ours in pairs) * shape.share,
        "seed": SEED,
        "result": written["ours"],
        "machine": {"cpus": os.cpu_count(), "system": platform.platform()},
    }


def report(outcome: dict[str, Any]) -> None:
    """Print one line, and keep all that was measured."""
    name, rows, ratio = outcome["name"], outcome["input_rows"], outcome["ratio"]
    medians = {side: statistics.median(outcome["seconds"][side]) for side in SIDES}
    if rows["theirs"] == rows["ours"]:
        shown = {side: f"{medians[side]:.1f} s" for side in SIDES}
    else:
        shown = {side: f"{rows[side] / medians[side]:,.0f} rows/s" for side in SIDES}
    theirs = f"{outcome['peer']} {shown['theirs']}"
    print(f"{name}: {theirs}, transom {shown['ours']}, ratio {ratio:.2f}", flush=True)
    results = BUILD / "results"
    results.mkdir(exist_ok=True)
    (results / f"{name}.json").write_text(json.dumps(outcome, indent=2) + "\n")


def main() -> None:
    """Compare the queries that the command line names, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks.queries", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SHAPES))
    names = parser.parse_args().names or list(SHAPES)
    if unknown := [name for name in names if name not in SHAPES]:
        parser.error(f"no query is called {', '.join(unknown)}; there are {', '.join(SHAPES)}")
    rows = int(os.environ.get("BENCH_ROWS", "10_000_000"))
    repeats = int(os.environ.get("BENCH_REPEATS", "3"))
    # What a run that was killed left behind.
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for name in names:
        report(compare(name, rows, repeats))


if __name__ == "__main__":
    main()
