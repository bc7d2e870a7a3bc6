"""The hash of a result, which must be the same for all peers."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.queries.data import CLOSING_KEY

ORDER = ("k", "start", "end", "n")


def digest(folder: Path, window_id: str | None = None) -> tuple[int, str]:
    """Return the number of rows in the Parquet files of a folder, and their hash.

    Results of the closing row are left out. The rows are sorted by key, window and count. Bounds of
    windows of all types become instants, to the microsecond. With a `window_id`, only the rows of
    this window count, as if the query had no other window.
    """
    tables = [_instants(table) for table in written(folder)]
    if not tables:
        return 0, ""
    rows = pa.concat_tables(tables)
    key = rows.schema.field("k").type
    closing = pa.scalar(CLOSING_KEY if pa.types.is_integer(key) else f"{CLOSING_KEY:064}", key)
    rows = rows.filter(pc.not_equal(rows["k"], closing))
    if window_id is not None:
        rows = rows.filter(pc.equal(rows["window_id"], window_id)).drop_columns("window_id")
    return rows.num_rows, hashed(rows.sort_by([(name, "ascending") for name in ORDER]))


def written(folder: Path) -> Iterator[pa.Table]:
    """Yield the Parquet files of a folder, and of the folders in it, as tables."""
    for file in folder.glob("*"):
        if file.name.startswith((".", "_")):
            continue
        if file.is_dir():
            yield from written(file)
        else:
            yield pq.ParquetFile(file).read()


def hashed(rows: pa.Table) -> str:
    """Return a hash of all columns, in the order of the rows."""
    digest = hashlib.sha256()
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        digest.update(f"{name} {column.type} {column.null_count}".encode())
        if pa.types.is_string(column.type):
            digest.update("\n".join(column.to_pylist()).encode())
        else:
            digest.update(column.to_numpy(zero_copy_only=False).tobytes())
    return digest.hexdigest()


def _instants(rows: pa.Table) -> pa.Table:
    for name in ("start", "end"):
        at = rows.schema.get_field_index(name)
        instants = rows[name].cast(pa.timestamp("us"))
        rows = rows.set_column(at, name, instants)
    return rows
