"""The table of the page on corrections: repeated batches, late rows, null keys and final rows."""

import sqlite3
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.documents.pages import blocks
from tests.end_to_end.support.sessions import Reason, skip_in_connect

PAGE = Path(__file__).parents[3] / "docs/how-to/results/corrections.md"
Merge = Callable[[DataFrame, int], None]
LATENESS = timedelta(minutes=20)
CREATE = (
    "create table sessions (user text, start text, end text, clicks int,"
    " primary key (user, start, end))"
)


@pytest.fixture(scope="module")
def page(spark: SparkSession) -> dict[str, Any]:
    """The variables of the program on the page, after it has run."""
    skip_in_connect(Reason.PROCESS)
    code = "".join(block.code for block in blocks(PAGE))
    names: dict[str, Any] = {"spark": spark}
    with redirect_stdout(StringIO()):
        exec(compile(code, PAGE.name, "exec"), names)
    return names


def table(
    page: dict[str, Any], database: Path, results: DataFrame, merge: Merge
) -> list[tuple[Any, ...]]:
    """The rows of a new table, after a run that hands its batches to a function."""
    with sqlite3.connect(database) as made:
        made.execute(CREATE)
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "trigger",
    [transom.AfterWatermark(early=transom.AfterCount(1)), transom.EveryBatch()],
    ids=lambda trigger: type(trigger).__name__,
)
def test_the_table_has_all_sessions_and_final_rows_do_not_change(
    page: dict[str, Any], spark: SparkSession, tmp_path: Path, trigger: transom.Trigger
) -> None:
    folder = tmp_path / "clicks"
    folder.mkdir()
    read = spark.readStream.schema("user string, at timestamp").csv(str(folder))
    stream = transom.stream(read, time=transom.EventTime("at", delay="5 minutes")).key_by("user")
    # No row is late: none is more than 20 minutes behind, and the lateness is as long.
    windows = stream.window(transom.Session("3 minutes")).allowed_lateness(LATENESS)
    results = windows.trigger(trigger).retract().agg(F.count("*").alias("clicks"))
    page["database"] = str(tmp_path / "sessions.db")
    final: set[tuple[Any, ...]] = set()
    with sqlite3.connect(page["database"]) as connection:
        connection.execute(CREATE)
        writer = results.writeStream.foreachBatch(page["merge"])
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            for batch in batches():
                rows = spark.createDataFrame(batch, "user string, at string")
                rows.coalesce(1).write.mode("append").csv(str(folder))
                query.processAllAvailable()
                found = set(connection.execute("select * from sessions").fetchall())
                assert final <= found
                watermark = transom.metrics(query).watermark
                assert watermark is not None
                closed = f"{watermark - LATENESS:%Y-%m-%d %H:%M:%S}"
                final |= {row for row in found if row[2] <= closed}
        finally:
            query.stop()
    clicks = spark.read.schema("user string, at timestamp").csv(str(folder))
    bounds = [F.col(f"session.{name}").cast("string") for name in ("start", "end")]
    sessions = clicks.groupBy("user", F.session_window("at", "3 minutes").alias("session")).count()
    assert found == {tuple(row) for row in sessions.select("user", *bounds, "count").collect()}
    assert len({user for user, *_ in final}) == 3
    assert 10 < len(final) < len(found)


def batches() -> list[list[tuple[str | None, str]]]:
    """Ten batches of fifteen clicks, one each minute, and up to 20 minutes old."""
    chosen = Random(2)
    start = datetime(2024, 1, 1, 12)
    clicks = [
        (
            chosen.choice(["ann", "bob", None]),
            str(start + timedelta(minutes=minute - chosen.randrange(20))),
        )
        for minute in range(150)
    ]
    return [clicks[at : at + 15] for at in range(0, len(clicks), 15)]
