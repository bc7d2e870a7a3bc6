"""A query whose tasks fail once. `test_retries` runs it in a JVM that tries each task twice.

``python -m tests.end_to_end.support.programs.retrying FOLDER`` prints as JSON the counts of the
window operator, summed over the batches, and the results of the windows. The file ``failed`` in
FOLDER shows that a task has failed.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.sessions import small_session

KEYS = 300


def main(folder: Path) -> None:
    """Fire windows over KEYS keys. A function that fails once reads their results."""
    spark = small_session(folder, "local[2,2]", **{"spark.log.level": "FATAL"})
    source = folder / "input"
    # The rows of the last batch are late: they are behind the watermark of the third batch.
    for second in (1_000_000_000, 1_000_000_100, 1_000_000_100, 1_000_000_050):
        rows = spark.range(KEYS).withColumn("time", F.timestamp_seconds(F.lit(second)))
        rows.coalesce(1).write.mode("append").parquet(str(source))
    failed = str(folder / "failed")

    @F.udf("long")  # type: ignore[untyped-decorator,unused-ignore]
    def raises_at_first(n: int) -> int:
        task = TaskContext.get()
        assert task is not None
        if task.attemptNumber() == 0:
            Path(failed).touch()
            raise ValueError("this task has not failed yet")
        return n

    counted = (
        transom.stream(
            spark.readStream.schema("id long, time timestamp")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(source)),
            time=transom.EventTime("time", delay="0 seconds"),
        )
        .key_by("id")
        .window(transom.Tumbling(size="10 seconds"))
        # A task has counted all rows of a key group before it emits a row.
        .options(key_groups=2)
        .agg(F.count("*").alias("n"))
        .withColumn("n", raises_at_first("n"))
        .observe("fired", F.count("*").alias("results"), F.sum("n").alias("rows"))
    )
    query = (
        counted.writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    totals: Counter[str] = Counter()
    for progress in query.recentProgress:
        for observed in progress.observedMetrics.values():
            # The other metrics of transom are no sums.
            sums = ("transom_rows_", "transom_windows_fired", "results", "rows")
            values = observed.asDict().items()
            totals.update({name: n or 0 for name, n in values if name.startswith(sums)})
    print(json.dumps(totals), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
