"""Runs one query of Nexmark on Spark once, in a process of its own, and prints its time as JSON.

``python -m benchmarks.nexmark.once q5 transom INPUT WORK``; with ``--brokers`` it reads Kafka's
topics that hold the same events, with ``--write`` it writes the results into ``WORK/rows``.
"""

import argparse
import json
import time
from pathlib import Path

from pyspark.sql import SparkSession

import transom
from benchmarks.nexmark import kafka, sources
from benchmarks.nexmark.data import rows
from benchmarks.nexmark.queries import QUERIES
from benchmarks.peers.spark_once import SETTINGS, run


def session(cores: int = 2, jars: list[Path] | None = None) -> SparkSession:
    """Start Spark, with the settings that all benchmarks have, and more jars."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName("transom Nexmark")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.shuffle.partitions", cores)
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    return transom.configure(builder).getOrCreate()


def main() -> None:
    """Run the query that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=QUERIES)
    parser.add_argument("peer", choices=["transom", "native"])
    parser.add_argument("input", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--brokers")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    query = QUERIES[given.name]
    if given.brokers is None:
        spark = session(given.cores)
        streams = [sources.from_files(spark, given.input, kind) for kind in query.kinds]
    else:
        spark = session(given.cores, kafka.connector_jars())
        streams = [
            sources.from_kafka(spark, given.brokers, kind, rows(given.input, kind))
            for kind in query.kinds
        ]
    result = getattr(query, given.peer)(*streams)
    writer = result.writeStream.outputMode("append")
    if given.write:
        writer = writer.format("parquet").option("path", str(given.work / "rows"))
    else:
        writer = writer.format("noop")
    started = time.perf_counter()
    run(writer, given.work)
    print(json.dumps({"seconds": time.perf_counter() - started}))
    spark.stop()


if __name__ == "__main__":
    main()
