"""Runs a streaming query whose wall clock a test moves by hand.

Times are seconds since `START`. A step is a list of rows, which is one micro-batch, or the number
that the wall clock moves to before the next rows come.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.end_to_end.support.clocked import START
from tests.end_to_end.support.queries import add_batch, parse_schema
from tests.end_to_end.support.sessions import Reason, skip_in_connect

Step = Sequence[tuple[Any, ...]] | float


class HandClock(StreamingQueryListener):
    """A clock for queries that replaces the clock of the machine."""

    def __init__(self, spark: SparkSession, seconds: float = 0) -> None:
        skip_in_connect(Reason.CLOCK)
        self._spark = spark
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._clock: Any = jvm.org.apache.spark.util.ManualClock(_millis(seconds))

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Start a query that uses this clock."""
        self._spark.streams.addListener(self)
        try:
            return writer.start()
        finally:
            self._spark.streams.removeListener(self)

    def move(self, seconds: float) -> None:
        """Set the clock. The time may be earlier than before."""
        self._clock.setTime(_millis(seconds))

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Give the clock to the query. Spark calls this before the first batch and waits."""
        number = self._jvm.java.util.UUID.fromString(str(event.id))
        session: Any = self._spark._jsparkSession
        query = session.sharedState().activeStreamingQueries().get(number)
        field = (
            self._jvm.java.lang.Class.forName(
                "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"
            )
        ).getDeclaredField("triggerClock")
        field.setAccessible(True)
        field.set(query, self._clock)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Do nothing, because tests read the progress from the query."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Do nothing, because tests read the progress from the query."""


def run_on_clock(
    spark: SparkSession,
    pipeline: Callable[[DataFrame], DataFrame],
    schema: str,
    steps: Sequence[Step],
    *,
    folder: Path,
) -> list[list[Row]]:
    """Run a query over the steps. Returns the rows that it emitted after each step."""
    (folder / "input").mkdir(exist_ok=True)
    rows = spark.readStream.schema(schema).parquet(str(folder / "input"))

    def add(batch: Sequence[tuple[Any, ...]]) -> None:
        add_batch(folder / "input", batch, parse_schema(schema))

    return run_steps(spark, pipeline(rows), steps, add, checkpoint=folder / "checkpoint")


def run_steps(
    spark: SparkSession,
    results: DataFrame,
    steps: Sequence[Step],
    add: Callable[[Sequence[tuple[Any, ...]]], None],
    *,
    checkpoint: Path,
    start: float = 0,
) -> list[list[Row]]:
    """Run a query over the steps. Returns the rows that it emitted after each step.

    Parameters
    ----------
    spark : SparkSession
        The session.
    results : DataFrame
        The streaming result of the query.
    steps : sequence
        Batches and times, in seconds.
    add : callable
        Adds the rows of a batch to the source of the query.
    checkpoint : Path
        Folder of the checkpoint.
    start : float
        The time at which the query starts, in seconds.
    """
    given: list[list[Row]] = []

    def collect(rows: DataFrame, _: int) -> None:
        given[-1].extend(rows.collect())

    clock = HandClock(spark, start)
    given.append([])
    query = clock.start(
        results.writeStream.foreachBatch(collect).option("checkpointLocation", str(checkpoint))
    )
    try:
        for step in steps:
            given.append([])
            if isinstance(step, Sequence):
                add(step)
            else:
                clock.move(step)
            # The first call may return for a check of the sources that began before the step.
            query.processAllAvailable()
            query.processAllAvailable()
    finally:
        query.stop()
    return given[1:]


def run_dated(
    spark: SparkSession,
    pipeline: Callable[[DataFrame], DataFrame],
    schema: str,
    steps: Sequence[tuple[float, Sequence[tuple[Any, ...]]]],
    *,
    folder: Path,
    files_per_batch: int = 1000,
    after: Callable[[StreamingQuery], None] = lambda _: None,
) -> list[list[Row]]:
    """Run a query over rows that come at times of the wall clock.

    Rows come together with a movement of the clock. So a step with rows stops the query and starts
    it again.

    Parameters
    ----------
    spark : SparkSession
        The session.
    pipeline : callable
        A function from the streaming DataFrame of the input to the results.
    schema : str
        Schema of the input.
    steps : sequence
        The time of the wall clock in seconds, and the rows that come at this time, each in a file
        of its own.
    folder : Path
        Folder of the input and of the checkpoint.
    files_per_batch : int
        The number of rows of a batch.
    after : callable
        Called with the query after each step.

    Returns
    -------
    list of list of Row
        The rows that the query emits after each step.
    """
    given: list[list[Row]] = []

    def collect(rows: DataFrame, _: int) -> None:
        given[-1].extend(rows.collect())

    (folder / "input").mkdir(exist_ok=True)
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch)
    writer = (
        pipeline(reader.parquet(str(folder / "input")))
        .writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    query, clock = None, None
    try:
        for now, rows in steps:
            given.append([])
            if rows and query is not None:
                query.stop()
                query = None
            for row in rows:
                add_batch(folder / "input", [row], parse_schema(schema))
            if query is None or clock is None:
                clock = HandClock(spark, now)
                query = clock.start(writer)
            else:
                clock.move(now)
            query.processAllAvailable()
            query.processAllAvailable()
            after(query)
    finally:
        if query is not None:
            query.stop()
    return given


class Past(StreamingQuery):
    """A query whose last batch is one of its earlier batches."""

    def __init__(self, progress: StreamingQueryProgress) -> None:
        self._progress = progress

    @property
    def lastProgress(self) -> StreamingQueryProgress:  # noqa: N802
        """The progress of the batch."""
        return self._progress


def wait_until(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, for a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, query.status
        query.awaitTermination(1)


def recent_progress(query: StreamingQuery) -> list[StreamingQueryProgress]:
    """The progress of all batches, also of several batches at the same time of the wall clock.

    Spark leaves out the rates of such a batch, and PySpark cannot read its progress.
    """
    found = []
    updates = [json.loads(update.json()) for update in query._jsq.recentProgress()]
    for fields in [update for update in updates if "addBatch" in update["durationMs"]]:
        for source in fields["sources"]:
            source.setdefault("inputRowsPerSecond", 0.0)
            source.setdefault("processedRowsPerSecond", 0.0)
        found.append(StreamingQueryProgress.fromJson(fields))
    return found


def _millis(seconds: float) -> int:
    since_1970 = (START - START.fromtimestamp(0)).total_seconds()
    return round((since_1970 + seconds) * 1000)
