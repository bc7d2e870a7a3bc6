"""Makes the input: events that arrive out of order."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20_240_229
BATCHES = 5
MICROS_PER_EVENT = 50  # 20,000 events a second
# Flink's event time has a resolution of a millisecond, so the events have it too.
RESOLUTION_MICROS = 1_000
MEAN_LATENESS_MICROS = 500_000
MAX_LATENESS_MICROS = 5_000_000
FIRST_EVENT_MICROS = 1_700_000_000_000_000
HOUR_MICROS = 3_600_000_000

# The last row has a time after all others, so that it closes every window. Its own windows are
# removed from the results.
CLOSING_KEY = -1
CLOSES_AFTER_MICROS = 24 * HOUR_MICROS

# Arrivals name partitions in turn, as a producer without keys does.
PARTITIONS = 16

SMALL_BATCHES = 50
SMALL_BATCH_ROWS = 1_000

KINDS = ("long_keys", "skewed", "late", "even_values", "small_batches", "arrivals")

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input with a number of rows and keys. The rows are always the same.

    Attributes
    ----------
    rows : int
        Rows in all files together, without the row that closes all windows.
    keys : int
        Number of keys. All are equally frequent.
    long_keys : bool
        Whether keys are texts of 64 characters instead of numbers.
    skewed : bool
        Whether every other row has the same key.
    late : bool
        Whether one row in a hundred is an hour late, from the third batch on.
    even_values : bool
        Whether all rows of a key have the same value. A result then does not depend on the order in
        which the rows of a batch reach their key.
    small_batches : bool
        Whether the first batch has a row for each key, and each other batch has 1,000 rows. `rows`
        is not used.
    arrivals : bool
        Whether rows have three more columns: their arrival ``a``, their partition ``p`` and their
        order ``o``. Then a row of each partition closes all windows.
    hours : int or None
        Hours of event time over which all rows spread evenly. None has 20,000 rows a second.
    files_per_batch : int
        Number of files of a batch. They hold its rows in turn, like the partitions of a log.
    """

    rows: int
    keys: int
    long_keys: bool = False
    skewed: bool = False
    late: bool = False
    even_values: bool = False
    small_batches: bool = False
    arrivals: bool = False
    hours: int | None = None
    files_per_batch: int = 1

    @property
    def schema(self) -> str:
        """The columns of the files, as Spark's schema."""
        arrivals = ", a timestamp, p int, o long" if self.arrivals else ""
        return f"k {'string' if self.long_keys else 'long'}, ts timestamp, v double{arrivals}"

    @property
    def size(self) -> int:
        """Rows in all files together."""
        if self.small_batches:
            return self.keys + SMALL_BATCHES * SMALL_BATCH_ROWS
        return self.rows

    def make(self, parent: Path) -> Path:
        """Write the files unless they exist, and return their folder."""
        kinds = [kind for kind in KINDS if getattr(self, kind)]
        sizes = [f"{self.size}-rows", f"{self.files_per_batch}-files-a-batch", f"{self.keys}-keys"]
        spread = [] if self.hours is None else [f"{self.hours}-hours"]
        name = "-".join([*sizes, *spread, *kinds, f"seed-{SEED}"])
        folder = parent / name
        if folder.exists():
            return folder
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        number = 0
        for batch in self._batches():
            for first in range(self.files_per_batch):
                file = unfinished / f"part-{number:03}.parquet"
                pq.write_table(batch.take(np.arange(first, len(batch), self.files_per_batch)), file)
                # The file source reads files in the order of their modification times.
                os.utime(file, (1_700_000_000 + number,) * 2)
                number += 1
        return unfinished.rename(folder)

    def _batches(self) -> Iterator[pa.Table]:
        random = np.random.default_rng(SEED)
        keys, times, arrived = self._small(random) if self.small_batches else self._arriving(random)
        batches = np.array_split(np.arange(self.size), BATCHES)
        if self.small_batches:
            batches = np.split(np.arange(self.size), range(self.keys, self.size, SMALL_BATCH_ROWS))
        if self.late:
            late = random.random(self.size) < 0.01
            late[: batches[2][0]] = False
            times[late] -= HOUR_MICROS
        # The sums of whole numbers do not depend on the order of addition.
        values = random.integers(0, 1_000, self.size).astype(np.float64)
        if self.even_values:
            values = (keys % 1_000).astype(np.float64)
        for batch in batches:
            table = self._table(keys[batch], times[batch], values[batch], arrived[batch], batch)
            last = batch is batches[-1]
            yield pa.concat_tables([table, self._closing(int(times.max()))]) if last else table

    def _closing(self, latest: int) -> pa.Table:
        rows = PARTITIONS if self.arrivals else 1
        at = np.full(rows, latest + CLOSES_AFTER_MICROS)
        order = np.arange(self.size, self.size + rows)
        return self._table(np.full(rows, CLOSING_KEY), at, np.zeros(rows), at, order)

    def _arriving(self, random: np.random.Generator) -> tuple[Numbers, Numbers, Numbers]:
        """Return the keys, times and arrivals of rows, in the order of arrival."""
        happened = np.arange(self.rows, dtype=np.int64)
        if self.hours is None:
            happened *= MICROS_PER_EVENT
        else:
            happened = happened * (self.hours * HOUR_MICROS) // self.rows
        happened += FIRST_EVENT_MICROS - happened % RESOLUTION_MICROS
        lateness = random.exponential(MEAN_LATENESS_MICROS, self.rows)
        arrived = happened + np.minimum(lateness, MAX_LATENESS_MICROS).astype(np.int64)
        keys = random.integers(0, self.keys, self.rows, dtype=np.int64)
        if self.skewed:
            keys[::2] = 0
        order = np.argsort(arrived, kind="stable")
        return keys, happened[order], arrived[order]

    def _small(self, random: np.random.Generator) -> tuple[Numbers, Numbers, Numbers]:
        """Return keys and times of small batches, which are a second apart and arrive at once."""
        touched = [
            random.choice(self.keys, SMALL_BATCH_ROWS, replace=False) for _ in range(SMALL_BATCHES)
        ]
        keys = np.concatenate([np.arange(self.keys), *touched]).astype(np.int64)
        seconds = np.zeros(self.keys, dtype=np.int64), np.arange(SMALL_BATCHES) + 1
        times = np.concatenate([seconds[0], np.repeat(seconds[1], SMALL_BATCH_ROWS)])
        times = FIRST_EVENT_MICROS + 1_000_000 * times
        return keys, times, times

    def _table(
        self, keys: object, times: object, values: object, arrived: object, order: Numbers
    ) -> pa.Table:
        numbers = pa.array(keys, pa.int64())
        columns = {
            "k": [f"{key:064}" for key in numbers.to_pylist()] if self.long_keys else numbers,
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "v": pa.array(values, pa.float64()),
        }
        if self.arrivals:
            columns |= {
                "a": pa.array(arrived, pa.timestamp("us", tz="UTC")),
                "p": pa.array(order % PARTITIONS, pa.int32()),
                "o": pa.array(order, pa.int64()),
            }
        return pa.table(columns)
