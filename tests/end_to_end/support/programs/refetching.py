"""A chain of two windows whose shuffle files are lost, so that Spark runs finished stages again.

``python -m tests.end_to_end.support.programs.refetching FOLDER`` prints as JSON the counts of each
window operator, summed over the batches, the open windows of the first one after the last batch
with rows, and the results. The file ``lost`` in FOLDER shows that files have been deleted.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.sessions import small_session

KEYS = 40


def main(folder: Path) -> None:
    """Sum up the results of windows in larger windows. Lose the files between them once."""
    # One task after the other: the second task of a stage reads files that the first deletes.
    spark = small_session(folder, "local[1]", **{"spark.log.level": "FATAL"})
    source = folder / "input"
    # The rows of the fourth batch are late: they are behind the watermark of the third batch. The
    # last batch closes all windows of the others.
    for second in (1_000_000_000, 1_000_000_100, 1_000_000_100, 1_000_000_010, 1_000_010_000):
        rows = spark.range(KEYS).withColumn("time", F.timestamp_seconds(F.lit(second)))
        rows.coalesce(1).write.mode("append").parquet(str(source))
    local, lost = folder / "local", folder / "lost"

    @F.udf("long")  # type: ignore[untyped-decorator,unused-ignore]
    def losing_files(n: int) -> int:
        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == 0 and not lost.exists():
            lost.touch()
            for file in local.rglob("shuffle_*"):
                file.unlink()
        return n

    rows = (
        spark.readStream.schema("id long, time timestamp")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(source))
    )
    tens = (
        transom.stream(rows, time=transom.EventTime("time", delay="0 seconds"))
        .key_by("id")
        .window(transom.Tumbling(size="10 seconds"))
        .options(name="tens")
        .agg(F.count("*").alias("n"))
    )
    minutes = (
        transom.stream(tens, time="window")
        .key_by("id")
        .window(transom.Tumbling(size="1 minute"))
        .options(name="minutes")
        .agg(F.sum("n").alias("n"))
        .withColumn("n", losing_files("n"))
    )
    found: list[int] = []

    def save(batch: DataFrame, _: int) -> None:
        found.extend(row["n"] for row in batch.collect())

    query = (
        minutes.writeStream.foreachBatch(save)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    counts: dict[str, Counter[str]] = {"tens": Counter(), "minutes": Counter()}
    for progress in query.recentProgress:
        for name, observed in progress.observedMetrics.items():
            values = observed.asDict().items()
            sums = ("transom_rows_", "transom_windows_fired")
            counts[name].update({each: n for each, n in values if n and each.startswith(sums)})
    print(json.dumps({"counts": counts, "results": found}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
