"""Runs several peers: first checks the results of each, then times them in turn."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from benchmarks.peers.processes import FailedError, Watched, run
from benchmarks.record import Measurement, Run

# The default peer whose results all others must equal.
REFERENCE = "transom"


class EmptyResultsError(Exception):
    """The results to compare have no rows, so a comparison proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One peer with one query.

    Attributes
    ----------
    blank : Measurement
        The measurement without results. ``failed`` is set if the peer cannot run the query.
    command : callable
        Returns, for a folder of the run, the command that runs the query and prints JSON:
        ``seconds``, and ``figures`` by name. With ``write=True`` it writes results to ``rows``.
    digest : callable or None
        Returns, for the folder of the results, their number and their hash. None if the peer
        computes no results.
    state : str or None
        Path of the state on disk, within the folder of the run. The checkpoint is in
        ``checkpoint``.
    reference : Entrant or None
        The entrant whose results must be equal. It computes a part of the results, so the
        measurement keeps no hash. None takes the reference with the same number of rows.
    """

    blank: Measurement
    command: Callable[..., list[str]]
    digest: Callable[[Path], tuple[int, str]] | None
    state: str | None
    reference: Self | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The runs of several entrants, in turn.

    Attributes
    ----------
    repeats : int
        Timed runs of each entrant.
    limit : float
        Seconds after which a run is aborted.
    work : Path
        The folder for the files of runs, which are removed after each run.
    keep : callable
        Called with each state of a measurement.
    reference : str
        The peer whose results all others must equal.
    mirrored : bool
        Whether every second turn has the opposite order. A machine that becomes slower or faster
        then favours neither of two entrants.
    """

    repeats: int
    limit: float
    work: Path
    keep: Callable[[Measurement], None]
    reference: str = REFERENCE
    mirrored: bool = False

    def take(
        self, entrants: Sequence[Entrant], references: Mapping[int, Entrant]
    ) -> dict[str, Measurement]:
        """Measure one query with all entrants, by the names of their peers.

        An entrant gets no times if it fails, or if its results differ from the reference with the
        same number of rows. The other entrants continue.

        Raises
        ------
        EmptyResultsError
            The reference returned no rows, so any peer that returns no rows would look correct.
        """
        expected: dict[int, tuple[int, str]] = {}
        measured = {}
        for entrant in entrants:
            measured[entrant.blank.peer] = self._checked(entrant, references, expected)
            self.keep(measured[entrant.blank.peer])
        for turn in range(self.repeats):
            for entrant in entrants[:: -1 if self.mirrored and turn % 2 else 1]:
                so_far = measured[entrant.blank.peer]
                if so_far.failed is None:
                    measured[entrant.blank.peer] = self._timed(entrant, so_far)
                    self.keep(measured[entrant.blank.peer])
        return measured

    def _checked(
        self,
        entrant: Entrant,
        references: Mapping[int, Entrant],
        expected: dict[int, tuple[int, str]],
    ) -> Measurement:
        """Compare the results with the reference, and return a measurement without times."""
        blank, rows = entrant.blank, entrant.blank.rows
        if blank.failed is not None or entrant.digest is None:
            return blank
        try:
            if entrant.reference is not None:
                wanted = self._expected(entrant.reference)
            else:
                if rows not in expected:
                    expected[rows] = self._expected(references[rows])
                wanted = expected[rows]
            found = wanted if blank.peer == self.reference else self._results(entrant)
        except FailedError as error:
            return replace(blank, failed=str(error), given_up_after=error.limit)
        differs = f"its {found[0]} results differ from {self.reference}'s {wanted[0]}"
        return replace(
            blank,
            result_rows=found[0],
            digest=found[1] if entrant.reference is None else None,
            failed=None if found == wanted else differs,
        )

    def _expected(self, reference: Entrant) -> tuple[int, str]:
        """Return the number of result rows of the reference, which is not 0, and their hash."""
        found = self._results(reference)
        if found[0] == 0:
            blank = reference.blank
            raise EmptyResultsError(
                f"{blank.query}: {self.reference} returned no rows for {blank.rows:,} rows of "
                "input, so there is nothing to compare peers with. Raise BENCH_ROWS until windows "
                "fire."
            )
        return found

    def _results(self, entrant: Entrant) -> tuple[int, str]:
        assert entrant.digest is not None
        with self._folder(entrant) as work:
            self._run(entrant, work, Watched({}), write=True)
            return entrant.digest(work / "rows")

    def _timed(self, entrant: Entrant, so_far: Measurement) -> Measurement:
        with self._folder(entrant) as work:
            state = {"state": work / entrant.state} if entrant.state else {}
            watched = Watched({"checkpoint": work / "checkpoint"} | state)
            try:
                printed = self._run(entrant, work, watched, write=False)
            except FailedError as error:
                return replace(so_far, runs=(), failed=str(error), given_up_after=error.limit)
        figures = printed.get("figures", {})
        timed = Run(
            seconds=printed["seconds"],
            job_seconds=figures.pop("job_seconds", None),
            peak_memory_bytes=watched.memory_bytes,
            state_bytes=watched.disk_bytes.get("state"),
            checkpoint_bytes=watched.disk_bytes.get("checkpoint"),
        )
        # The measurement has the figures of the last run.
        return replace(so_far, runs=(*so_far.runs, timed), figures=figures)

    def _run(
        self, entrant: Entrant, work: Path, watched: Watched, *, write: bool
    ) -> dict[str, Any]:
        printed = run(entrant.command(work, write=write), self.limit, work, watched)
        outcome: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return outcome

    @contextmanager
    def _folder(self, entrant: Entrant) -> Iterator[Path]:
        about = f"{entrant.blank.query}-{entrant.blank.peer}-"
        work = Path(tempfile.mkdtemp(prefix=about, dir=self.work)).absolute()
        try:
            yield work
        finally:
            shutil.rmtree(work)
