"""Checkpoints of one Spark that a newer Spark continues.

``python -m tests.end_to_end.restarts.crashes.upgrading begin FOLDER`` runs each query to its end,
and once more up to an exception in the middle. ``continue FOLDER``, by the Python of a newer Spark,
continues the second run, and fails if the output of a query differs from that of its first run.
"""

import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.end_to_end.restarts.crashes.kinds import KINDS
from tests.end_to_end.restarts.crashes.runs import (
    Crashes,
    output,
    run,
    session,
    write_input,
    write_next_file,
)

# The file sink may skip the batch of the exception, see the page on guarantees.
SINK = "batches"


def begin(spark: SparkSession, kind: str, whole: Path, stopped: Path) -> None:
    """Run a query to its end, and to an exception at the durable write in the middle."""
    crashes = Crashes(spark)
    write_input(whole / "input")
    crashes.arm(0, is_after=False)
    run(spark, kind, SINK, whole)
    middle = len(crashes.writes()) // 2
    write_input(stopped / "input")
    crashes.arm(middle, is_after=False)
    try:
        run(spark, kind, SINK, stopped)
    except StreamingQueryException:
        assert crashes.has_crashed()
    else:
        raise AssertionError(f"{kind} has not been stopped")
    print(f"{kind}: stopped at durable write {middle}", flush=True)


def continue_(spark: SparkSession, kind: str, whole: Path, stopped: Path) -> bool:
    """Continue the run that was stopped, and return whether its output is that of the first run."""
    Crashes(spark).arm(0, is_after=False)
    run(spark, kind, SINK, stopped)
    if not KINDS[kind].drains:
        # Results of the last rows may wait for the next row after a restart.
        for folder in (whole, stopped):
            write_next_file(folder / "input")
            run(spark, kind, SINK, folder)
    expected, found = (output(spark, kind, SINK, folder) for folder in (whole, stopped))
    assert expected
    is_same = found == expected
    print(f"{kind}: {'the same' if is_same else 'differs'}, {found.total()} rows", flush=True)
    return is_same


def main(step: str, folder: Path) -> int:
    """Take a step for all queries, and return the exit code."""
    spark = session(folder / "local")
    differ = 0
    for kind, made in KINDS.items():
        if made.layout == "Spark":
            continue
        folders = (folder / kind / "whole", folder / kind / "stopped")
        if step == "begin":
            begin(spark, kind, *folders)
        else:
            differ += not continue_(spark, kind, *folders)
    if step == "continue":
        print(f"Spark {spark.version} continues all queries but {differ}.")
    spark.stop()
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).absolute()))
