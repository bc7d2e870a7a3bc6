"""Writes the flights as files. A micro-batch reads one file or a few."""

import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from examples.demo.flights import NEW_YORK

# Before this time the stream is a backlog, as for a query that starts late. After this time,
# flights arrive as if live. Spark moves its watermark once a batch, so only short batches make rows
# late.
LIVE = pd.Timestamp("2013-12-31 12:00", tz=NEW_YORK)

SCHEMA = (
    "id long, origin string, dest string, carrier string, tailnum string, distance long, "
    "delay int, scheduled timestamp, departed timestamp, landed timestamp, known timestamp"
)
_FIRST_MODIFIED = 1_700_000_000


def write_files(flights: pd.DataFrame, folder: Path) -> int:
    """Write a file for each eight weeks of the backlog, and one for each hour of the live half day.

    Parameters
    ----------
    flights : DataFrame
        The flights, in the order of ``known``.
    folder : Path
        The folder of the files.

    Returns
    -------
    int
        The number of files.
    """
    folder.mkdir(parents=True)
    weeks = flights["known"].dt.floor("56D")
    spans = weeks.where(flights["known"] < LIVE, flights["known"].dt.floor("h"))
    # An hour may have the same start as eight weeks of the backlog.
    parts = [part for _, part in flights.groupby([flights["known"] >= LIVE, spans])]
    for number, part in enumerate(parts):
        path = folder / f"{number:04}.parquet"
        pq.write_table(_table(part), path)
        # The file source reads files in the order of their modification times.
        os.utime(path, (_FIRST_MODIFIED + number,) * 2)
    return len(parts)


def _table(flights: pd.DataFrame) -> pa.Table:
    kinds = {"long": pa.int64(), "int": pa.int32(), "string": pa.string()}
    kinds["timestamp"] = pa.timestamp("us", tz="UTC")
    columns = [column.split() for column in SCHEMA.split(", ")]
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns])
    return pa.Table.from_pandas(flights[schema.names], schema=schema, preserve_index=False)
