"""The table of the page on corrections, when batches are repeated and when rows come late."""

import sqlite3
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.documents.pages import blocks
from tests.end_to_end.support.sessions import Reason, skip_in_connect

PAGE = Path(__file__).parents[3] / "docs/how-to/results/corrections.md"
Merge = Callable[[DataFrame, int], None]


@pytest.fixture(scope="module")
def page(spark: SparkSession) -> dict[str, Any]:
    """The variables of the program on the page, after it has run."""
    skip_in_connect(Reason.PROCESS)
    code, _ = next((code, shown) for code, shown in blocks(PAGE) if "def merge" in code)
    names: dict[str, Any] = {"spark": spark}
    with redirect_stdout(StringIO()):
        exec(compile(code, PAGE.name, "exec"), names)
    return names


def table(
    page: dict[str, Any], database: Path, results: DataFrame, merge: Merge
) -> list[tuple[Any, ...]]:
    """The rows of a new table, after a run that hands its batches to a function."""
    with sqlite3.connect(database) as made:
        made.execute(
            "create table sessions (user text, start text, end text, clicks int,"
            " primary key (user, start, end))"
        )
    page["database"] = str(database)
    writer = results.writeStream.foreachBatch(merge).trigger(availableNow=True)
    writer.option("checkpointLocation", f"{database}-checkpoint").start().awaitTermination()
    with sqlite3.connect(database) as made:
        return made.execute("select * from sessions order by user, start").fetchall()


def test_a_repeated_batch_gives_the_same_table(page: dict[str, Any], tmp_path: Path) -> None:
    def merge_twice(changes: DataFrame, batch_id: int) -> None:
        kept = changes.persist()
        page["merge"](kept, batch_id)
        page["merge"](kept, batch_id)
        kept.unpersist()

    once = table(page, tmp_path / "once.db", page["sessions"], page["merge"])
    assert [(row[0], row[3]) for row in once] == [("ann", 3), ("bob", 1)]
    assert table(page, tmp_path / "twice.db", page["sessions"], merge_twice) == once


def test_the_function_corrects_a_window_for_a_late_row(
    page: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    def arrive(*times: str) -> None:
        rows = [("ann", time) for time in times]
        clicks = spark.createDataFrame(rows, "user string, at string")
        clicks.coalesce(1).write.mode("append").csv(f"{tmp_path}/clicks")

    for times in (["12:00", "12:03"], ["13:00"], ["12:05", "13:10"]):
        arrive(*(f"2024-01-01 {time}" for time in times))
    clicks = spark.readStream.schema("user string, at timestamp").option("maxFilesPerTrigger", 1)
    clock = transom.EventTime("at", delay="0 seconds")
    stream = transom.stream(clicks.csv(f"{tmp_path}/clicks"), time=clock).key_by("user")
    tens = stream.window(transom.Tumbling("10 minutes")).allowed_lateness("2 hours").retract()
    counts = tens.agg(F.count("*").alias("clicks"))
    found = table(page, tmp_path / "late.db", counts, page["merge"])
    assert found[0] == ("ann", "2024-01-01 12:00:00", "2024-01-01 12:10:00", 3)
