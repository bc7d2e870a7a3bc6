"""A query over random keys, whose process may write only small files.

``python -m tests.end_to_end.support.programs.filling_disk FOLDER MOST`` reads the files in
``FOLDER/input`` and appends results to ``FOLDER/results.json``. A write beyond MOST bytes of a file
fails, as it does on a full disk. 0 sets no limit.
"""

import json
import resource
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.programs.sessions import small_session

SCHEMA = "key string, at timestamp"


def main(folder: Path, most: int) -> None:
    """Run the query over all input that no run has read."""
    spark = small_session(folder, "local[2]", **{"spark.log.level": "FATAL"})

    def keep(batch: DataFrame, number: int) -> None:
        rows = batch.select("key", F.hour("window.start"), "n").collect()
        found = [[number, *row] for row in rows]
        with (folder / "results.json").open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in found)

    rows = spark.readStream.schema(SCHEMA).parquet(str(folder / "input"))
    stream = transom.stream(rows, time=transom.EventTime("at", delay="0 seconds"))
    hours = stream.key_by("key").window(transom.Tumbling("1 hour"))
    query = (
        hours.agg(n=F.count("*"))
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
    )
    if most:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        pid = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
        for process in (0, pid):
            resource.prlimit(process, resource.RLIMIT_FSIZE, (most, most))
    query.start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
