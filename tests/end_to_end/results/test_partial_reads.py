"""A function of `foreachBatch` that reads a part of its rows fails, unless it persists them."""

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.end_to_end.results.test_route import BATCHES, SCHEMA, plain
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect

PAGE = Path(__file__).parents[3] / "docs/troubleshooting.md"


def test_a_batch_that_is_read_in_part_fails_with_the_text_on_the_page(spark: SparkSession) -> None:
    skip_in_connect(Reason.JVM)

    def read_nothing(rows: DataFrame, _: int) -> None:
        rows.take(0)

    with pytest.raises(StreamingQueryException) as caught:
        run_stream(spark, plain, SCHEMA, BATCHES, writer=read_nothing)
    assert "Exception thrown in awaitResult" in str(caught.value)
    cause = "[STATE_STORE_COMMIT_VALIDATION_FAILED] State store commit validation failed for batch"
    assert cause in PAGE.read_text()
    assert cause in caught.value._stackTrace  # type: ignore[attr-defined]


def test_a_batch_that_is_persisted_and_counted_may_be_read_in_part(
    spark: SparkSession, tmp_path: Path
) -> None:
    # In a Connect session the function runs in another process.
    found = tmp_path / "found"

    def read_part(rows: DataFrame, _: int) -> None:
        rows.persist()
        rows.count()
        with found.open("a") as file:
            file.writelines(f"{row['n']}\n" for row in rows.take(1))
        rows.unpersist()

    run_stream(spark, plain, SCHEMA, BATCHES, writer=read_part)
    assert found.read_text()
