"""Tagged rows: one stream that carries results and late rows, and how it is split.

Two DataFrames from one operator would be two queries with two states, so what leaves a stage beside
its results leaves as rows with a ``tag`` and a struct column for each tag.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from transom.errors import type_error, value_error

Writer = Callable[[DataFrame, int], None]

_QUERY_ID = "sql.streaming.queryId"


def untag(tagged: DataFrame, tag: str) -> DataFrame:
    """The rows of one tag, as plain columns.

    Parameters
    ----------
    tagged : DataFrame
        What `Windowed.with_late_rows` yields, streaming or static.
    tag : str
        "results" or "late".

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_TAGGED``, ``TRANSOM_UNKNOWN_TAG``.
    """
    tags = _tags(tagged, "untag")
    if tag not in tags:
        raise value_error("UNKNOWN_TAG", tag=repr(tag), tags=", ".join(tags))
    return tagged.where(F.col("tag") == tag).select(f"{tag}.*")


def route(
    *, results: Writer | None = None, late: Writer | None = None, **outputs: Writer
) -> Writer:
    """A function for ``foreachBatch`` that hands each kind of row to its own writer.

    A writer gets plain columns and the batch id. The batch is computed once, whatever the writers
    do, so that counts stay exact, and every partition is consumed, as the state store needs. A
    batch that was handed out whole is not handed out again by the same function; after a crash in
    the middle Spark repeats the batch under its old id, so a writer that must not write twice
    replaces what it wrote under that id.

    Parameters
    ----------
    results, late : callable
        Called with (DataFrame, batch id).

    Raises
    ------
    PySparkValueError
        In the first batch: ``TRANSOM_NOT_TAGGED``, ``TRANSOM_ROUTE_MISSING`` for a tag without a
        writer, ``TRANSOM_UNKNOWN_TAG`` for a writer without a tag.
    """
    given = {"results": results, "late": late, **outputs}
    writers = {tag: writer for tag, writer in given.items() if writer is not None}
    for tag, writer in writers.items():
        if not callable(writer):
            raise type_error(tag, "a function of a DataFrame and a batch id", writer)
    done: dict[str, int] = {}

    def write(rows: DataFrame, batch_id: int) -> None:
        tags = _tags(rows, "route")
        for tag in tags:
            if tag not in writers:
                raise value_error("ROUTE_MISSING", tag=tag)
        for tag in writers:
            if tag not in tags:
                raise value_error("UNKNOWN_TAG", tag=repr(tag), tags=", ".join(tags))
        query = rows.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        cached = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            cached.count()
            if query is None or done.get(query, -1) < batch_id:
                for tag, writer in writers.items():
                    writer(untag(cached, tag), batch_id)
            if query is not None:
                done[query] = batch_id
        finally:
            cached.unpersist()

    return write


def _tags(rows: DataFrame, call: str) -> list[str]:
    if not rows.columns or rows.columns[0] != "tag":
        raise value_error("NOT_TAGGED", call=call)
    return rows.columns[1:]
