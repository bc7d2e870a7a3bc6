"""One run of a query: from its checkpoint to the end of its input, or to a crash.

``python -m tests.end_to_end.restarts.crashes.runs FOLDER KIND SINK NUMBER WHEN`` runs a query in a
JVM that halts before or after its NUMBER-th durable write. With NUMBER 0 it runs to its end.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.restarts.crashes.kinds import KINDS, SCHEMA
from tests.end_to_end.support.file_system import with_quick_files
from tests.end_to_end.support.queries import parse_schema
from transom.tagged import Writer

ROOT = Path(__file__).parents[4]
SINKS = ("files", "batches")
# Settings of a session whose durable writes can crash, one after the other.
CRASHING = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.checkpointFileManagerClass": "transom.crashing.CrashingFileManager",
    # In Spark 4.2.0 a Python function directly above a vectorized Parquet scan never returns.
    "spark.sql.parquet.enableVectorizedReader": "false",
}
STARTS = "query starts in process"
ENDS = "query ended"
FILES = 4
_ROWS_OF_A_FILE = 40
_LONGEST_RUN = 300
_FIRST_MODIFIED = 1_700_000_000
_FIRST_HOUR = datetime(2013, 1, 1, 5)

# Key, time and value.
InputRow = tuple[str, datetime, int]


def session(local: Path) -> SparkSession:
    """A session whose durable writes can crash."""
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.local.dir", str(local))
        .config("spark.driver.memory", "1g")
        .config("spark.sql.session.timeZone", "UTC")
        .config(map=dict(CRASHING))
    )
    return transom.configure(with_quick_files(builder)).getOrCreate()


class Crashes:
    """The crashes of a session's JVM."""

    def __init__(self, spark: SparkSession) -> None:
        assert spark._jvm is not None
        self._plan = spark._jvm.transom.crashing.CrashPlan

    def arm(self, number: int, *, is_after: bool, halts: bool = False) -> None:
        """Let the next run crash at a durable write, or at none if the number is 0."""
        self._plan.arm(number, is_after, halts)

    def writes(self) -> list[str]:
        """The durable writes since `arm`."""
        return str(self._plan.names()).split("\n")

    def has_crashed(self) -> bool:
        """Whether the planned crash has happened."""
        return bool(self._plan.hasCrashed())

    def passed(self, name: str) -> None:
        """Count a step of a sink like a durable write."""
        self._plan.passed(name)


def write_input(folder: Path) -> None:
    """Write a file for each batch.

    Times rise from file to file, so that rows on time are on time however files are put into
    batches. The last two rows are late by three hours, so they are late in any case.
    """
    folder.mkdir(parents=True)
    chosen = random.Random(7)
    for number in range(FILES):
        start = _FIRST_HOUR + timedelta(hours=number)
        rows: list[InputRow] = [
            (
                chosen.choice("abc"),
                start + timedelta(minutes=chosen.randrange(60)),
                chosen.randrange(100),
            )
            for _ in range(_ROWS_OF_A_FILE)
        ]
        if number == FILES - 1:
            rows += [("a", _FIRST_HOUR + timedelta(minutes=minute), 7) for minute in (1, 2)]
        _write_file(folder, number, rows)


def write_next_file(folder: Path) -> Path:
    """Write one more file, whose row is a day later than the others; returns its path."""
    return _write_file(folder, FILES, [("a", _FIRST_HOUR + timedelta(days=1), 1)])


def _write_file(folder: Path, number: int, rows: Sequence[InputRow]) -> Path:
    first = _ROWS_OF_A_FILE * number
    table = pa.table(
        {
            "number": pa.array(range(first, first + len(rows)), pa.int32()),
            "key": [key for key, _, _ in rows],
            "time": pa.array([time for _, time, _ in rows], pa.timestamp("us", tz="UTC")),
            "value": pa.array([value for _, _, value in rows], pa.int32()),
        }
    )
    path = folder / f"{number}.parquet"
    pq.write_table(table, path)
    os.utime(path, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))
    return path


def run(spark: SparkSession, kind: str, sink: str, folder: Path) -> None:
    """Run a query from its checkpoint to its end. Raises the error that ends it.

    The function of ``foreachBatch`` overwrites the folder of its batch, as the page on guarantees
    recommends.

    Parameters
    ----------
    spark : SparkSession
        From `session`.
    kind : str
        One of `KINDS`.
    sink : str
        "files" for the file sink, "batches" for ``foreachBatch``.
    folder : Path
        Has the input; gets the checkpoint and the output.
    """
    crashes = Crashes(spark)
    rows = (
        spark.readStream.schema(parse_schema(SCHEMA))
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "input"))
    )
    writer = KINDS[kind].query(rows).writeStream

    def save_as(tag: str) -> Writer:
        def save(batch: DataFrame, batch_id: int) -> None:
            target = folder / "out" / f"tag={tag}" / f"batch={batch_id}"
            crashes.passed(f"{tag}/before")
            batch.write.mode("overwrite").parquet(str(target))
            crashes.passed(f"{tag}/after")

        return save

    if sink == "files":
        writer = writer.format("parquet").option("path", str(folder / "out"))
    elif KINDS[kind].side:
        tags = ("results", *KINDS[kind].side)
        writer = writer.foreachBatch(transom.route(**{tag: save_as(tag) for tag in tags}))
    else:
        writer = writer.foreachBatch(save_as("results"))
    query = (
        writer.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(_LONGEST_RUN)
    finally:
        query.stop()


def output(spark: SparkSession, kind: str, sink: str, folder: Path) -> Counter[str]:
    """Return the part of a query's output in which two runs must agree."""

    def rows_of(tag: str) -> list[Row]:
        written = folder / "out" / f"tag={tag}" if sink == "batches" else folder / "out"
        if not written.exists():
            return []
        # The number of a batch is a column by the name of its folder.
        rows = spark.read.parquet(str(written)).drop("batch")
        is_tagged = sink == "files" and KINDS[kind].side
        return (transom.untag(rows, tag) if is_tagged else rows).collect()

    written = KINDS[kind].compared(rows_of("results"))
    for tag, columns in KINDS[kind].side.items():
        written.update(f"{tag} {[row[column] for column in columns]}" for row in rows_of(tag))
    return written


def main(folder: Path, kind: str, sink: str, number: int, when: str) -> None:
    """Run once in this process, and print when the query starts and when it has ended."""
    spark = session(folder / "local")
    assert spark._jvm is not None
    Crashes(spark).arm(number, is_after=when == "after", halts=True)
    print(STARTS, spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
    try:
        run(spark, kind, sink, folder)
    except StreamingQueryException as error:
        print(error)
    print(ENDS, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
