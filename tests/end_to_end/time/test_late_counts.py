"""`EventTime` finds no more late rows than a `TimePolicy` with the same delay."""

from datetime import datetime, timedelta
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Batch, run_stream

SCHEMA = "n int, at timestamp"
START = datetime(2024, 1, 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_has_no_more_late_rows_than_row_by_row(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    seconds = [n - random.choice([0, 0, 0, 5, 20, 40]) for n in range(120)]
    rows = [(n, START + timedelta(seconds=second)) for n, second in enumerate(seconds)]
    cuts = sorted(random.sample(range(1, len(rows)), 5))
    batches: list[Batch] = [
        rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]

    def late(time: transom.EventTime | transom.TimePolicy, size: str = "3 seconds") -> set[int]:
        def pipeline(df: DataFrame) -> DataFrame:
            windows = transom.stream(df, time=time, order="n").window(transom.Tumbling(size))
            return windows.with_late_rows().agg(n=F.count("*"))

        found = [row["row"]["n"] for row in run_stream(spark, pipeline, SCHEMA, batches).late]
        assert len(found) == len(set(found))
        return set(found)

    by_batch = late(transom.EventTime("at", delay="4 seconds"))
    by_row = late(transom.TimePolicy("at", out_of_order="4 seconds"))
    assert by_batch < by_row
    assert by_batch
    # A window of 30 seconds ends with the last of its windows of three seconds.
    assert late(transom.TimePolicy("at", out_of_order="4 seconds"), size="30 seconds") < by_row
