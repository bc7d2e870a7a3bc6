"""The hash of a query's results, which must be the same whoever computed them."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.nexmark.data import CLOSING_ID
from benchmarks.nexmark.queries import Query


def digest(folder: Path, query: Query) -> tuple[int, str]:
    """Rows of the Parquet files of a folder, without the closing event's, and their hash.

    Rows and columns are taken in order. Times are instants, to the microsecond, whatever type they
    were written in. Of windows by the clock only the totals of each key count.
    """
    files = [f for f in folder.glob("*") if f.is_file() and not f.name.startswith((".", "_"))]
    if not files:
        return 0, ""
    rows = pa.concat_tables(_instants(pq.ParquetFile(file).read()) for file in files)
    rows = rows.filter(pc.not_equal(rows[query.key], CLOSING_ID))
    if query.by_clock:
        rows = rows.group_by(query.key).aggregate([("n", "sum")])
    names = sorted(rows.column_names)
    rows = rows.select(names).sort_by([(name, "ascending") for name in names])
    hashed = hashlib.sha256()
    for name in names:
        column = rows[name].combine_chunks()
        hashed.update(f"{name} {column.type} {column.null_count}".encode())
        if pa.types.is_string(column.type):
            hashed.update("\n".join(column.to_pylist()).encode())
        else:
            hashed.update(column.to_numpy(zero_copy_only=False).tobytes())
    return rows.num_rows, hashed.hexdigest()


def _instants(rows: pa.Table) -> pa.Table:
    types = [
        pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type
        for field in rows.schema
    ]
    return rows.cast(pa.schema(zip(rows.column_names, types, strict=True)))
