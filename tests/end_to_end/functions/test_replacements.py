"""What processors of Spark's transformWithState do, next to the calls that replace them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

import transom
from tests.end_to_end.support.clocked import START, instant
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.wall_clock import (
    HandClock,
    Step,
    recent_progress,
    run_on_clock,
    wait_until,
)

SCHEMA = "key string, seq int, at timestamp"
EVENT_TIME = transom.EventTime("at", delay="0 seconds")


class Listing(StatefulProcessor):
    """Lists the numbers of the rows of a key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("seqs", "seqs array<int>")

    def kept(self) -> list[int]:
        value = self.state.get()
        return [] if value is None else list(value[0])

    def emitted(self, key: Any) -> Row:
        seqs = self.kept()
        self.state.clear()
        return Row(key=key[0], seqs=sorted(seqs))


class ListingThree(Listing):
    """Emits the list when it has three numbers."""

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        for row in rows:
            self.state.update(([*self.kept(), row["seq"]],))
            if len(self.kept()) == 3:
                yield self.emitted(key)


class ListingForTenSeconds(Listing):
    """Emits the list ten seconds after its first number came."""

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        if not self.state.exists():
            self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 10_000)
        self.state.update(([*self.kept(), *(row["seq"] for row in rows)],))
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        yield self.emitted(key)


