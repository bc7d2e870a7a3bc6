"""Runs one query of Nexmark on Spark once, in a process of its own, and prints its time as JSON.

``python -m benchmarks.nexmark.once q5 transom INPUT WORK``; with ``--brokers`` it reads Kafka's
topics that hold the same events, with ``--write`` it writes the results into ``WORK/rows``.
"""

import argparse
import json
import time
from pathlib import Path

from benchmarks.nexmark import kafka, sources
from benchmarks.nexmark.data import rows
from benchmarks.nexmark.queries import QUERIES
from benchmarks.peers.spark_once import run, session


def main() -> None:
    """Run the query that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=QUERIES)
    parser.add_argument("peer", choices=["transom", "native"])
    parser.add_argument("input", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--brokers")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    query = QUERIES[given.name]
    if given.brokers is None:
        spark = session()
        streams = [sources.from_files(spark, given.input, kind) for kind in query.kinds]
    else:
        spark = session(jars=kafka.connector_jars())
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
