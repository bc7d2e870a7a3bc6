"""Disturb queries on a cluster, and compare what they write and count with undisturbed runs."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.cluster.runs import (
    QUERIES,
    Case,
    Outcome,
    Place,
    Point,
    clear,
    cluster_session,
    fired_points,
    run,
    write_input,
)
from tests.cluster.standalone import ENVIRONMENT, ROOT, Standalone

# Spark fails a job whose repeated tasks sent other rows to a shuffle, if the job has results, or if
# a task that has read the first rows still runs.
_NO_ROLLBACK = re.compile("cannot rollback|indeterminate results from old attempt")
_SHOWN = 3
# The batches after them only close what is open.
DISTURBED = (0, 1, 2)
_MOST_SECONDS = 600


@dataclass
class Report:
    """The disturbed runs of a case.

    Attributes
    ----------
    tried, identical : int
        The number of runs, and of those that write and count the same as an undisturbed run.
    of_spark : int
        The number of runs that Spark ended because it cannot roll back, and that were identical
        after a restart. For a query of Spark's own, also the number of runs that differ.
    different : list of str
        The other runs, with what differs or why they failed.
    """

    case: Case
    tried: int = 0
    identical: int = 0
    of_spark: int = 0
    different: list[str] = field(default_factory=list)

    def add(self, disturbance: str, difference: str, *, ended_by_spark: bool = False) -> None:
        """Note a disturbed run, and its difference from an undisturbed one if there is any."""
        self.tried += 1
        if not difference and not ended_by_spark:
            self.identical += 1
        elif not difference or QUERIES[self.case.kind].layout == "Spark":
            self.of_spark += 1
        else:
            self.different.append(f"{disturbance}: {difference}")


def difference_of(expected: Outcome, found: Outcome) -> str:
    """What differs between an undisturbed run and a disturbed one, or an empty string."""
    wanted, written = Counter(expected.rows), Counter(found.rows)
    missing, extra = wanted - written, written - wanted
    parts = [
        f"{rows.total()} rows are {what}, such as {list(rows)[:_SHOWN]}"
        for what, rows in (("missing", missing), ("extra", extra))
        if rows
    ]
    parts += [
        f"{name} is {found.counts.get(name)} and not {expected.counts.get(name)}"
        for name in sorted(expected.counts.keys() | found.counts.keys())
        if found.counts.get(name) != expected.counts.get(name)
    ]
    return "; ".join(parts)


def points(
    places: Sequence[Place], actions: Mapping[int, str], chosen: random.Random
) -> list[Point]:
    """A point for the action in each batch, at a random stage."""
    found = []
    for batch, action in actions.items():
        in_batch = [place for place in places if place.batch == batch]
        if action == "lose":
            # Only a stage that is not the first one of its job has shuffle files to read.
            in_batch = [place for place in in_batch if place.stage > 0]
        if action == "stall":
            # Spark judges by the other tasks of a stage whether a task is slow.
            in_batch = [place for place in in_batch if place.tasks > 1]
        assert in_batch, f"batch {batch} has no place for {action}"
        moment = "start" if action == "lose" else chosen.choice(["start", "end"])
        found.append(Point(action, chosen.choice(in_batch), moment))
    return found


class Disturber:
    """Runs cases on a cluster.

    Parameters
    ----------
    cluster : Standalone
        A cluster with two workers.
    folder : Path
        Gets all files.
    """

    def __init__(self, cluster: Standalone, folder: Path) -> None:
        self._cluster = cluster
        self._expected: dict[Case, Outcome] = {}
        self._folder = folder / "run"
        self._local = folder
        self._spark: SparkSession | None = None
        self._is_speculating = False
        self.reports: dict[Case, Report] = {}
        write_input(self._folder / "input")

    def expect(self, case: Case, outcome: Outcome) -> None:
        """Compare all runs of a case with an undisturbed run."""
        self._expected[case] = outcome
        self.reports[case] = Report(case)

    def session(self, *, speculates: bool = False) -> SparkSession:
        """The session on the cluster, with or without speculation."""
        if self._spark is None or self._is_speculating != speculates:
            self.stop()
            self._is_speculating = speculates
            settings = {
                "spark.speculation": str(speculates).lower(),
                "spark.speculation.interval": "50ms",
                "spark.speculation.quantile": "0.1",
                # A task that does not stall is quicker.
                "spark.speculation.minTaskRuntime": "2s",
            }
            python = ENVIRONMENT / "bin" / "python"
            self._spark = cluster_session(self._cluster.url, python, self._local, **settings)
        return self._spark

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._spark.stop()
            self._spark = None

    def disturb(self, case: Case, actions: Mapping[int, str]) -> None:
        """Run a case with disturbances.

        Parameters
        ----------
        case : Case
            The query.
        actions : mapping of int to str
            What disturbs each batch: an action of a `Point` at a random stage, or "leave": one
            executor leaves and one joins before Spark commits the batch.
        """
        at_stages = {batch: action for batch, action in actions.items() if action != "leave"}
        places = self._expected[case].places
        chosen = points(places, at_stages, random.Random(f"{case} {actions}"))
        self.disturb_at(case, chosen, [batch for batch in actions if batch not in at_stages])

    def disturb_at(self, case: Case, chosen: Sequence[Point], leaving: Sequence[int] = ()) -> None:
        """Run a case with disturbances at some points, and at the ends of some batches.

        Parameters
        ----------
        case : Case
            The query.
        chosen : sequence of Point
            The points, in the order of their batches.
        leaving : sequence of int
            The batches before whose commit one executor leaves and one joins.
        """

        def replace_worker(batch: int) -> None:
            if batch in leaving:
                self._cluster.remove_worker()
                self._cluster.add_workers(1)

        def disturbed() -> tuple[Outcome, bool]:
            spark = self.session(speculates=any(point.action == "stall" for point in chosen))
            left, is_ended_by_spark = chosen, False
            while True:
                try:
                    found = run(spark, case, self._folder, left, after_batch=replace_worker)
                except PySparkException as error:
                    fired = fired_points(spark)
                    if not fired or not _NO_ROLLBACK.search(str(error)):
                        raise
                    # As the page on guarantees says: a restart repeats the batch as a whole. Points
                    # fire in the order of their batches, so the first ones are done.
                    left, is_ended_by_spark = left[fired:], True
                else:
                    return found, is_ended_by_spark

        disturbances = [*map(str, chosen), *(f"leave {batch}" for batch in leaving)]
        self._report(case, ", ".join(disturbances), disturbed)

    def kill_driver(self, case: Case, batch: int = 1) -> None:
        """Run a case in a process that is killed in a batch, and again in a second process."""
        # Two applications would share the executors' cores.
        self.stop()

        def twice() -> tuple[Outcome, bool]:
            killed = drive(self._cluster.url, case, self._folder, batch)
            assert killed.returncode == -signal.SIGKILL, killed.stderr[-4000:]
            done = drive(self._cluster.url, case, self._folder, None)
            assert done.returncode == 0, done.stderr[-4000:]
            return Outcome.parse(done.stdout.splitlines()[-1]), False

        self._report(case, f"the driver is killed in batch {batch}", twice)

    def _report(
        self, case: Case, disturbance: str, runs: Callable[[], tuple[Outcome, bool]]
    ) -> None:
        clear(self._folder)
        ended_by_spark = False
        try:
            found, ended_by_spark = runs()
            difference = difference_of(self._expected[case], found)
        except Exception as error:  # noqa: BLE001  # The other cases go on.
            difference = f"{type(error).__name__}: {error}"[:2000]
            self.stop()
        self.reports[case].add(disturbance, difference, ended_by_spark=ended_by_spark)


def drive(
    url: str, case: Case, folder: Path, killed_in: int | None
) -> subprocess.CompletedProcess[str]:
    """Run a case in a driver of its own."""
    batch = "none" if killed_in is None else str(killed_in)
    return subprocess.run(
        [sys.executable, "-m", "tests.cluster.driver", url, str(case), folder, batch],
        cwd=ROOT,
        env=os.environ | {"TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
