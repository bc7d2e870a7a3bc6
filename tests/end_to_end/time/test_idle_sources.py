"""The watermark of windows while a partition, or the whole source, is silent."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.time.test_idle import Step, fired, run


def test_a_silent_partition_no_longer_holds_windows_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.TimePolicy("at", partition="source", idle_partition="20 seconds")
        windowed = transom.stream(rows, time=time).window(transom.Tumbling(size="10 seconds"))
        return windowed.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    # Rows with even numbers are in one partition, rows with odd numbers in the other.
    steps: list[Step] = [(0, [(0, 1), (1, 2)]), (15, [(2, 15)]), (19, []), (20, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    assert fired(emitted) == [[], [], [], [(0, 10, [0, 1])]]


def test_the_watermark_moves_on_with_the_estimated_arrival(
    spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.TimePolicy("at", late=transom.Adjust("5 seconds"), estimate_arrival=True)
        windowed = transom.stream(rows, time=time).window(transom.Tumbling(size="10 seconds"))
        return windowed.agg(F.sort_array(F.collect_list("seq")).alias("seqs"))

    # The row arrives at its batch's time, 8. The estimate is then that of the wall clock.
    steps: list[Step] = [(8, [(0, 7)]), (14, []), (15, [])]
    emitted = run(spark, tmp_path, pipeline, steps)
    assert fired(emitted) == [[], [], [(0, 10, [0])]]
