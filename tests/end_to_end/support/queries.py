"""Runs a streaming query over the batches of a test, and reads its state."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType, _parse_datatype_string

from transom.inspection.metrics import named

Batch = Sequence[tuple[Any, ...]] | DataFrame
Sink = Callable[[list[Row], int], None]
Writer = Callable[[DataFrame, int], None]

_FIRST_MODIFIED = 1_700_000_000
_LONGEST_RUN = 300
# The metrics of an operator that are sums.
_COUNTS = ("transom_rows_", "transom_windows_fired", "transom_idle_closes")


@dataclass(frozen=True)
class Outcome:
    """The results and the progress of a run.

    Attributes
    ----------
    results : list of Row
        Plain result rows, in the order of the batches.
    late : list of Row
        The ``late`` structs of tagged rows.
    progress : list of StreamingQueryProgress
        One for each micro-batch, batches without data included.
    by_batch : dict
        All rows that the query emitted, by batch id.
    """

    results: list[Row]
    late: list[Row]
    progress: list[StreamingQueryProgress]
    by_batch: dict[int, list[Row]]

    def observed(self, operator: str | None = None) -> dict[str, int]:
        """The counts of a window operator, summed over the batches.

        ``operator`` is its name, which a query with one window operator may leave out.
        """
        totals: dict[str, int] = {}
        for progress in self.progress:
            metrics = progress.observedMetrics
            names = [operator] if operator is not None else list(metrics)
            assert len(names) <= 1, f"there are several window operators: {names}"
            for name in names:
                for count, value in named(metrics[name].asDict()).items():
                    if count.startswith(_COUNTS):
                        totals[count] = totals.get(count, 0) + value
        return totals


def run_stream(
    spark: SparkSession,
    pipeline: Callable[[DataFrame], DataFrame],
    schema: str | StructType,
    batches: Sequence[Batch],
    *,
    checkpoint: Path | None = None,
    output_mode: str = "append",
    sink: Sink | None = None,
    writer: Writer | None = None,
    available_now: bool = True,
) -> Outcome:
    """Run a query over all batches. Each is a micro-batch, and Spark adds one without data.

    Parameters
    ----------
    spark : SparkSession
        The session.
    pipeline : callable
        A function from the streaming DataFrame of the input to the results.
    schema : str or StructType
        Schema of the input.
    batches : sequence
        Batches, each a list of tuples or a static DataFrame.
    checkpoint : Path, optional
        Folder of the query. A second run with the same folder continues the first run. It may
        have no further batches.
    output_mode : str
        Output mode of the query.
    sink : callable, optional
        Called in ``foreachBatch`` with the rows and the batch id, before the rows count as
        results. An error that it raises ends the query.
    writer : callable, optional
        The function of ``foreachBatch``, instead of the one that collects rows. The outcome then
        has no rows.
    available_now : bool
        Whether the run ends by itself. If not, it is stopped after it has read all batches.
    """
    folder = Path(tempfile.mkdtemp()) if checkpoint is None else checkpoint
    struct = schema if isinstance(schema, StructType) else parse_schema(schema)
    found = Path(tempfile.mkdtemp())

    # In a Connect session the function runs in another process.
    def collect(rows: DataFrame, batch_id: int) -> None:
        collected = rows.collect()
        if sink is not None:
            sink(collected, batch_id)
        (found / str(batch_id)).write_bytes(pickle.dumps(collected))

    try:
        for batch in batches:
            add_batch(folder / "input", batch, struct)
        rows = (
            spark.readStream.schema(struct)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder / "input"))
        )
        described = (
            pipeline(rows)
            .writeStream.foreachBatch(writer or collect)
            .outputMode(output_mode)
            .option("checkpointLocation", str(folder / "checkpoint"))
        )
        if available_now:
            query = _start(described.trigger(availableNow=True))
            ended = query.awaitTermination(_LONGEST_RUN)
            query.stop()
            assert ended, f"the query did not end within {_LONGEST_RUN} seconds"
        else:
            query = _start(described)
            try:
                query.processAllAvailable()
            finally:
                query.stop()
        progress = list(query.recentProgress)
        by_batch = {int(file.name): pickle.loads(file.read_bytes()) for file in found.iterdir()}
    finally:
        shutil.rmtree(found)
        if checkpoint is None:
            shutil.rmtree(folder)
    return outcome_of(by_batch, progress)


def _start(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query, and try again when the process of its function was slow to start.

    For ``foreachBatch``, a Connect server starts a Python process for each query and waits 10
    seconds for it. A busy machine can need longer. Spark has no setting for it.
    """
    for _ in range(2):
        try:
            return writer.start()
        except SparkConnectGrpcException as error:
            if "failed to connect back" not in str(error):
                raise
    return writer.start()


