"""Runs one query of Nexmark on Spark once, in its own process, and prints its time as JSON.

``python -m benchmarks.nexmark.once q5 transom INPUT WORK``. With ``--brokers`` the query reads the
same events from Kafka's topics. With ``--write`` it writes the results into ``WORK/rows``.
"""

import argparse
import json
import time
from pathlib import Path

from benchmarks.kafka.jars import connector_jars
from benchmarks.nexmark import sources
from benchmarks.nexmark.data import rows
from benchmarks.nexmark.queries import QUERIES
from benchmarks.peers.spark_once import run, session


def main() -> None:
    """Run the query on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=QUERIES)
    parser.add_argument("peer", choices=["transom", "native", "read-only"])
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
        spark = session(jars=connector_jars())
        streams = [
            sources.from_kafka(spark, given.brokers, kind, rows(given.input, kind))
            for kind in query.kinds
        ]
    if given.peer == "read-only":
        result = sources.only_read(*streams)
    else:
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
