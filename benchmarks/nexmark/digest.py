"""The hash of a query's results, which must be the same for all peers."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.nexmark.data import CLOSING_ID
from benchmarks.nexmark.queries import Query
from benchmarks.peers.digest import hashed, written


def digest(folder: Path, query: Query) -> tuple[int, str]:
    """Return the number of rows in the Parquet files of a folder, and their hash.

    Results of the closing event are left out. Rows and columns are sorted. Times of all types
    become instants, to the microsecond. For windows in processing time, only the totals of each key
    are compared.
    """
    tables = [_instants(table) for table in written(folder)]
    if not tables:
        return 0, ""
    rows = pa.concat_tables(tables)
    rows = rows.filter(pc.not_equal(rows[query.key], CLOSING_ID))
    if query.by_clock:
        rows = rows.group_by(query.key).aggregate([("n", "sum")])
    names = sorted(rows.column_names)
    rows = rows.select(names).sort_by([(name, "ascending") for name in names])
    return rows.num_rows, hashed(rows)


def _instants(rows: pa.Table) -> pa.Table:
    types = [
        pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type
        for field in rows.schema
    ]
    return rows.cast(pa.schema(zip(rows.column_names, types, strict=True)))
