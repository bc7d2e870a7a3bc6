"""`transom.metrics` reads the progress of a query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

import transom
from tests.python.conditions import raises

# The microseconds of 2013-01-01 00:00:00 UTC.
DAY = 1_356_998_400_000_000
COUNTS = [
    "rows_in",
    "rows_late",
    "rows_late_partly",
    "rows_early",
    "rows_late_arrival",
    "rows_out_of_order",
    "rows_adjusted",
    "rows_dropped",
    "rows_dead_lettered",
    "rows_in_gaps",
    "rows_punctuation",
    "rows_end_edges",
    "rows_overtaken",
    "rows_open",
    "partition_count",
    "windows_fired",
    "idle_closes",
    "state_bytes",
]


class Query(StreamingQuery):
    """A query with this progress."""

    def __init__(self, *progress: StreamingQueryProgress) -> None:
        self._progress = list(progress)

    @property
    def recentProgress(self) -> list[StreamingQueryProgress]:  # noqa: N802
        """All progress."""
        return self._progress

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:  # noqa: N802
        """The last progress."""
        return self._progress[-1] if self._progress else None


def observed(**metrics: Any) -> dict[str, Any]:
    """The metrics of an operator as Spark writes them: counts of 0, and nothing else."""
    empty = dict.fromkeys(
        ["watermark_us", "watermark_delay_us", "earliest_open_us", "latest_open_us"]
    )
    values = {**dict.fromkeys(COUNTS, 0), **empty, "partitions": [], **metrics}
    return {f"transom_{name}": value for name, value in values.items()}


def progress(
    operators: dict[str, dict[str, Any]], *, is_batch: bool = True
) -> StreamingQueryProgress:
    fields: dict[str, Any] = {
        "id": "00000000-0000-0000-0000-000000000000",
        "runId": "00000000-0000-0000-0000-000000000001",
        "name": None,
        "timestamp": "2013-01-01T00:01:00.500Z",
        "batchId": 1,
        "batchDuration": 1,
        "durationMs": {"latestOffset": 1, **({"addBatch": 1} if is_batch else {})},
        "stateOperators": [],
        "sources": [],
        "sink": {"description": "noop", "numOutputRows": 0},
        **({"observedMetrics": operators} if is_batch else {}),
    }
    return StreamingQueryProgress.fromJson(fields)


def query(**operators: dict[str, Any]) -> Query:
    return Query(progress(operators))


def test_each_count_has_the_value_of_its_own_metric() -> None:
    values = {name: number for number, name in enumerate(COUNTS, start=1)}
    metrics = transom.metrics(query(window=observed(**values)))
    assert {name: getattr(metrics, name) for name in COUNTS} == values


def test_a_connect_session_receives_structs_as_values_and_a_schema() -> None:
    def packed(values: dict[str, Any]) -> dict[str, Any]:
        columns = [{"name": name} for name in values]
        return {"values": list(values.values()), "schema": {"fields": columns}}

    partition = {"id": "p", "watermark_us": DAY, "is_idle": True}
    plain = observed(rows_in=3, watermark_us=DAY, partitions=[partition])
    of_connect = observed(rows_in=3, watermark_us=DAY, partitions=[packed(partition)])
    metrics = transom.metrics(query(window=packed(of_connect)))
    assert metrics == transom.metrics(query(window=plain))
    assert metrics.rows_in == 3
    assert metrics.partitions["p"].idle


def test_times_are_in_utc() -> None:
    metrics = transom.metrics(
        query(
            window=observed(
                watermark_us=DAY,
                watermark_delay_us=60_500_000,
                earliest_open_us=DAY - 1,
                latest_open_us=DAY + 3_600_000_000,
            )
        )
    )
    assert metrics.watermark == datetime(2013, 1, 1, tzinfo=UTC)
    assert metrics.watermark_delay == timedelta(minutes=1, milliseconds=500)
    assert metrics.earliest_open == datetime(2012, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert metrics.latest_open == datetime(2013, 1, 1, 1, tzinfo=UTC)


def test_the_watermark_after_the_end_of_the_input_is_the_last_time() -> None:
    metrics = transom.metrics(query(window=observed(watermark_us=2**62)))
    assert metrics.watermark == datetime.max.replace(tzinfo=UTC)
    assert metrics.watermark_delay is None


def test_partitions_are_named_by_their_ids() -> None:
    partitions = [
        {"id": "0", "watermark_us": DAY, "is_idle": False},
        {"id": None, "watermark_us": None, "is_idle": True},
    ]
    metrics = transom.metrics(query(window=observed(partitions=partitions)))
    assert metrics.partitions == {
        "0": transom.PartitionMetrics(datetime(2013, 1, 1, tzinfo=UTC), idle=False),
        None: transom.PartitionMetrics(None, idle=True),
    }
    assert hash(metrics) == hash(transom.metrics(query(window=observed())))


def test_before_the_first_batch_ends_all_metrics_are_empty() -> None:
    metrics = transom.metrics(Query())
    assert metrics == transom.Metrics()
    assert metrics.rows_in == 0
    assert metrics.watermark is None
    assert eval(repr(metrics), vars(transom)) == metrics


def test_a_query_without_new_rows_keeps_the_metrics_of_its_last_batch() -> None:
    idle = progress({}, is_batch=False)
    batches = [progress({"window": observed(rows_in=number)}) for number in (1, 2)]
    assert transom.metrics(Query(idle, *batches, idle, idle)).rows_in == 2
    assert transom.metrics(Query(idle, idle)) == transom.Metrics()


def test_a_batch_without_metrics_does_not_hide_those_before_it() -> None:
    """The sink has skipped the last batch, because an earlier run had written it."""
    batches = [progress({"window": observed(rows_in=2)}), progress({})]
    assert transom.metrics(Query(*batches)).rows_in == 2
    assert transom.metrics(Query(*batches), operator="window").rows_in == 2


def test_an_operator_is_found_by_its_name() -> None:
    two = query(first=observed(rows_in=1), second=observed(rows_in=2), theirs={"rows": 3})
    assert transom.metrics(two, operator="second").rows_in == 2
    assert transom.metrics(query(first=observed(rows_in=1), theirs={"rows": 3})).rows_in == 1
    with raises("BAD_CHOICE", "operator", kind=PySparkValueError):
        transom.metrics(two)
    with raises("NOT_OURS", kind=PySparkValueError) as caught:
        transom.metrics(two, operator="theirs")
    assert "no operator of transom with the name 'theirs'" in str(caught.value)
    assert "Use one of 'first', 'second'." in str(caught.value)


def test_a_query_without_an_operator_is_not_ours() -> None:
    with raises("NOT_OURS", kind=PySparkValueError) as caught:
        transom.metrics(query(theirs={"rows": 3}))
    assert "The query has no operator of transom, so" in str(caught.value)


@pytest.mark.parametrize("given", [None, "window", 1])
def test_other_objects_are_no_queries(given: Any) -> None:
    with raises("BAD_TYPE", "query", kind=PySparkTypeError):
        transom.metrics(given)
    with raises("BAD_TYPE", "operator", kind=PySparkTypeError):
        transom.metrics(query(window=observed()), operator=1)  # type: ignore[arg-type]
