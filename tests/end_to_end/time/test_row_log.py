"""The log of the rows that a rule drops or moves."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.clocked import instant as at
from tests.end_to_end.support.logs import log_file
from tests.end_to_end.support.queries import run_stream

LOGGER = "org.apache.spark.sql.transom.exchange.RowLog"
SCHEMA = "id int, at timestamp, known timestamp"
ROWS = [
    (0, at(10), at(10)),
    # More than 5 seconds before its time.
    (1, at(17), at(11)),
    # Moves to the watermark.
    (2, at(8), at(12)),
    (3, None, at(13)),
    (4, None, at(14)),
]


def logged(
    spark: SparkSession, folder: Path, row_log: int | None = None, *others: str
) -> list[str]:
    """The records of a run over the rows, by one operator and by others with their own names."""

    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "at",
            arrival="known",
            early=transom.Drop("5 seconds"),
            out_of_order=transom.Adjust("0 seconds"),
        )
        windows = transom.stream(rows, time=policy).window(transom.Tumbling(size="10 seconds"))
        if row_log is None:
            return windows.agg(n=F.count("*"))
        counts = [
            windows.options(name=name, row_log=row_log).agg(n=F.count("*"))
            for name in ("tens", *others)
        ]
        return reduce(DataFrame.union, counts)

    path = folder / "rows.log"
    with log_file(spark, LOGGER, path):
        run_stream(spark, pipeline, SCHEMA, [ROWS])
    return path.read_text().splitlines()


def test_rows_that_a_rule_drops_or_moves_are_logged(spark: SparkSession, tmp_path: Path) -> None:
    met = "watermark=2024-01-01T00:00:10Z"
    # Rows that no rule judges have met no watermark.
    no_time = "WARN operator=tens action=dropped reason=no_time time=none watermark=none"
    assert sorted(logged(spark, tmp_path, row_log=10)) == [
        f"WARN operator=tens action=dropped reason=early time=2024-01-01T00:00:17Z {met}",
        no_time,
        no_time,
        f"WARN operator=tens action=moved reason=out_of_order time=2024-01-01T00:00:10Z {met}",
    ]


def test_at_most_so_many_rows_are_logged_per_minute(spark: SparkSession, tmp_path: Path) -> None:
    assert len(logged(spark, tmp_path, row_log=2)) == 2


def test_each_operator_logs_so_many_rows(spark: SparkSession, tmp_path: Path) -> None:
    records = logged(spark, tmp_path, 1, "other")
    operators = [record.split()[1] for record in records]
    assert sorted(operators) == ["operator=other", "operator=tens"]


def test_rows_are_logged_by_default(spark: SparkSession, tmp_path: Path) -> None:
    assert len(logged(spark, tmp_path)) == 4


def test_a_log_of_no_rows_is_empty(spark: SparkSession, tmp_path: Path) -> None:
    assert logged(spark, tmp_path, row_log=0) == []
