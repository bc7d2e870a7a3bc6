"""Times small batches over many keys that have open windows, in the keyed layout.

``python -m benchmarks.open_keys``. The first batch opens a window for each key; then batches come
that touch 1,000 keys each. What one of those takes should not depend on how many keys are open.
"""

import os
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import transom
from benchmarks.queries.data import FIRST_EVENT_MICROS, SEED
from benchmarks.queries.once import run, session, source

TOUCHED = 1_000
BATCHES = 15
# Not counted: state that was written at once is still being put in order behind them.
FIRST_BATCHES = 5
SECOND = 1_000_000


def make(folder: Path, keys: int) -> None:
    """Write a file of a row for each key, then files of a row for each of 1,000 keys."""
    folder.mkdir()
    random = np.random.default_rng(SEED)
    touched = [random.choice(keys, TOUCHED, replace=False) for _ in range(BATCHES)]
    for number, chosen in enumerate([np.arange(keys), *touched]):
        times = np.full(len(chosen), FIRST_EVENT_MICROS + number * SECOND)
        table = pa.table(
            {
                "k": pa.array(chosen, pa.int64()),
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "v": np.ones(len(chosen)),
            }
        )
        file = folder / f"part-{number}.parquet"
        pq.write_table(table, file)
        # The file source takes files in the order of their times.
        os.utime(file, (1_700_000_000 + number,) * 2)


def batches_ms(spark: SparkSession, keys: int) -> list[int]:
    """Run all batches; the times of those that touch 1,000 keys."""
    work = Path(tempfile.mkdtemp(prefix="open-keys-"))
    try:
        make(work / "input", keys)
        days = transom.stream(source(spark, work / "input"), time="ts").key_by("k")
        windowed = days.window(transom.Tumbling(size="7 days")).options(layout="keyed")
        counts = windowed.agg(F.count("*").alias("n"), F.sum("v").alias("s"))
        query = run(counts.writeStream.outputMode("append").format("noop"), work)
        small = [p for p in query.recentProgress if p.numInputRows == TOUCHED][FIRST_BATCHES:]
        return [p.durationMs["triggerExecution"] for p in small]
    finally:
        shutil.rmtree(work)


def main() -> None:
    """Compare few open keys with many."""
    spark = session()
    # For the JVM to compile the code.
    batches_ms(spark, 5_000)
    # Few keys before and after, since the JVM goes on compiling.
    before, between, after = (batches_ms(spark, keys) for keys in (10_000, 1_000_000, 10_000))
    few, many = statistics.median(before + after), statistics.median(between)
    print(f"open keys: 10,000 {few:.0f} ms a batch, 1,000,000 {many:.0f} ms: {many / few:.2f}")
    spark.stop()


if __name__ == "__main__":
    main()
