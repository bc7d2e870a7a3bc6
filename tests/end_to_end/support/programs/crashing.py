"""A query that is killed while it runs. `test_crash` starts a process for each attempt.

``python -m tests.end_to_end.support.programs.crashing FOLDER WINDOW SINK LAYOUT`` reads
FOLDER/input, one file in each batch, and writes FOLDER/out. FOLDER/kills.json is a list of
[place, batch]. Each kill happens once.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import cast

from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.end_to_end.support.programs.sessions import small_session
from tests.end_to_end.windows.test_against_a_model import SCHEMA, WINDOWS, counted
from transom.spec import Layout

PARTITIONS = 2


def kill_if_due(folder: Path, place: str, batch: int, jvm: int) -> None:
    """Kill the JVM and this process if the plan has this place and batch."""
    kills = json.loads((folder / "kills.json").read_text())
    for number, kill in enumerate(kills):
        done = folder / f"killed-{number}"
        if kill == [place, batch] and not done.exists():
            done.touch()
            os.kill(jvm, signal.SIGKILL)
            os._exit(1)


def passing(column: str, folder: Path, place: str, jvm: int) -> Column:
    """An unchanged column. Computing it may kill the JVM."""

    def unchanged(value: str | None) -> str | None:
        task = TaskContext.get()
        assert task is not None
        batch = task.getLocalProperty("streaming.sql.batchId")
        # One task runs at a time, so the first partition has committed its state by now.
        if place != "results" or task.partitionId() == PARTITIONS - 1:
            kill_if_due(folder, place, int(batch or -1), jvm)
        return value

    return F.udf(unchanged, returnType="string")(column)


def session(folder: Path) -> SparkSession:
    """A session whose tasks run one after the other."""
    settings = {
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        # In Spark 4.2.0 a Python function directly above a vectorized Parquet scan never returns.
        "spark.sql.parquet.enableVectorizedReader": "false",
    }
    return small_session(folder, "local[1]", **settings)


def source(spark: SparkSession, folder: Path, schema: str) -> tuple[DataFrame, int]:
    """The rows of FOLDER/input, a file in each batch, and the process id of the JVM."""
    assert spark.sparkContext._jvm is not None
    jvm: int = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    rows = (
        spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "input"))
        .withColumn("key", passing("key", folder, "input", jvm))
    )
    return rows, jvm


def main(folder: Path, window: str, sink: str, layout: Layout) -> None:
    """Run the query to its end, or to a kill."""
    spark = session(folder)
    rows, jvm = source(spark, folder, SCHEMA)
    pipeline = counted(WINDOWS[window][0], layout)
    results = pipeline(rows).withColumn("tag", passing("tag", folder, "results", jvm))

    def save(batch: DataFrame, batch_id: int) -> None:
        kill_if_due(folder, "before sink", batch_id, jvm)
        batch.write.mode("overwrite").parquet(str(folder / "out" / f"batch={batch_id}"))
        kill_if_due(folder, "after sink", batch_id, jvm)

    described = {
        "files": lambda writer: writer.format("parquet").option("path", str(folder / "out")),
        "batches": lambda writer: writer.foreachBatch(save),
    }[sink](results.writeStream)
    query = (
        described.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], cast("Layout", sys.argv[4]))
