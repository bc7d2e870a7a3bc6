"""Runs a streaming query whose watermark a test moves by hand.

Times are seconds since `START`. A step is a list of rows, which is one micro-batch, or the number
that the watermark moves to, before the next rows come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.support.queries import Outcome, run_stream, state_rows

Step = Sequence[tuple[str | None, float, int]] | float

SCHEMA = "key string, time timestamp, value int, control boolean"
START = datetime(2024, 1, 1)
# The distance from a watermark to the control row that sets it. Other rows are too early to move
# the watermark.
_FAR = timedelta(days=400)


def instant(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def seconds(time: datetime) -> float:
    return (time - START).total_seconds()


def bounds(row: Row) -> tuple[float, float]:
    """The bounds of the window of a result, in seconds since `START`."""
    return seconds(row["window"]["start"]), seconds(row["window"]["end"])


def at_rest(spark: SparkSession, steps: Sequence[Step]) -> DataFrame:
    """The rows of the steps as a static DataFrame, in their order."""
    rows = [
        (key, instant(time), value, False)
        for step in steps
        if isinstance(step, Sequence)
        for key, time, value in step
    ]
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


def run_clocked(
    spark: SparkSession,
    pipeline: Callable[[transom.Stream], DataFrame],
    steps: Sequence[Step],
    *,
    checkpoint: Path | None = None,
) -> Outcome:
    """Run a query over the steps. `pipeline` gets a stream with the time and key of the rows."""

    def query(rows: DataFrame) -> DataFrame:
        timed = rows.withWatermark("time", f"{_FAR.days} days")
        # The filter reads the time, so Spark does not push it below the watermark. Control rows
        # must reach the watermark.
        records = timed.where("not (control and time is not null)")
        return pipeline(transom.stream(records, time="time").key_by("key"))

    batches: list[list[tuple[object, ...]]] = []
    for step in steps:
        if isinstance(step, Sequence):
            batches.append([(key, instant(time), value, False) for key, time, value in step])
        else:
            control = (None, instant(step) + _FAR, None, True)
            # The second batch fires windows by the watermark that the first has set.
            batches += [[control], [control]]
    return run_stream(spark, query, SCHEMA, batches, checkpoint=checkpoint)


def kept(spark: SparkSession, checkpoint: Path) -> dict[str, int]:
    """Number of state entries of an operator with keyed layout, by state variable.

    Variables without entries are left out.
    """
    variables = ("group", "keys", "timers", "rows")
    counts = {name: len(state_rows(spark, checkpoint, name)) for name in variables}
    return {name: count for name, count in counts.items() if count}