class Totals(StatefulProcessor):
    """Adds up the numbers of a key in the order of their times."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.waiting = handle.getMapState("waiting", "ms long", "at timestamp, seq int")
        self.total = handle.getValueState("total", "total int")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        for row in rows:
            ms = round(row["at"].timestamp() * 1000)
            self.waiting.updateValue((ms,), (row["at"], row["seq"]))
            self.handle.registerTimer(ms)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        ms = expiredTimerInfo.getExpiryTimeInMs()
        value, before = self.waiting.getValue((ms,)), self.total.get()
        assert value is not None
        at, seq = value
        total = seq + (0 if before is None else before[0])
        self.waiting.removeKey((ms,))
        self.total.update((total,))
        yield Row(key=key[0], at=at, total=total)


def processed(
    rows: DataFrame, processor: StatefulProcessor, schema: str, clock: str, **more: Any
) -> DataFrame:
    by_key = rows.groupBy("key")
    return by_key.transformWithState(processor, schema, "append", clock, **more)


def sorted_list(column: str) -> Column:
    return F.sort_array(F.collect_list(column))


def row(key: str, seq: int, second: float) -> tuple[Any, ...]:
    return key, seq, instant(second)


def test_a_list_until_a_condition_holds(spark: SparkSession) -> None:
    def theirs(rows: DataFrame) -> DataFrame:
        return processed(rows, ListingThree(), "key string, seqs array<int>", "none")

    def ours(rows: DataFrame) -> DataFrame:
        everything = transom.stream(rows, order="seq").key_by("key").window(transom.Global())
        return everything.trigger(transom.Purging(transom.AfterCount(3))).agg(
            seqs=sorted_list("seq")
        )

    batches = [
        [row("a", 1, 0), row("b", 2, 0)],
        [*(row("a", seq, 0) for seq in range(3, 10)), row("b", 10, 0), row("b", 11, 0)],
    ]
    expected = [("a", [1, 3, 4]), ("a", [5, 6, 7]), ("b", [2, 10, 11])]
    for pipeline in (theirs, ours):
        results = run_stream(spark, pipeline, SCHEMA, batches).results
        assert sorted((each["key"], each["seqs"]) for each in results) == expected


def test_a_timer_of_the_wall_clock_that_flushes(spark: SparkSession, tmp_path: Path) -> None:
    def theirs(rows: DataFrame) -> DataFrame:
        return processed(
            rows, ListingForTenSeconds(), "key string, seqs array<int>", "processingTime"
        )

    def ours(rows: DataFrame) -> DataFrame:
        everything = transom.stream(rows).key_by("key").window(transom.Global())
        timeout = transom.ProcessingTimeout(transom.Never(), after="10 seconds")
        return everything.trigger(transom.Purging(timeout)).agg(seqs=sorted_list("seq"))

    before: list[Step] = [[row("a", 1, 0), row("b", 2, 0)], 9.999, [row("a", 3, 0)]]
    expected = [("a", [1, 3]), ("b", [2])]
    emitted = run_on_clock(spark, ours, SCHEMA, [*before, 10.001], folder=tmp_path)
    assert [[(each["key"], each["seqs"]) for each in rows] for rows in emitted[:-1]] == [[]] * 3
    assert sorted((each["key"], each["seqs"]) for each in emitted[-1]) == expected
    # With timers of the wall clock, Spark runs batches without end, so processAllAvailable() would
    # never return.
    found: list[Row] = []
    clock = HandClock(spark)
    rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input"))
    query = clock.start(
        theirs(rows).writeStream.foreachBatch(lambda new, _: found.extend(new.collect()))
    )
    try:
        wait_until(query, lambda: sum(each.numInputRows for each in recent_progress(query)) == 3)
        assert not found
        clock.move(10.001)
        wait_until(query, lambda: bool(found))
    finally:
        query.stop()
    assert sorted((each["key"], each["seqs"]) for each in found) == expected


def test_the_rows_of_a_key_in_the_order_of_time(spark: SparkSession) -> None:
    def theirs(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("at", "0 seconds")
        return processed(timed, Totals(), "key string, at timestamp, total int", "eventTime")

    def ours(rows: DataFrame) -> DataFrame:
        def total(table: pa.Table, context: transom.Context) -> pa.Table:
            added = (context.key_state["total"] or 0) + sum(table["seq"].to_pylist())
            context.key_state["total"] = added
            return pa.table({"at": table["at"], "total": pa.array([added], pa.int32())})

        by_key = transom.stream(rows, time=EVENT_TIME).key_by("key")
        return by_key.scan(total, "at timestamp, total int", state="total int")

    batches = [
        [row("a", 1, 5), row("a", 2, 3), row("b", 4, 4)],
        [row("a", 8, 9), row("a", 16, 7), row("b", 32, 20)],
    ]
    expected = [("a", 3, 2), ("a", 5, 3), ("a", 7, 19), ("a", 9, 27), ("b", 4, 4)]
    for pipeline in (theirs, ours):
        results = run_stream(spark, pipeline, SCHEMA, batches).results
        found = [(each["key"], (each["at"] - START).seconds, each["total"]) for each in results]
        # A timer of Spark fires as soon as the watermark is at its time, and `scan` waits until the
        # watermark is past it. The last row sets the watermark.
        assert sorted(each for each in found if each[1] < 20) == expected


def test_a_processor_may_read_results_and_windows_may_read_a_processor(
    spark: SparkSession,
) -> None:
    tens = transom.Tumbling("10 seconds")

    def processor_last(rows: DataFrame) -> DataFrame:
        counts = transom.stream(rows, time=EVENT_TIME).key_by("key").window(tens)
        timed = counts.agg(seq=F.count("*").cast("int"))
        return processed(timed, ListingThree(), "key string, seqs array<int>", "none")

    def windows_last(rows: DataFrame) -> DataFrame:
        totals = processed(
            rows.withWatermark("at", "0 seconds"),
            Totals(),
            "key string, at timestamp, total int",
            "eventTime",
            eventTimeColumnName="at",
        )
        counts = transom.stream(totals, time="at").key_by("key").window(tens)
        return counts.agg(seqs=sorted_list("total"))

    # Three windows have one row, two rows and three rows. A last row closes them.
    seconds = [1, 11, 12, 21, 22, 23]
    batches = [[row("a", 1, second) for second in seconds], [row("a", 1, 45)]]
    results = run_stream(spark, processor_last, SCHEMA, batches).results
    assert [(each["key"], each["seqs"]) for each in results] == [("a", [1, 2, 3])]
    results = run_stream(spark, windows_last, SCHEMA, batches).results
    assert [each["seqs"] for each in results] == [[1], [2, 3], [4, 5, 6]]
