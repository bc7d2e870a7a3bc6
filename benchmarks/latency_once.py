"""The peers of ``benchmarks.latency`` on Spark: Spark's own windows, and transom with two clocks.

``python -m benchmarks.latency_once transom FOLDER``. Runs until it is killed. All peers have the
state store that `transom.configure` sets. All but ``native`` also have its file system for
checkpoints.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from benchmarks.peers.spark_once import session

PEERS = ("transom", "transom-policy", "native", "native-configured")
# The file system that checkpoints on a local disk have without `transom.configure`.
DEFAULT_FILE_SYSTEM = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs"
}


def windows(rows: DataFrame, peer: str) -> DataFrame:
    """Count by key in windows of a second."""
    count = F.count("*").alias("n")
    if peer == "transom-policy":
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
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    spark = session(settings=DEFAULT_FILE_SYSTEM if arguments.peer == "native" else {})
    rows = spark.readStream.schema("k long, ts timestamp").parquet(str(arguments.folder))
    results = windows(rows, arguments.peer)
    with TemporaryDirectory(dir=arguments.folder.parent) as checkpoint:
        writer = results.writeStream.foreachBatch(print_counts)
        query = writer.option("checkpointLocation", checkpoint).start()
        print("ready", flush=True)
        query.awaitTermination()


if __name__ == "__main__":
    main()
