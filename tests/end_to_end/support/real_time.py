"""Runs queries in Real-Time Mode, over rows that a test adds to the partitions of a source.

The source and the sink are Spark's own, in memory. A row reaches the query, and a result reaches
the sink, while the batch runs. The source keeps its rows and the sink its results when the query
stops, so a test can start the query again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    StructType,
    TimestampType,
)

from tests.end_to_end.support.queries import Outcome, outcome_of, parse_schema
from tests.end_to_end.support.sessions import settings

Pipeline = Callable[[DataFrame], DataFrame]
Values = tuple[Any, ...]

IS_SUPPORTED = not pyspark.__version__.startswith("4.2.")
REASON = "Windows in Real-Time Mode need PySpark 4.3. Spark 4.2 has no stateful operators there."
# Short batches, so that a test has several of them. Spark's own minimum is 5 seconds.
BATCH = "500 milliseconds"
LONG_BATCH = "10 minutes"
SHORTEST_BATCH = {"spark.sql.streaming.realTimeMode.minBatchDuration": "500"}
# Whether the checkpoint is temporary, and whether the query continues it.
_IN_ITS_CHECKPOINT = (False, True)
_LONGEST_WAIT = 120
_BETWEEN_LOOKS = 0.02


class RealTimeQuery:
    """A query over a source in memory."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        schema: str,
        partitions: int,
        checkpoint: Path,
    ) -> None:
        """Describe a query, which `start` starts.

        Parameters
        ----------
        spark : SparkSession
            The session, which has a core for each task: of the source, and of the operator.
        pipeline : callable
            A function from the streaming DataFrame of the input to the results.
        schema : str
            The names and types of the input's columns.
        partitions : int
            Number of partitions of the source.
        checkpoint : Path
            Folder of the query.
        """
        jvm: Any = spark._jvm
        self._spark, self._jvm, self._checkpoint = spark, jvm, str(checkpoint)
        sources = jvm.org.apache.spark.sql.execution.streaming.sources
        encoder = jvm.org.apache.spark.sql.Encoders.STRING()
        self._source = sources.LowLatencyMemoryStream.apply(
            spark._jsparkSession, partitions, encoder
        )
        self._sink = sources.ContinuousMemorySink()
        self._schema = parse_schema(schema)
        row = F.from_json("value", self._schema)
        rows = DataFrame(self._source.toDF(), spark).select(row.alias("r"))
        self._results = pipeline(rows.select("r.*"))
        self._sent = [0] * partitions
        # How many rows the sink has had when the query was started last.
        self._before = 0
        self._query: Any = None
        self._ended: list[StreamingQueryProgress] = []

    def start(self, batch: str = BATCH) -> None:
        """Start the query, from its checkpoint if it has run before."""
        if self._query is not None:
            self._ended += self.progress
        self._before = self._received()
        manager = self._spark._jsparkSession.streams()
        streaming = self._jvm.org.apache.spark.sql.streaming
        none = self._jvm.scala.Option.empty()
        # Only this method of Spark continues a query whose results stay in memory.
        started = manager.startQuery(
            none,
            none,
            self._jvm.scala.Option.apply(self._checkpoint),
            self._results._jdf,
            self._jvm.PythonUtils.toScalaMap({}),
            self._sink,
            streaming.OutputMode.Update(),
            *_IN_ITS_CHECKPOINT,
            streaming.Trigger.RealTime(batch),
            getattr(manager, "startQuery$default$11")(),
            none,
            none,
        )
        self._query = StreamingQuery(started)

    def add(self, partition: int, rows: Sequence[Values]) -> None:
        """Add rows to a partition of the source."""
        texts = [json.dumps(_in_json(row, self._schema)) for row in rows]
        if texts:
            self._source.addData(partition, self._jvm.PythonUtils.toSeq(texts))
            self._sent[partition] += len(texts)

    def settle(self) -> None:
        """Wait until batches that have ended contain all rows, and the sink has their results."""
        self._wait_until(lambda: self._read() == self._sent)
        # Tasks send results to the sink as messages, which may come after the end of their batch.
        written = sum(batch.sink.numOutputRows for batch in self.progress)
        self._wait_until(lambda: self._received() >= self._before + written)

    def wait_for(self, results: int, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait until the sink has so many results, while the batch runs.

        `meanwhile` is called again and again.
        """

        def has_results() -> bool:
            meanwhile()
            return self._received() >= results

        self._wait_until(has_results)

    def _wait_until(self, is_so: Callable[[], bool]) -> None:
        assert self._query is not None
        latest = time.monotonic() + _LONGEST_WAIT
        while not is_so():
            assert not self._query.awaitTermination(_BETWEEN_LOOKS), "the query has stopped"
            assert time.monotonic() < latest, f"{self._read()} of {self._sent} rows were read"

    def _read(self) -> list[int]:
        """How many rows of each partition the batches that have ended have read."""
        assert self._query is not None
        progress = self._query.lastProgress
        read = {} if progress is None else json.loads(progress.sources[0].endOffset)
        return [read.get(str(partition), 0) for partition in range(len(self._sent))]

    def _received(self) -> int:
        """How many rows have reached the sink."""
        return int(self._sink.allData().size())

    def stop(self) -> None:
        """Stop the query. The batch that runs is not committed, but its results are in the sink."""
        if self._query is not None:
            self._query.stop()

    @property
    def running(self) -> StreamingQuery:
        """The query as Spark shows it, once it has been started."""
        running: StreamingQuery = self._query
        return running

    @property
    def progress(self) -> list[StreamingQueryProgress]:
        """The progress of each batch that has ended since the last start."""
        return [*self.running.recentProgress]

    @property
    def rows(self) -> list[Row]:
        """All rows that have reached the sink, in their order."""
        found = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(self._sink.allData())
        schema = self._results._jdf.schema()
        return DataFrame(
            self._spark._jsparkSession.createDataFrame(found, schema), self._spark
        ).collect()

    @property
    def outcome(self) -> Outcome:
        """The results and the late rows so far, and the progress of all batches that have ended."""
        return outcome_of({0: self.rows}, self._ended + self.progress)


@contextmanager
def real_time(
    spark: SparkSession, pipeline: Pipeline, schema: str, partitions: int, checkpoint: Path
) -> Iterator[RealTimeQuery]:
    """Describe a query, and stop the query at the end. See `RealTimeQuery`."""
    query = RealTimeQuery(spark, pipeline, schema, partitions, checkpoint)
    with settings(spark, SHORTEST_BATCH):
        try:
            yield query
        finally:
            query.stop()


def run_real_time(
    spark: SparkSession,
    pipeline: Pipeline,
    schema: str,
    steps: Iterable[Sequence[Sequence[Values]]],
    checkpoint: Path,
    *,
    restart: bool = False,
) -> Outcome:
    """Run a query over steps, each of which is in batches of its own.

    Parameters
    ----------
    spark : SparkSession
        The session.
    pipeline : callable
        A function from the streaming DataFrame of the input to the results.
    schema : str
        The names and types of the input's columns.
    steps : iterable
        For each step, the rows of each partition of the source.
    checkpoint : Path
        Folder of the query.
    restart : bool
        Whether the query stops and starts again after each step.

    Returns
    -------
    Outcome
        The outcome, where each step counts as a batch.
    """
    all_steps = list(steps)
    by_step: dict[int, list[Row]] = {}
    progress: list[StreamingQueryProgress] = []
    seen = 0
    with real_time(spark, pipeline, schema, len(all_steps[0]), checkpoint) as query:
        query.start()
        for number, step in enumerate(all_steps):
            if restart and number > 0:
                progress += query.progress
                query.stop()
                query.start()
            for partition, rows in enumerate(step):
                query.add(partition, rows)
            query.settle()
            emitted = query.rows
            by_step[number] = emitted[seen:]
            seen = len(emitted)
        return outcome_of(by_step, [*progress, *query.progress])


def _in_json(value: Any, kind: DataType) -> Any:
    """A value in the form in which Spark reads its type from JSON. The time zone is UTC."""
    if value is None:
        return None
    match kind:
        case StructType():
            fields = zip(kind.fields, value, strict=True)
            return {field.name: _in_json(part, field.dataType) for field, part in fields}
        case ArrayType():
            return [_in_json(part, kind.elementType) for part in value]
        case TimestampType():
            return value.replace(tzinfo=UTC).isoformat()
        case DayTimeIntervalType():
            # Python writes the hours, minutes and seconds as Spark reads them.
            return f"{value.days} {value - timedelta(days=value.days)}"
    return value
