"""Compares a view in SQL with the DataFrame of Python that has the same name."""

import re
import uuid
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from transom.inspection.metrics import named

_VIEW = re.compile(r"CREATE OR REPLACE TEMP VIEW (\w+) AS\s")
_LONGEST_RUN = 120
# Columns of late rows and dead letters that two runs of a query have different values in.
_OF_A_RUN = ("query", "processed_at")


def check_twin(spark: SparkSession, text: str, names: Mapping[str, Any]) -> None:
    """Check that a view has the rows of the DataFrame with its name.

    Parameters
    ----------
    spark : SparkSession
        The session.
    text : str
        One statement, ``CREATE OR REPLACE TEMP VIEW name AS SELECT ...``.
    names : mapping
        The variables of a program in Python. The statement reads its DataFrames as views. The
        DataFrame ``name`` is compared with the view.
    """
    found = _VIEW.match(text)
    assert found, f"the statement makes no view: {text}"
    frames = {name: value for name, value in names.items() if isinstance(value, DataFrame)}
    twin = frames.pop(found[1])
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    spark.sql(text)
    view = spark.table(found[1])
    assert _columns(view) == _columns(twin)
    closes_by_clock = "idle_timeout =>" in text
    rows = _rows(twin, closes_by_clock=closes_by_clock)
    assert rows
    assert _rows(view, closes_by_clock=closes_by_clock) == rows
    for name in (found[1], *frames):
        spark.catalog.dropTempView(name)


def _columns(df: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in df.schema.fields]


def _rows(df: DataFrame, *, closes_by_clock: bool) -> list[str]:
    """Return the rows as texts, in the order of these texts. A stream runs to its end."""
    df = df.drop(*_OF_A_RUN)
    for field in df.schema.fields:
        if isinstance(field.dataType, StructType):
            left_out = [name for name in _OF_A_RUN if name in field.dataType.names]
            if left_out:
                df = df.withColumn(field.name, F.col(field.name).dropFields(*left_out))
    rows = _streamed(df, closes_by_clock=closes_by_clock) if df.isStreaming else df.collect()
    return sorted(map(str, rows))


def _streamed(df: DataFrame, *, closes_by_clock: bool) -> list[Row]:
    name = f"twin_{uuid.uuid4().hex}"
    with TemporaryDirectory() as checkpoint:
        writer = (
            df.writeStream.format("memory").queryName(name).option("checkpointLocation", checkpoint)
        )
        if not closes_by_clock:
            writer = writer.trigger(availableNow=True)
        query = writer.start()
        try:
            ended = False
            for _ in range(_LONGEST_RUN):
                ended = query.awaitTermination(1) or (closes_by_clock and _has_closed(query))
                if ended:
                    break
            assert ended, f"the query did not end within {_LONGEST_RUN} seconds"
        finally:
            query.stop()
    rows = df.sparkSession.table(name).collect()
    df.sparkSession.catalog.dropTempView(name)
    return rows


def _has_closed(query: StreamingQuery) -> bool:
    """Whether the wall clock has closed the windows of a silent source."""
    return any(
        named(observed.asDict())["transom_idle_closes"]
        for batch in query.recentProgress
        for observed in batch.observedMetrics.values()
    )
