"""The query of `test_accounting`, killed while it runs. A test starts a process for each attempt.

``python -m tests.end_to_end.support.programs.accounting FOLDER`` reads FOLDER/input, one file in
each batch. It writes what a batch delivers into FOLDER/out/batch=N, and what it counts into
FOLDER/counts/N.json. FOLDER/kills.json is a list of [place, batch], see `crashing`.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import StreamingQueryProgress

from tests.end_to_end.policies.test_accounting import ACCEPTING, SCHEMA, windowed
from tests.end_to_end.support.programs.crashing import kill_if_due, passing, session, source
from tests.end_to_end.support.queries import Outcome


def save_counts(folder: Path, progress: list[StreamingQueryProgress]) -> None:
    """Write the counts of batches that have ended."""
    for batch in progress:
        counts = Outcome([], [], [batch], {}).observed()
        (folder / "counts" / f"{batch.batchId}.json").write_text(json.dumps(counts))


def main(folder: Path) -> None:
    """Run the query to its end, or to a kill."""
    (folder / "counts").mkdir(exist_ok=True)
    spark = session(folder)
    rows, jvm = source(spark, folder, SCHEMA)
    results = windowed(rows, ACCEPTING).withColumn(
        "place", passing("place", folder, "results", jvm)
    )

    def save(batch: DataFrame, batch_id: int) -> None:
        # The batches before this one have ended. The tasks of this one run while it is written.
        save_counts(folder, [p for q in spark.streams.active for p in q.recentProgress])
        kill_if_due(folder, "before sink", batch_id, jvm)
        batch.write.mode("overwrite").parquet(str(folder / "out" / f"batch={batch_id}"))
        kill_if_due(folder, "after sink", batch_id, jvm)

    query = (
        results.writeStream.foreachBatch(save)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    save_counts(folder, list(query.recentProgress))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
