"""Nexmark's events as files, in the order in which they arrive."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.nexmark.events import Events

FILES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input: so many events, always the same ones.

    Attributes
    ----------
    events : int
        Events of all kinds together.
    stream : Events
        What they are like.
    """

    events: int
    stream: Events = field(default_factory=Events)

    def make(self, parent: Path) -> Path:
        """Write a folder of files for each kind, unless they are there, and return their parent.

        Files of the same number hold the same part of the stream.
        """
        stream = self.stream
        about = f"{stream.a_second}-a-second-groups-of-{stream.out_of_order}-seed-{stream.seed}"
        folder = parent / f"{self.events}-events-{about}"
        if folder.exists():
            return folder
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        bounds = np.linspace(0, self.events, FILES + 1).astype(int).tolist()
        for number in range(FILES):
            for kind, table in stream.tables(bounds[number], bounds[number + 1]).items():
                file = unfinished / kind / f"part-{number}.parquet"
                file.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(table, file)
                # The file source takes files in the order of their times.
                os.utime(file, (1_700_000_000 + number,) * 2)
        return unfinished.rename(folder)
