"""Tagged rows: results and what else a stage hands on, in one stream, and how it is split.

Two DataFrames from one stage would be two queries, each with a state of its own.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from transom._columns import listed
from transom._errors import type_error, value_error

Writer = Callable[[DataFrame, int], None]

# What the parts of tagged rows are called, but for a function's own outputs.
TAGS = ("tag", "results", "late", "dead_letters", "watermarks")

# Spark names the query that a thread works for by this property.
_QUERY = "sql.streaming.queryId"


def untag(tagged: DataFrame, tag: str) -> DataFrame:
    """Rows of one tag, with plain columns.

    Results keep the watermark of their stream, so `stream` can window them again.

    Parameters
    ----------
    tagged : DataFrame
        As `Windowed.with_late_rows` and `Windowed.with_dead_letters` make them.
    tag : str
        Such as "results", "late" or "dead_letters".

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_TAGGED``, ``TRANSOM_UNKNOWN_TAG``.

    Examples
    --------
    >>> rows = spark.createDataFrame([("a", 1.0)], "k string, v double")
    >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> tagged = total.with_late_rows().agg(F.sum("v").alias("total"))
    >>> transom.untag(tagged, "results").show()
    +------+-----+
    |window|total|
    +------+-----+
    |  NULL|  1.0|
    +------+-----+
    """
    if not isinstance(tagged, DataFrame):
        raise type_error("tagged", tagged, "a DataFrame")
    tags = _tags_of(tagged, "tagged")
    if tag not in tags:
        raise value_error("UNKNOWN_TAG", argument="tag", value=repr(tag), tags=listed(tags))
    return tagged.where(F.col("tag") == tag).select(f"`{tag}`.*")


def route(
    *,
    results: Writer | None = None,
    late: Writer | None = None,
    dead_letters: Writer | None = None,
    **outputs: Writer,
) -> Writer:
    """Make a function for ``foreachBatch`` that hands the rows of each tag to a writer.

    A writer gets a DataFrame with plain columns, also if it has no rows, and the id of the batch.
    Each batch is computed once, and whole, whatever writers read of it; so counts stay exact.

    A query that failed repeats its last batch, with the same id and the same rows. While the
    process lives, `route` does not call a writer again for a batch that the writer has finished.
    After a restart of the process it does. So store each batch under its id and overwrite what is
    there, as the example does: a repeated batch then replaces itself. The page "Delivery
    guarantees" has a complete program.

    Parameters
    ----------
    results : callable, optional
        ``results(rows, batch_id)`` takes the plain result columns.
    late : callable, optional
        ``late(rows, batch_id)`` takes late rows, see `Windowed.with_late_rows`.
    dead_letters : callable, optional
        ``dead_letters(rows, batch_id)`` takes rows that no window can take, see
        `Windowed.with_dead_letters`.
    **outputs : callable
        The same for the named outputs of a function, see `Windowed.apply`.

    Returns
    -------
    callable
        For ``writeStream.foreachBatch``. In the first batch it raises ``TRANSOM_NOT_TAGGED``, or
        ``TRANSOM_ROUTE_MISSING`` if the rows have a tag without a writer.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> def save(rows, batch_id):
    ...     rows.write.mode("overwrite").parquet(f"hours/batch={batch_id}")
    >>> to_writers = transom.route(results=save, late=lambda rows, batch_id: rows.show())
    """
    writers = {"results": results, "late": late, "dead_letters": dead_letters, **outputs}
    for tag, writer in writers.items():
        if writer is not None and not callable(writer):
            raise type_error(tag, writer, "a function of a DataFrame and a batch id")
    return _Route({tag: writer for tag, writer in writers.items() if writer is not None})


class _Route:
    def __init__(self, writers: dict[str, Writer]) -> None:
        self._writers = writers
        # The newest batch that each writer has finished with, by query.
        self._finished: dict[tuple[str | None, str], int] = {}

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        tags = _tags_of(rows, "rows")
        for tag in tags:
            if tag not in self._writers:
                raise value_error("ROUTE_MISSING", argument=tag, tag=tag)
        query = rows.sparkSession.sparkContext.getLocalProperty(_QUERY)
        kept = rows.persist()
        try:
            # State is committed by tasks that run to their end: a writer may stop before.
            kept.count()
            for tag in tags:
                if self._finished.get((query, tag), -1) < batch_id:
                    self._writers[tag](untag(kept, tag), batch_id)
                    self._finished[query, tag] = batch_id
        finally:
            kept.unpersist()


def _tags_of(rows: DataFrame, argument: str) -> list[str]:
    kinds = {field.name: type(field.dataType) for field in rows.schema}
    others = rows.columns[1:]
    is_tagged = rows.columns[:1] == ["tag"] and kinds["tag"] is StringType and others
    if not is_tagged or any(kinds[other] is not StructType for other in others):
        raise value_error("NOT_TAGGED", argument=argument, columns=listed(rows.columns))
    return others
