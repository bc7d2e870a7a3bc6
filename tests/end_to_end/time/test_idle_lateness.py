"""The watermark after the idle timeout of a window that waits for late rows."""

from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import transom
from tests.end_to_end.support.clocked import instant as at
from tests.end_to_end.support.wall_clock import Past, recent_progress
from tests.end_to_end.time.test_idle import Step, fired, run


def test_the_watermark_moves_to_the_end_of_the_window_plus_the_lateness(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        window = {"size": 10, "unit": "second"}
        timeout = {"size": 5, "unit": "second"}
        tens = transom.atlas.tumblingWindow(
            transom.atlas.stream(rows, timeField="at"), interval=window, idleTimeout=timeout
        )
        return tens.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    watermarks: list[datetime | None] = []

    def note(query: StreamingQuery) -> None:
        latest = max(recent_progress(query), key=lambda batch: batch.batchId)
        watermarks.append(transom.metrics(Past(latest)).watermark)

    # The preset waits 3 seconds for late rows.
    steps: list[Step] = [(3, [(0, 3)]), (14, []), (30, [])]
    emitted = run(spark, tmp_path, pipeline, steps, after=note)
    assert fired(emitted)[-1] == [(0, 10, [0])]
    assert watermarks[-1] == at(13).replace(tzinfo=UTC)
