"""Makes the input: events that reach us in another order than they happened."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20_240_229
FILES = 5
MICROS_PER_EVENT = 50  # 20,000 events a second
MEAN_LATENESS_MICROS = 500_000
MAX_LATENESS_MICROS = 5_000_000
FIRST_EVENT_MICROS = 1_700_000_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input: so many rows with so many keys, always the same ones.

    Attributes
    ----------
    rows : int
        Rows in all files together.
    keys : int
        Keys, all equally frequent.
    """

    rows: int
    keys: int

    def make(self, parent: Path) -> Path:
        """Write the files, unless they are there, and return their folder."""
        folder = parent / f"{self.rows}-rows-{self.keys}-keys-seed-{SEED}"
        if folder.exists():
            return folder
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        table = self._table()
        bounds = np.linspace(0, self.rows, FILES + 1).astype(int)
        for number in range(FILES):
            part = table.slice(bounds[number], bounds[number + 1] - bounds[number])
            file = unfinished / f"part-{number}.parquet"
            pq.write_table(part, file)
            # The file source takes files in the order of their times.
            os.utime(file, (1_700_000_000 + number,) * 2)
        return unfinished.rename(folder)

    def _table(self) -> pa.Table:
        random = np.random.default_rng(SEED)
        happened = FIRST_EVENT_MICROS + MICROS_PER_EVENT * np.arange(self.rows, dtype=np.int64)
        lateness = random.exponential(MEAN_LATENESS_MICROS, self.rows)
        arrived = happened + np.minimum(lateness, MAX_LATENESS_MICROS).astype(np.int64)
        order = np.argsort(arrived, kind="stable")
        return pa.table(
            {
                "k": random.integers(0, self.keys, self.rows, dtype=np.int64),
                "ts": pa.array(happened[order], pa.timestamp("us", tz="UTC")),
                # Whole numbers: their sums do not depend on the order of addition.
                "v": random.integers(0, 1_000, self.rows).astype(np.float64),
            }
        )
