"""Measures small batches over many keys that have open windows: ``make bench-open-keys``.

The first batch opens a window for each key. Each later batch touches 1,000 keys. The time of a
later batch should depend neither on the number of open keys nor on the number of earlier batches.
All runs take turns in one JVM, so that the JVM compiles no peer more than another.
``transom-keyed`` is transom with the keyed layout forced.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from benchmarks.peers.spark_once import run, session, source
from benchmarks.queries.data import FIRST_EVENT_MICROS, SEED
from benchmarks.record import Measurement, Record

TOUCHED = 1_000
BATCHES = 15
# Batches that are not counted: RocksDB still compacts the state of the first batch.
FIRST_BATCHES = 5
# Numbers of batches after which a long run is measured.
AGES = (25, 50, 100, 200)
AGED_KEYS = 100_000
SECOND = 1_000_000


def make(folder: Path, keys: int, batches: int) -> None:
    """Write a file with a row for each key, then files with a row for each of 1,000 keys."""
    folder.mkdir()
    random = np.random.default_rng(SEED)
    touched = [random.choice(keys, TOUCHED, replace=False) for _ in range(batches)]
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
        # The file source reads files in the order of their modification times.
        os.utime(file, (1_700_000_000 + number,) * 2)


PEERS = ("transom", "transom-keyed", "native")


def windows(rows: DataFrame, peer: str) -> DataFrame:
    """Count and sum in the windows of a peer."""
    totals = F.count("*").alias("n"), F.sum("v").alias("s")
    if peer == "native":
        return rows.groupBy("k", F.window("ts", "7 days")).agg(*totals)
    windowed = transom.stream(rows, time="ts").key_by("k").window(transom.Tumbling(size="7 days"))
    return windowed.options(layout="keyed" if peer == "transom-keyed" else "auto").agg(*totals)


def batches_ms(spark: SparkSession, peer: str, keys: int, batches: int = BATCHES) -> list[int]:
    """Run all batches, and return the times of the batches that touch 1,000 keys."""
    work = Path(tempfile.mkdtemp(prefix="open-keys-"))
    try:
        make(work / "input", keys, batches)
        windowed = windows(source(spark, work / "input", files=1), peer)
        query = run(windowed.writeStream.outputMode("append").format("noop"), work)
        taken = [p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows]
        return taken[1:]
    finally:
        shutil.rmtree(work)


def by_keys(spark: SparkSession, counts: Sequence[int], rounds: int) -> list[Measurement]:
    """Measure the time of a batch for each number of open keys."""
    taken: dict[tuple[int, str], list[int]] = {}
    for _ in range(rounds):
        for keys in counts:
            for peer in PEERS:
                found = batches_ms(spark, peer, keys)[FIRST_BATCHES:]
                taken.setdefault((keys, peer), []).extend(found)
    return [
        Measurement(
            query=f"open-keys/{keys}",
            peer=peer,
            rows=TOUCHED,
            parameters={"open_keys": keys, "batches": len(found)},
            figures={"batch_ms": statistics.median(found)},
        )
        for (keys, peer), found in taken.items()
    ]


def by_age(spark: SparkSession, ages: Sequence[int]) -> list[Measurement]:
    """Measure the time of a batch at each age: the median since the age before."""
    taken = {peer: batches_ms(spark, peer, AGED_KEYS, ages[-1]) for peer in PEERS}
    return [
        Measurement(
            query=f"state-age/{age}",
            peer=peer,
            rows=TOUCHED,
            parameters={"open_keys": AGED_KEYS, "batches": age},
            figures={"batch_ms": statistics.median(found[since:age])},
        )
        for peer, found in taken.items()
        for since, age in zip([FIRST_BATCHES, *ages], ages, strict=False)
    ]


def main() -> None:
    """Compare few open keys with many, and new state with old state."""
    parser = argparse.ArgumentParser(prog="benchmarks.open_keys", description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--ages", type=int, nargs="+", default=AGES)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    record = Record.begin()
    spark = session()
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", max(arguments.ages) + BATCHES)
    # The JVM compiles the code of each peer before the first measurement.
    for peer in PEERS:
        batches_ms(spark, peer, 5_000)
    record.measurements.extend(by_keys(spark, arguments.keys, arguments.rounds))
    record.save()
    record.measurements.extend(by_age(spark, arguments.ages))
    spark.stop()
    for one in record.measurements:
        print(f"{one.query} {one.peer}: {one.figures['batch_ms']:.0f} ms a batch")
    print(record.save())


if __name__ == "__main__":
    main()
