"""The peers of ``benchmarks.latency`` on Spark: Spark's own windows, and transom with two clocks.

``python -m benchmarks.latency_once transom FOLDER``. Runs until it is killed. All peers have the
settings of `transom.configure`, but for those that `SETTINGS` takes back. Each second, a peer also
prints how many milliseconds each phase of its last batch with rows took.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from benchmarks.peers.spark_once import session

_DEFAULT_FILES = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs"
}
_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb"
# The settings of each peer that differ from those of `transom.configure`.
SETTINGS = {
    "transom": {},
    "transom-policy": {},
    "transom-policy-default-files": _DEFAULT_FILES,
    "transom-policy-snapshots": {f"{_ROCKSDB}.changelogCheckpointing.enabled": "false"},
    "transom-policy-counted": {f"{_ROCKSDB}.trackTotalNumberOfRows": "true"},
    "native": _DEFAULT_FILES,
    "native-configured": {},
}


def windows(rows: DataFrame, peer: str) -> DataFrame:
    """Count by key in windows of a second."""
    count = F.count("*").alias("n")
    if peer.startswith("transom-policy"):
        # Times rise, so they are the order of the rows, and the watermark needs no tolerance.
        stream = transom.stream(rows, time=transom.TimePolicy("ts"), order="ts")
    else:
        rows = rows.withWatermark("ts", "0 seconds")
        if peer.startswith("native"):
            return rows.groupBy("k", F.window("ts", "1 second")).agg(count)
        stream = transom.stream(rows, time="ts")
    return stream.key_by("k").window(transom.Tumbling(size="1 second")).agg(count)


def print_counts(results: DataFrame, _: int) -> None:
    """Print the windows that a batch fired."""
    found = results.select(F.unix_micros("window.end").alias("end"), "n").collect()
    counted: dict[int, int] = {}
    for row in found:
        counted[row["end"]] = counted.get(row["end"], 0) + row["n"]
    for end, count in counted.items():
        print(end, count, flush=True)


def main() -> None:
    """Read the folder until this process is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=SETTINGS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    spark = session(settings=SETTINGS[arguments.peer])
    rows = spark.readStream.schema("k long, ts timestamp").parquet(str(arguments.folder))
    results = windows(rows, arguments.peer)
    with TemporaryDirectory(dir=arguments.folder.parent) as checkpoint:
        writer = results.writeStream.foreachBatch(print_counts)
        query = writer.option("checkpointLocation", checkpoint).start()
        print("ready", flush=True)
        while not query.awaitTermination(1):
            batch = query.lastProgress
            if batch and batch.numInputRows:
                for phase, taken in batch.durationMs.items():
                    print(phase, taken, flush=True)


if __name__ == "__main__":
    main()
