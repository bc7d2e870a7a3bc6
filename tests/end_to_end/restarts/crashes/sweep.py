"""Crash one query at its durable writes, start it again, and compare what it wrote.

``python -m tests.end_to_end.restarts.crashes.sweep KIND SINK --points 5`` prints a `Report` as
JSON, and prints differences on standard error.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.end_to_end.restarts.crashes.kinds import KINDS
from tests.end_to_end.restarts.crashes.reasons import BLOCKED, loss_after, reason_of
from tests.end_to_end.restarts.crashes.runs import (
    ENDS,
    ROOT,
    STARTS,
    Crashes,
    output,
    run,
    session,
    write_input,
    write_next_file,
)

_MOST_RUNS = 3
_SHOWN = 3
_LONGEST_PROCESS = 300


@dataclass(frozen=True)
class Point:
    """A place in a run: before or after its n-th durable write, counted from 1."""

    number: int
    is_after: bool

    file: str

    def __str__(self) -> str:
        return f"{'after' if self.is_after else 'before'} write {self.number} ({self.file})"


@dataclass
class Report:
    """The disturbed runs of a query, and their outcomes.

    Attributes
    ----------
    kind, sink : str
        The query.
    rows : int
        The number of rows that an undisturbed run writes.
    tried : int
        The number of disturbed runs.
    identical : int
        The number of disturbed runs with the same output.
    reasons : dict
        The number of runs that differ because of Spark, by reason.
    different : list of str
        The runs that differ for another reason.
    """

    kind: str
    sink: str
    rows: int
    tried: int = 0
    identical: int = 0
    reasons: dict[str, int] = dataclasses.field(default_factory=dict)
    different: list[str] = dataclasses.field(default_factory=list)


class Sweep:
    """The disturbed runs of one query over one sink."""

    def __init__(self, spark: SparkSession, kind: str, sink: str, folder: Path) -> None:
        self._spark = spark
        self._kind = kind
        self._sink = sink
        self._target = folder
        self._crashes = Crashes(spark)
        write_input(folder / "input")
        error = self._run()
        assert not error, f"an undisturbed run of {kind} failed: {error}"
        self._expected = output(spark, kind, sink, folder)
        self._files = self._crashes.writes()
        rows = sum(self._expected.values())
        assert rows, f"an undisturbed run of {kind} wrote nothing"
        self._expected_later = self._output_with_later_rows()
        self.report = Report(kind, sink, rows)

    def points(self) -> list[Point]:
        """All points of an undisturbed run."""
        return [
            Point(number, is_after, file)
            for number, file in enumerate(self._files, start=1)
            for is_after in (False, True)
        ]

    def crash(self, points: Sequence[Point]) -> None:
        """Run the query to its end. It fails at each point, one after the other, by exception."""
        self._clear()
        for point in points:
            self._crashes.arm(point.number, is_after=point.is_after)
            self._run()
            self._note_loss()
        self._finish(" then ".join(map(str, points)))

    def halt(self, point: Point) -> None:
        """Run the query to its end. Its first JVM halts at the point."""
        self._clear()
        printed, _ = self._start(point).communicate(timeout=_LONGEST_PROCESS)
        assert printed.startswith(STARTS), f"the query did not start: {printed}"
        assert ENDS not in printed, f"the JVM did not halt {point}"
        self._note_loss()
        self._finish(f"JVM halted {point}")

    def kill(self, seconds: float) -> None:
        """Run the query to its end. Its first process is killed so long after the query starts.

        If the query ends before that, it starts anew and is killed after half the time.
        """
        self._clear()
        while not self._killed_after(seconds):
            self._clear()
            seconds /= 2
        self._note_loss()
        self._finish(f"killed {seconds:.2f} s after its start")

    def _killed_after(self, seconds: float) -> bool:
        """Return whether a process that runs the query was killed before its end."""
        process = self._start(None)
        assert process.stdout is not None
        started = process.stdout.readline()
        assert started.startswith(STARTS), f"the query did not start: {started}"
        jvm = int(started.split()[-1])
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            subprocess.run(["kill", "-KILL", str(jvm)], check=False)
            process.kill()
            printed, _ = process.communicate()
        return ENDS not in printed

    def _later_rows_complete(self) -> bool:
        return (
            not KINDS[self._kind].drains and self._output_with_later_rows() == self._expected_later
        )

    def _output_with_later_rows(self) -> Counter[str]:
        """Return the whole output after one more run with a row that is a day later."""
        if KINDS[self._kind].drains:
            return Counter()
        file = write_next_file(self._target / "input")
        error = self._run()
        file.unlink()
        assert not error, error
        return output(self._spark, self._kind, self._sink, self._target)

    def _clear(self) -> None:
        self._losses: list[str] = []
        for name in ("checkpoint", "out"):
            shutil.rmtree(self._target / name, ignore_errors=True)

    def _note_loss(self) -> None:
        loss = loss_after(self._target)
        if loss is not None:
            self._losses.append(loss)

    def _start(self, point: Point | None) -> subprocess.Popen[str]:
        """Start a process that runs the query from its checkpoint, to a point if there is one."""
        number = 0 if point is None else point.number
        when = "after" if point is not None and point.is_after else "before"
        module = [sys.executable, "-m", "tests.end_to_end.restarts.crashes.runs"]
        return subprocess.Popen(
            [*module, self._target, self._kind, self._sink, str(number), when],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _run(self) -> str:
        """Run the query once, and return the text of its error, or an empty string."""
        try:
            run(self._spark, self._kind, self._sink, self._target)
        except (PySparkException, Py4JJavaError) as failure:
            return str(failure)
        return ""

    def _finish(self, disturbance: str) -> None:
        """Run the query until it ends without an error, and report what it wrote."""
        self._crashes.arm(0, is_after=False)
        for _ in range(_MOST_RUNS):
            error = self._run()
            if not error:
                break
        written = (
            Counter[str]() if error else output(self._spark, self._kind, self._sink, self._target)
        )
        missing, extra = self._expected - written, written - self._expected
        self.report.tried += 1
        if not error and not missing and not extra:
            self.report.identical += 1
            return
        reason = reason_of(error, self._losses, is_pending=bool(missing) and not extra)
        # Results that wait for a watermark must come with the next rows.
        is_final = reason in (None, BLOCKED)
        if reason is not None and (is_final or self._later_rows_complete()):
            self.report.reasons[reason] = self.report.reasons.get(reason, 0) + 1
            return
        what = error or (
            f"{missing.total()} rows are missing, such as {list(missing)[:_SHOWN]}; "
            f"{extra.total()} are extra, such as {list(extra)[:_SHOWN]}"
        )
        self.report.different.append(f"{disturbance}: {what}")


def pairs(points: Sequence[Point], count: int, chosen: random.Random) -> Iterator[list[Point]]:
    """Some pairs of points: the second crash hits the run that follows the first."""
    for _ in range(count):
        # A run after a crash has fewer writes left than a whole one.
        yield [chosen.choice(points), chosen.choice(points[: len(points) // 2])]


def main() -> None:
    """Disturb the query on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("sink", choices=["files", "batches"])
    parser.add_argument("--points", type=int, help="crash at so many points, not at all of them")
    parser.add_argument("--pairs", type=int, default=0, help="crash twice in a row, so often")
    parser.add_argument("--halts", type=int, default=0, help="halt the JVM at so many points")
    parser.add_argument("--kills", type=int, default=0, help="kill the process so often")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        spark = session(folder / "local")
        sweep = Sweep(spark, arguments.kind, arguments.sink, folder)
        chosen = random.Random(f"{arguments.kind} {arguments.sink}")
        points = sweep.points()
        for point in (
            points if arguments.points is None else chosen.sample(points, arguments.points)
        ):
            sweep.crash([point])
        for pair in pairs(points, arguments.pairs, chosen):
            sweep.crash(pair)
        for point in chosen.sample(points, arguments.halts):
            sweep.halt(point)
        for _ in range(arguments.kills):
            sweep.kill(chosen.uniform(0, 8))
        spark.stop()
    finally:
        shutil.rmtree(folder)
    for difference in sweep.report.different:
        print(difference, file=sys.stderr)
    print(json.dumps(dataclasses.asdict(sweep.report)))


if __name__ == "__main__":
    main()
