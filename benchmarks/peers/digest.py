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
    rows = _results(folder)
    if rows is None:
        return 0, ""
    if window_id is not None:
        rows = rows.filter(pc.equal(rows["window_id"], window_id)).drop_columns("window_id")
    return _digest_of(rows)


def digest_at_rows(given: Path, folder: Path) -> tuple[int, str]:
    """Return the number and the hash of the results whose window ends at a row of their key.

    A system that has a result for each row has equal results for rows of one key and one time. They
    count once.

    Parameters
    ----------
    given : Path
        The folder with the input.
    folder : Path
        The folder with the results.
    """
    rows = _results(folder)
    if rows is None:
        return 0, ""
    inputs = pa.concat_tables(list(written(given)))
    times = pa.table({"k": inputs["k"], "end": inputs["ts"].cast(pa.timestamp("us"))})
    at_rows = rows.join(times, keys=["k", "end"], join_type="left semi")
    return _digest_of(at_rows.select(rows.column_names).group_by(rows.column_names).aggregate([]))


def _results(folder: Path) -> pa.Table | None:
    """Return the results in a folder without those of the closing row, or None without files."""
    tables = [_instants(table) for table in written(folder)]
    if not tables:
        return None
    rows = pa.concat_tables(tables)
    key = rows.schema.field("k").type
    closing = pa.scalar(CLOSING_KEY if pa.types.is_integer(key) else f"{CLOSING_KEY:064}", key)
    return rows.filter(pc.not_equal(rows["k"], closing))


def _digest_of(rows: pa.Table) -> tuple[int, str]:
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
