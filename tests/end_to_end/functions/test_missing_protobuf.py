"""A function with state needs protobuf in the workers, and fails with the text on the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect

PAGE = Path(__file__).parents[3] / "docs/troubleshooting.md"


@pytest.fixture
def _no_protobuf(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """Workers that find another package before protobuf."""
    skip_in_connect(Reason.PROCESS)
    hidden = tmp_path / "hidden/google/protobuf"
    hidden.mkdir(parents=True)
    (hidden.parent / "__init__.py").touch()
    (hidden / "__init__.py").write_text("raise ImportError")
    environment: dict[str, Any] = spark.sparkContext.environment
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = f"{tmp_path}/hidden:{os.environ.get('PYTHONPATH', '')}"
    yield
    del environment["PYTHONPATH"]
    if before is not None:
        environment["PYTHONPATH"] = before


@pytest.mark.usefixtures("_no_protobuf")
def test_a_missing_protobuf_fails_with_the_text_on_the_page(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        each = transom.stream(rows).window(transom.Count(1))
        return each.apply(same, "value int", key_state="seen long")

    def same(rows: pa.Table, _: transom.Context) -> pa.Table:
        return rows

    with pytest.raises(StreamingQueryException) as caught:
        run_stream(spark, pipeline, "value int", [[(1,)]])
    text = str(caught.value).partition("with exception: ")[2].partition(" SQLSTATE")[0]
    assert text.endswith("driver worker exited unexpectedly (crashed)")
    assert f"\n{text}\n" in PAGE.read_text()
