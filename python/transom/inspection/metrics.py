"""The metrics of a running query: `metrics`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from transom import _bridge
from transom._base import checks
from transom._base.errors import type_error, value_error
from transom._base.misplaced import explained
from transom._base.times import datetime_of

_PREFIX = "transom_"
_START_OURS = "Start the query with the result of agg() or apply(), or a DataFrame derived from it"


@dataclass(frozen=True, slots=True)
class PartitionMetrics:
    """A partition of the input, see ``TimePolicy.partition``.

    Attributes
    ----------
    watermark : datetime or None
        The watermark of this partition alone, in UTC. None before its first row.
    idle : bool
        Whether the watermark of the windows does not wait for the partition, see
        ``TimePolicy.idle_partition``.
    """

    watermark: datetime | None
    idle: bool


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of an operator in one batch, as `transom.metrics` returns them.

    Times are `datetime` values in UTC.

    Attributes
    ----------
    rows_in : int
        Rows that have reached the operator.
    rows_late : int
        Rows whose windows had all closed.
    rows_late_partly : int
        Rows that missed some of their windows, if ``with_late_rows(partly=True)`` reports them.
    rows_early, rows_late_arrival, rows_out_of_order : int
        Rows to which these rules of a `TimePolicy` apply, whether dropped, moved or accepted.
    rows_adjusted : int
        Rows that a rule has moved in time.
    rows_dropped : int
        Rows that a rule has dropped.
    rows_dead_lettered : int
        Rows that cannot be assigned to a window, dropped rows included. They count whether or not
        ``with_dead_letters()`` emits them.
    rows_in_gaps : int
        Rows between windows.
    rows_punctuation : int
        Rows that are punctuation and no data, see `Punctuated`.
    rows_end_edges : int
        Rows that have ended an earlier row, see ``Lifetime.id``.
    rows_overtaken : int
        Rows of a partition of a `TimePolicy` that come in a later batch than a row of another
        partition that arrived after them. Their watermark depends on how rows are cut into batches.
    rows_open : int
        Rows in the state that wait for the row with their end, see ``Lifetime.id``. After a
        restart, the rows of a key group count once a batch has had rows or firings for the key
        group.
    partition_count : int
        Partitions of the input, also those that ``partitions`` does not list.
    windows_fired : int
        Results that windows have emitted: one for each key, window and firing.
    idle_closes : int
        Ticks at which the idle timeout has moved the watermark.
    state_bytes : int
        Memory of the operator's state, the sum of ``memoryUsedBytes`` of its state stores.
    watermark : datetime or None
        The watermark of the operator at the end of the batch. The largest one if substreams have
        watermarks of their own. None before the first watermark.
        ``datetime.max`` once the input has ended.
    earliest_open, latest_open : datetime or None
        The earliest and the latest start of an open window: one with rows that may fire again. None
        if no window is open, and for windows whose state does not show the starts: windows that are
        not on a grid, and in the keyed layout (see `explain`) also `Windows`, lifetimes and
        substreams. After a restart, windows count once a batch has had rows or firings for their
        key group. In the keyed layout, it must have had them for their key.
    watermark_delay : timedelta or None
        The wall clock of the batch minus the watermark. None without a watermark and once the input
        has ended.
    partitions : dict of str to PartitionMetrics
        The partitions of the input by their id, if windows follow a `TimePolicy` with a
        ``partition``. The id of a null partition is None. Of more than 1,000 partitions, these are
        the 1,000 that hold the watermark back most. Empty in Real-Time Mode.
    result_latency : dict of timedelta or None to int
        In Real-Time Mode, how many results left within which time after the row that caused them
        was read. A key is the upper bound of a class, such as ``timedelta(milliseconds=50)`` for
        results after more than 20 and at most 50 ms. None is the class without a bound. Empty in
        micro-batches.
    """

    rows_in: int = 0
    rows_late: int = 0
    rows_late_partly: int = 0
    rows_early: int = 0
    rows_late_arrival: int = 0
    rows_out_of_order: int = 0
    rows_adjusted: int = 0
    rows_dropped: int = 0
    rows_dead_lettered: int = 0
    rows_in_gaps: int = 0
    rows_punctuation: int = 0
    rows_end_edges: int = 0
    rows_overtaken: int = 0
    rows_open: int = 0
    partition_count: int = 0
    windows_fired: int = 0
    idle_closes: int = 0
    state_bytes: int = 0
    watermark: datetime | None = None
    earliest_open: datetime | None = None
    latest_open: datetime | None = None
    watermark_delay: timedelta | None = None
    partitions: Mapping[str | None, PartitionMetrics] = field(default_factory=dict, hash=False)
    result_latency: Mapping[timedelta | None, int] = field(default_factory=dict, hash=False)


