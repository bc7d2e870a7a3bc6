"""The hash of a query's results, which must be the same whoever computed them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.nexmark.data import CLOSING_ID
from benchmarks.nexmark.queries import Query
from benchmarks.peers.digest import hashed, written


def digest(folder: Path, query: Query) -> tuple[int, str]:
    """Rows of the Parquet files of a folder, without the closing event's, and their hash.

    Rows and columns are taken in order. Times are instants, to the microsecond, whatever type they
    were written in. Of windows by the clock only the totals of each key count.
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
