"""A writer for ``foreachBatch`` whose rows a test can read in every kind of session."""

import pickle
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, Row


class Kept:
    """Keeps the rows of each call in a file.

    In a Connect session a function for ``foreachBatch`` runs in another process, where each run of
    the query has a copy of the function.
    """

    def __init__(self, *, fails_at: int | None = None) -> None:
        """Make a writer that fails at its first call for the batch `fails_at`."""
        self._folder = Path(tempfile.mkdtemp())
        self._fails_at = fails_at

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        file = self._folder / f"{len(self.batches):06}"
        if batch_id == self._fails_at and batch_id not in self.batches:
            file.write_bytes(pickle.dumps((batch_id, [])))
            raise ValueError("the disk is full")
        file.write_bytes(pickle.dumps((batch_id, rows.collect())))

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the calls."""
        return [row for _, rows in self._calls() for row in rows]

    @property
    def by_batch(self) -> dict[int, list[Row]]:
        """The rows of each batch."""
        return dict(self._calls())

    @property
    def batches(self) -> list[int]:
        """The id of the batch of each call."""
        return [batch for batch, _ in self._calls()]

    def _calls(self) -> list[tuple[int, list[Row]]]:
        return [pickle.loads(file.read_bytes()) for file in sorted(self._folder.iterdir())]