@explained
def metrics(query: StreamingQuery, *, operator: str | None = None) -> Metrics:
    """Return the metrics of an operator in the last batch of a query.

    Before the first batch has ended, the counts are 0 and the other metrics are empty. The same
    holds once Spark has forgotten the last batch. Spark keeps 100 updates of a query without new
    rows, one every 10 seconds (``spark.sql.streaming.numRecentProgressUpdates``).

    Parameters
    ----------
    query : StreamingQuery
        A query with results of `Windowed.agg`, `Windowed.apply` or `Stream.stamped`. It may have
        ended.
    operator : str, optional
        The name that `Windowed.options` has set, or the default name that `explain` shows. A query
        with one operator needs no name.

    Returns
    -------
    Metrics
        The metrics in the last update of ``query.recentProgress`` that belongs to a batch. After
        the last rows, Spark often runs one more batch without rows, whose counts of rows are 0.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_OURS`` if the query has no operator of transom, or none of this name.
        ``TRANSOM_BAD_CHOICE`` if the query has several operators, and no name is given.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> rows = [("2013-01-01 05:40:00",), ("2013-01-01 07:00:00",)]
    >>> spark.createDataFrame(rows, "at string").write.mode("overwrite").csv(folder)
    >>> flights = spark.readStream.schema("at timestamp").csv(folder)
    >>> by_time = transom.stream(flights, time=transom.EventTime("at", delay="0 seconds"))
    >>> hours = by_time.window(transom.Tumbling(size="1 hour")).agg(F.count("*").alias("n"))
    >>> query = hours.writeStream.format("noop").trigger(availableNow=True)
    >>> query = query.option("checkpointLocation", tempfile.mkdtemp()).start()
    >>> query.awaitTermination()

    The last batch has no rows. The first window ends at its watermark, the second one is open.

    >>> metrics = transom.metrics(query)
    >>> metrics.windows_fired
    1
    >>> metrics.watermark
    datetime.datetime(2013, 1, 1, 7, 0, tzinfo=datetime.timezone.utc)
    >>> metrics.earliest_open == metrics.latest_open == metrics.watermark
    True
    """
    if not _bridge.is_streaming_query(query):
        raise type_error("query", query, "a StreamingQuery")
    if operator is not None:
        checks.text("operator", operator)
    progress = _last_batch(query)
    if progress is None:
        return Metrics()
    by_operator = _by_operator(progress)
    names = ", ".join(map(repr, sorted(by_operator)))
    if operator is None and len(by_operator) > 1:
        choices = f"one of {names}, as in metrics(query, operator={min(by_operator)!r})"
        raise value_error("BAD_CHOICE", argument="operator", value="None", choices=choices)
    if operator is None and by_operator:
        return next(iter(by_operator.values()))
    if operator is None or operator not in by_operator:
        raise value_error(
            "NOT_OURS",
            subject="The query",
            named="" if operator is None else f" with the name {operator!r}",
            purpose="measure",
            fix=f"Use one of {names}" if names else _START_OURS,
        )
    return by_operator[operator]


def _last_batch(query: StreamingQuery) -> StreamingQueryProgress | None:
    """Return the progress of the last batch, if possible of one with metrics of transom.

    A query without new rows has updates without a batch. A batch that the sink has skipped, because
    an earlier run had written it, has no metrics.
    """
    last = query.lastProgress
    if last is None or (_is_batch(last) and _by_operator(last)):
        return last
    batches = [*filter(_is_batch, reversed(query.recentProgress))]
    return next(filter(_by_operator, batches), next(iter(batches), None))


def _is_batch(progress: StreamingQueryProgress) -> bool:
    return "addBatch" in progress.durationMs


def _by_operator(progress: StreamingQueryProgress) -> dict[str, Metrics]:
    """Return the metrics of each operator of transom in a batch, by its name."""
    observed = {name: named(row.asDict()) for name, row in progress.observedMetrics.items()}
    return {
        name: _metrics(values) for name, values in observed.items() if f"{_PREFIX}rows_in" in values
    }


def named(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an observed struct by name.

    A Connect session receives the struct as a list of values and a schema.
    """
    if values.keys() != {"values", "schema"}:
        return values
    names = [column["name"] for column in values["schema"]["fields"]]
    return dict(zip(names, values["values"], strict=True))


def _metrics(observed: dict[str, Any]) -> Metrics:
    values = {name.removeprefix(_PREFIX): value for name, value in observed.items()}
    counts = {shown.name: values[shown.name] for shown in fields(Metrics) if shown.type is int}
    delay = values["watermark_delay_us"]
    return Metrics(
        **counts,
        watermark=_instant(values["watermark_us"]),
        earliest_open=_instant(values["earliest_open_us"]),
        latest_open=_instant(values["latest_open_us"]),
        watermark_delay=None if delay is None else timedelta(microseconds=delay),
        partitions={
            partition.get("id"): PartitionMetrics(
                watermark=_instant(partition.get("watermark_us")), idle=partition["is_idle"]
            )
            for partition in map(named, values["partitions"])
        },
        result_latency={
            None if of["up_to_ms"] is None else timedelta(milliseconds=of["up_to_ms"]): of[
                "results"
            ]
            for of in map(named, values.get("result_latency", []))
        },
    )


def _delay(milliseconds: int | None) -> timedelta | None:
    return None if milliseconds is None else timedelta(milliseconds=milliseconds)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime_of(micros, UTC)
