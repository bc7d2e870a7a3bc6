"""Tagged rows: results and side outputs in one DataFrame, and the functions that split them.

A window operator emits one DataFrame. Two DataFrames would be two queries, each with its own state.
"""

from collections.abc import Callable, Mapping, Sequence

from pyspark.errors import PySparkValueError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from transom import _bridge
from transom._base import checks
from transom._base.columns import quoted_list
from transom._base.errors import type_error, value_error
from transom._base.expressions import check_binary
from transom._base.misplaced import explained

Writer = Callable[[DataFrame, int], None]

# Names that named outputs of a function cannot have.
TAGS = ("tag", "results", "late", "dead_letters", "watermarks")
# The steps that add a tag.
_STEPS = {
    "late": "with_late_rows",
    "dead_letters": "with_dead_letters",
    "watermarks": "with_watermarks",
}
# Spark's default cuts microseconds off.
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


@explained
def untag(tagged: DataFrame, tag: str) -> DataFrame:
    """Return the rows of one tag, with plain columns.

    Results keep the watermark of their stream, so `stream` can window them again.

    Parameters
    ----------
    tagged : DataFrame
        Tagged rows, as `Windowed.agg` returns them after `Windowed.with_late_rows` or
        `Windowed.with_dead_letters`, and `Windowed.apply` with ``outputs``. The columns may be in
        any order, as in rows that are read back from files partitioned by ``tag``.
    tag : str
        The tag, such as "results", "late" or "dead_letters".

    Returns
    -------
    DataFrame
        The rows with this tag. Its columns are the fields of the struct column of the tag.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_TAGGED``, ``TRANSOM_UNKNOWN_TAG``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

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
        raise type_error("tagged", tagged, "a DataFrame, such as the result of agg()")
    tags = _tags_of(tagged, "tagged")
    if tag not in tags:
        step = _STEPS.get(tag)
        shown = quoted_list(tags) + (f". The step {step}() adds it" if step else "")
        raise value_error("UNKNOWN_TAG", argument="tag", value=repr(tag), tags=shown)
    return tagged.where(F.col("tag") == tag).select(f"`{tag}`.*")


@explained
def route(
    *,
    results: Writer | None = None,
    late: Writer | None = None,
    dead_letters: Writer | None = None,
    watermarks: Writer | None = None,
    **outputs: Writer,
) -> Writer:
    """Make a function for ``foreachBatch`` that passes the rows of each tag to a writer.

    A writer is called with a DataFrame with plain columns and the id of the batch. It is not called
    if no row of the batch has its tag, so it writes no empty files. Each batch is computed once and
    as a whole, even if writers read only a part of it. Counts therefore stay exact.

    A query that failed repeats its last batch, with the same id and the same rows. While the
    process lives, `route` does not call a writer again for a batch that the writer has finished.
    After a restart of the process it does. A query that goes back to an older checkpoint computes
    its batches anew, and `route` calls the writers for them. In a Connect session each run of a
    query has its own process. Store each batch under its id and overwrite existing rows, as the
    example does: a repeated batch then replaces itself. The page "Delivery guarantees" has a
    complete program.

    Parameters
    ----------
    results : callable, optional
        ``results(rows, batch_id)`` writes results.
    late : callable, optional
        ``late(rows, batch_id)`` writes late rows, see `Windowed.with_late_rows`.
    dead_letters : callable, optional
        ``dead_letters(rows, batch_id)`` writes rows that cannot be assigned to a window, see
        `Windowed.with_dead_letters`.
    watermarks : callable, optional
        ``watermarks(rows, batch_id)`` writes watermarks, see `Windowed.with_watermarks`.
    **outputs : callable
        Writers of named outputs, see `Windowed.apply`. The keyword is the name of the output.

    Returns
    -------
    callable
        A function for ``writeStream.foreachBatch``. Its first call raises ``TRANSOM_NOT_TAGGED``
        for rows without tags, ``TRANSOM_ROUTE_MISSING`` for a tag without a writer, and
        ``TRANSOM_UNKNOWN_TAG`` for a writer without a tag, such as ``late`` without the step
        `Windowed.with_late_rows`.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkValueError
        ``TRANSOM_ROUTE_MISSING`` without a writer of results.

    Examples
    --------
    A query calls the function with each batch, by ``writeStream.foreachBatch(to_writers)``. The
    example calls the function itself, with a static DataFrame as batch 0.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> def save(rows, batch_id):
    ...     rows.write.mode("overwrite").parquet(f"{folder}/batch={batch_id}")
    >>> to_writers = transom.route(results=save, late=lambda rows, batch_id: print(rows.count()))
    >>> rows = spark.createDataFrame([("a", 1.0)], "k string, v double")
    >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> to_writers(total.with_late_rows().agg(total=F.sum("v")), 0)
    >>> spark.read.parquet(folder).show()
    +------+-----+-----+
    |window|total|batch|
    +------+-----+-----+
    |  NULL|  1.0|    0|
    +------+-----+-----+
    """
    writers = {
        "results": results,
        "late": late,
        "dead_letters": dead_letters,
        "watermarks": watermarks,
        **outputs,
    }
    for tag, writer in writers.items():
        if writer is not None:
            check_binary(tag, writer, "a function of a DataFrame and a batch id")
    if results is None:
        # All tagged rows have this tag.
        raise _missing("results")
    return _Route({tag: writer for tag, writer in writers.items() if writer is not None})


@explained
def to_topics(
    tagged: DataFrame,
    *,
    results: str | None = None,
    late: str | None = None,
    dead_letters: str | None = None,
    watermarks: str | None = None,
    key: Sequence[str] = (),
    value: Callable[[Column], Column] | None = None,
    **outputs: str,
) -> DataFrame:
    """Return records for Kafka, with a topic for the rows of each tag.

    One query can then write results and side outputs: Kafka's sink sends each record to the topic
    in the column ``topic``. Each row is one record. Unlike `route`, this needs no ``foreachBatch``,
    which the real-time mode does not have.

    Parameters
    ----------
    tagged : DataFrame
        Tagged rows, see `untag`.
    results : str
        The topic of results.
    late : str, optional
        The topic of late rows, see `Windowed.with_late_rows`.
    dead_letters : str, optional
        The topic of rows that cannot be assigned to a window, see `Windowed.with_dead_letters`.
    watermarks : str, optional
        The topic of watermarks, see `Windowed.with_watermarks`.
    key : sequence of str
        Columns of the results. The key of a record is a JSON object of them, such as the keys and
        the window, by which a consumer can replace a result that is delivered twice. Other rows
        have no key. Without columns, no record has a key.
    value : callable, optional
        ``value(row)`` takes a struct column with the rows of a tag, and returns their column
        ``value``, such as ``pyspark.sql.avro.functions.to_avro``. By default, a record is a JSON
        object, with times in microseconds.
    **outputs : str
        Topics of named outputs, see `Windowed.apply`. The keyword is the name of the output.

    Returns
    -------
    DataFrame
        The columns ``topic`` and ``value``, and ``key`` if it has columns.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkValueError
        ``TRANSOM_NOT_TAGGED``, ``TRANSOM_TOPIC_MISSING`` for a tag without a topic,
        ``TRANSOM_UNKNOWN_TAG`` for a topic without a tag.

    Examples
    --------
    >>> rows = spark.createDataFrame([("a", 1.0)], "k string, v double")
    >>> by_key = transom.stream(rows).key_by("k").window(transom.Global())
    >>> tagged = by_key.trigger(transom.EndOfStream()).with_late_rows().agg(total=F.sum("v"))
    >>> records = transom.to_topics(tagged, results="totals", late="late", key=["k"])
    >>> records.show(truncate=False)
    +------+---------+---------------------+
    |topic |key      |value                |
    +------+---------+---------------------+
    |totals|{"k":"a"}|{"k":"a","total":1.0}|
    +------+---------+---------------------+
    """
    if not isinstance(tagged, DataFrame):
        raise type_error("tagged", tagged, "a DataFrame, such as the result of agg()")
    named = {
        "results": results,
        "late": late,
        "dead_letters": dead_letters,
        "watermarks": watermarks,
        **outputs,
    }
    topics = {tag: topic for tag, topic in named.items() if topic is not None}
    for tag, topic in topics.items():
        checks.text(tag, topic)
    checks.sequence("key", key, str, "a list of columns of the results, such as ['k', 'window']")
    if value is not None and not callable(value):
        raise type_error("value", value, "a function of a struct column, such as F.to_json")
    tags = _tags_of(tagged, "tagged")
    for tag in topics:
        if tag not in tags:
            raise value_error(
                "UNKNOWN_TAG", argument="to_topics", value=repr(tag), tags=quoted_list(tags)
            )
    for tag in tags:
        if tag not in topics:
            raise value_error("TOPIC_MISSING", argument=tag, tag=tag)
    to_value = value or _to_json
    columns = [_by_tag({tag: F.lit(topic) for tag, topic in topics.items()}).alias("topic")]
    if key:
        fields = [F.col("results").getField(name).alias(name) for name in key]
        columns.append(_by_tag({"results": _to_json(F.struct(*fields))}).alias("key"))
    columns.append(_by_tag({tag: to_value(F.col(f"`{tag}`")) for tag in tags}).alias("value"))
    return tagged.select(*columns)


def _to_json(row: Column) -> Column:
    return F.to_json(row, _TIMES)


def _by_tag(columns: Mapping[str, Column]) -> Column:
    """Return a column that is another one for each tag."""
    return F.coalesce(*(F.when(F.col("tag") == tag, each) for tag, each in columns.items()))


def _missing(tag: str) -> PySparkValueError:
    return value_error("ROUTE_MISSING", argument=tag, tag=tag)


class _Route:
    def __init__(self, writers: dict[str, Writer]) -> None:
        self._writers = writers
        # The last batch that a writer has finished, by query and tag.
        self._finished: dict[tuple[str, str], str] = {}

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        tags = _tags_of(rows, "rows")
        # A misspelt tag is unknown, and the tag that was meant has no writer.
        for tag in self._writers:
            if tag not in tags:
                shown = quoted_list(tags)
                raise value_error("UNKNOWN_TAG", argument="route", value=repr(tag), tags=shown)
        for tag in tags:
            if tag not in self._writers:
                raise _missing(tag)
        batch = _bridge.batch_of(rows)
        query = None if batch is None else batch.partition(" ")[0]
        cached = rows.persist()
        try:
            # A task commits its state at its end, and a writer may read only some of the rows. This
            # reads them all.
            (found,) = cached.agg(F.collect_set("tag")).collect()[0]
            for tag in tags:
                # Without a query, the next call may have other rows and the same id.
                is_finished = query is not None and self._finished.get((query, tag)) == batch
                if tag not in found or is_finished:
                    continue
                self._writers[tag](untag(cached, tag), batch_id)
                if query is not None and batch is not None:
                    self._finished[query, tag] = batch
        finally:
            cached.unpersist()


def _tags_of(rows: DataFrame, argument: str) -> list[str]:
    kinds = {field.name: type(field.dataType) for field in rows.schema}
    others = [name for name in rows.columns if name != "tag"]
    is_tagged = kinds.get("tag") is StringType and others
    if not is_tagged or any(kinds[other] is not StructType for other in others):
        raise value_error("NOT_TAGGED", argument=argument, columns=quoted_list(rows.columns))
    return others
