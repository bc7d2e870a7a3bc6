"""Runs a streaming query over batches that a test writes down, and reads its state."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.types import StructType, _parse_datatype_string

Batch = Sequence[tuple[Any, ...]] | DataFrame
Sink = Callable[[list[Row], int], None]
Writer = Callable[[DataFrame, int], None]

_FIRST_MODIFIED = 1_700_000_000
_LONGEST_RUN = 300


@dataclass(frozen=True)
class Outcome:
    """What a run has given.

    Attributes
    ----------
    results : list of Row
        Plain result rows, in the order of the batches.
    late : list of Row
        The ``late`` structs of tagged rows.
    progress : list of StreamingQueryProgress
        One for each micro-batch, the one without data included.
    by_batch : dict
        The rows as they left the query, by batch id.
    """

    results: list[Row]
    late: list[Row]
    progress: list[StreamingQueryProgress]
    by_batch: dict[int, list[Row]]

    def observed(self, stage: str | None = None) -> dict[str, int]:
        """The counts that a window stage reports, summed over the batches.

        ``stage`` may be left out if there is only one.
        """
        totals: dict[str, int] = {}
        for progress in self.progress:
            metrics = progress.observedMetrics
            names = [stage] if stage is not None else list(metrics)
            assert len(names) <= 1, f"there are several stages: {names}"
            for name in names:
                for count, value in metrics[name].asDict().items():
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
    """Run a query over all batches: a micro-batch each, and Spark's one without data.

    Parameters
    ----------
    spark : SparkSession
        Where the query runs.
    pipeline : callable
        From the streaming DataFrame of the input to the one whose rows are wanted.
    schema : str or StructType
        Of the input.
    batches : sequence
        Rows as tuples, or a static DataFrame.
    checkpoint : Path, optional
        Folder of the query. A second run with the same folder continues the first with further
        batches, which may be none.
    output_mode : str
        Of the query.
    sink : callable, optional
        Called in ``foreachBatch`` with the rows and the batch id, before they count as results;
        what it raises ends the query.
    writer : callable, optional
        What ``foreachBatch`` calls in place of collecting; the outcome then has progress only.
    available_now : bool
        Whether the run ends by itself; if not, it is stopped once it has read all batches.
    """
    folder = Path(tempfile.mkdtemp()) if checkpoint is None else checkpoint
    struct = schema if isinstance(schema, StructType) else parse_schema(schema)
    by_batch: dict[int, list[Row]] = {}

    def collect(rows: DataFrame, batch_id: int) -> None:
        collected = rows.collect()
        if sink is not None:
            sink(collected, batch_id)
        by_batch[batch_id] = collected

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
            query = described.trigger(availableNow=True).start()
            ended = query.awaitTermination(_LONGEST_RUN)
            query.stop()
            assert ended, f"the query did not end within {_LONGEST_RUN} seconds"
        else:
            query = described.start()
            try:
                query.processAllAvailable()
            finally:
                query.stop()
        progress = list(query.recentProgress)
    finally:
        if checkpoint is None:
            shutil.rmtree(folder)
    return outcome_of(by_batch, progress)


def state_rows(
    spark: SparkSession, checkpoint: Path, variable: str = "segments", *, operator: int = 0
) -> list[Row]:
    """What a stage's state holds after the last batch.

    Parameters
    ----------
    checkpoint : Path
        The folder given to `run_stream`.
    variable : str
        "segments", a row each with ``user_map_key`` and ``user_map_value``, or "directory".
    operator : int
        The stage's number in the query.
    """
    return (
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("stateVarName", variable)
        .load(str(checkpoint / "checkpoint"))
        .collect()
    )


def in_the_plan(spark: SparkSession, node: str, metric: str) -> int:
    """What Spark's own pages show of a node, for the batch that the one query now runs."""
    (query,) = spark.streams.active
    plan = query._jsq.streamingQuery().lastExecution().executedPlan()
    while plan.nodeName() != node:
        plan = plan.children().head()
    return int(plan.metrics().apply(metric).value())


def parse_schema(schema: str) -> StructType:
    """A schema from its text."""
    parsed = _parse_datatype_string(schema)
    assert isinstance(parsed, StructType)
    return parsed


def add_batch(folder: Path, batch: Batch, schema: StructType) -> None:
    """Write a file that Spark takes for newer than those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.iterdir()))
    path = folder / f"{number:06}.parquet"
    # Written beside the folder: a query may be reading it.
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
    """What the rows of batches, plain or tagged, and the progress of a query tell."""
    rows = [row for _, batch in sorted(by_batch.items()) for row in batch]
    if rows and rows[0].__fields__[0] == "tag":
        results = [row["results"] for row in rows if row["tag"] == "results"]
        late = [row["late"] for row in rows if row["tag"] == "late"]
    else:
        results, late = rows, []
    return Outcome(results, late, list(progress), by_batch)
