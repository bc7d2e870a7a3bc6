"""The hash of a result, which must be the same whoever computed it."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.queries.data import CLOSING_KEY

ORDER = ("k", "start", "end", "n")


def digest(folder: Path) -> tuple[int, str]:
    """Rows of the Parquet files of a folder, without the closing row's, and their hash.

    The rows are taken in order of key, window and count. Bounds of windows are instants, to the
    microsecond, whatever type they were written in.
    """
    files = [f for f in folder.iterdir() if f.is_file() and not f.name.startswith((".", "_"))]
    if not files:
        return 0, ""
    rows = pa.concat_tables(_instants(pq.ParquetFile(file).read()) for file in files)
    key = rows.schema.field("k").type
    closing = pa.scalar(CLOSING_KEY if pa.types.is_integer(key) else f"{CLOSING_KEY:064}", key)
    rows = rows.filter(pc.not_equal(rows["k"], closing))
    rows = rows.sort_by([(name, "ascending") for name in ORDER])
    hashed = hashlib.sha256()
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        hashed.update(f"{name} {pc.count(column, mode='only_null')}".encode())
        if pa.types.is_string(column.type):
            hashed.update("\n".join(column.to_pylist()).encode())
        else:
            hashed.update(column.to_numpy(zero_copy_only=False).tobytes())
    return rows.num_rows, hashed.hexdigest()


def _instants(rows: pa.Table) -> pa.Table:
    for name in ("start", "end"):
        at = rows.schema.get_field_index(name)
        instants = rows[name].cast(pa.timestamp("us"))
        rows = rows.set_column(at, name, instants)
    return rows
