"""Nexmark's events as files, in the order in which they arrive.

The files of a batch hold its rows in turn, as partitions do, so that several readers can work at
once.

The last row of each kind is no event of Nexmark. Its time is a minute after the other rows, so that
all of their windows close. All of its ids are 0, and its own results are removed.
"""

import os
import shutil
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.nexmark.events import Events

BATCHES = 5
FILES_PER_BATCH = 2
KINDS = ("persons", "auctions", "bids")
CLOSING_ID = 0
CLOSING_AFTER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input with a number of events. The events are always the same.

    Attributes
    ----------
    events : int
        Events of all kinds together.
    stream : Events
        The generator of the events.
    """

    events: int
    stream: Events = field(default_factory=Events)

    def make(self, parent: Path) -> Path:
        """Write a folder of files for each kind, unless it exists, and return the parent folder.

        The files ``part-<batch>-<number>`` of all kinds hold the same part of the stream.
        """
        stream = self.stream
        about = f"{stream.a_second}-a-second-groups-of-{stream.out_of_order}-seed-{stream.seed}"
        folder = parent / f"{self.events}-events-{about}"
        if folder.exists():
            return folder
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        bounds = np.linspace(0, self.events, BATCHES + 1).astype(int).tolist()
        for batch in range(BATCHES):
            for kind, table in stream.tables(bounds[batch], bounds[batch + 1]).items():
                if batch == BATCHES - 1:
                    table = pa.concat_tables([table, _closing(table)])
                _write(table, unfinished / kind, batch)
        return unfinished.rename(folder)


def _write(table: pa.Table, folder: Path, batch: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILES_PER_BATCH):
        file = folder / f"part-{batch}-{number}.parquet"
        pq.write_table(table.take(np.arange(number, len(table), FILES_PER_BATCH)), file)
        # The file source reads files in the order of their modification times.
        os.utime(file, (1_700_000_000 + batch * FILES_PER_BATCH + number,) * 2)


def rows(folder: Path, kind: str) -> int:
    """Return the number of rows of a kind of events, the closing row included."""
    return sum(pq.read_metadata(file).num_rows for file in (folder / kind).iterdir())


def _closing(table: pa.Table) -> pa.Table:
    at = pc.max(table["date_time"]).as_py() + CLOSING_AFTER
    values = {pa.int64(): CLOSING_ID, pa.string(): ""}
    closing = {field.name: values.get(field.type, at) for field in table.schema}
    return pa.Table.from_pylist([closing], table.schema)