def run_restarted(
    spark: SparkSession,
    pipeline: Callable[[DataFrame], DataFrame],
    schema: str | StructType,
    batches: Sequence[Batch],
    at: int,
) -> Outcome:
    """Run a query over all batches, and restart it before the batch with number ``at``.

    Batches are numbered from 0. With 0 the query is not restarted.
    """
    folder = Path(tempfile.mkdtemp())
    try:
        runs = [
            run_stream(spark, pipeline, schema, part, checkpoint=folder)
            for part in (batches[:at], batches[at:])
            if part
        ]
    finally:
        shutil.rmtree(folder)
    progress = [batch for run in runs for batch in run.progress]
    return outcome_of({n: rows for run in runs for n, rows in run.by_batch.items()}, progress)


def state_rows(
    spark: SparkSession, checkpoint: Path, variable: str = "segments", *, operator: int = 0
) -> list[Row]:
    """The entries of a state variable after the last batch.

    Parameters
    ----------
    checkpoint : Path
        The folder given to `run_stream`.
    variable : str
        "segments", where each row has ``user_map_key`` and ``user_map_value``, or another name.
    operator : int
        The number of the stateful operator in the query.
    """
    return (
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("stateVarName", variable)
        .load(str(checkpoint / "checkpoint"))
        .collect()
    )


def in_the_plan(spark: SparkSession, node: str, metric: str) -> int:
    """A metric of a plan node, as Spark's UI shows it, in the running batch of the only query."""
    (query,) = spark.streams.active
    plan = query._jsq.streamingQuery().lastExecution().executedPlan()
    while plan.nodeName() != node:
        plan = plan.children().head()
    return int(plan.metrics().apply(metric).value())


def parse_schema(schema: str) -> StructType:
    """Parse a schema."""
    parsed = _parse_datatype_string(schema)
    assert isinstance(parsed, StructType)
    return parsed


def add_batch(folder: Path, batch: Batch, schema: StructType) -> None:
    """Write a file that Spark reads after all existing files."""
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.iterdir()))
    path = folder / f"{number:06}.parquet"
    # The file is written outside of the folder first, because a query may be reading the folder.
    hidden = folder.with_name(f"{path.name}.writing")
    if isinstance(batch, DataFrame):
        parts = folder.with_name("parts")
        batch.coalesce(1).write.mode("overwrite").parquet(str(parts))
        (written,) = parts.glob("*.parquet")
        written.rename(hidden)
        shutil.rmtree(parts)
    else:
        table = (
            LocalDataToArrowConversion.convert(batch, schema, use_large_var_types=False)
            if batch
            else to_arrow_schema(schema, timezone="UTC").empty_table()
        )
        pq.write_table(table, hidden)
    modified = _FIRST_MODIFIED + number
    os.utime(hidden, (modified, modified))
    hidden.rename(path)


def outcome_of(
    by_batch: dict[int, list[Row]], progress: Sequence[StreamingQueryProgress] = ()
) -> Outcome:
    """The outcome of a query, from the rows of its batches and its progress."""
    rows = [row for _, batch in sorted(by_batch.items()) for row in batch]
    if rows and rows[0].__fields__[0] == "tag":
        results = [row["results"] for row in rows if row["tag"] == "results"]
        late = [row["late"] for row in rows if row["tag"] == "late"]
    else:
        results, late = rows, []
    return Outcome(results, late, list(progress), by_batch)
