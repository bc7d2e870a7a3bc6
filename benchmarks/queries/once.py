"""Runs one query once, in a process of its own, and prints what came of it as JSON.

``python -m benchmarks.queries.once tumbling-10k theirs INPUT WORK``, with ``--hash`` to write the
rows and hash them instead of timing.
"""

import argparse
import hashlib
import json
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import transom
from benchmarks.queries.shapes import SHAPES

WATERMARK_DELAY = "5 seconds"
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def session() -> SparkSession:
    """Start Spark, with the same settings for both sides."""
    builder = SparkSession.builder.master("local[2]").appName("transom benchmark")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return transom.configure(builder).getOrCreate()


def source(spark: SparkSession, folder: Path) -> DataFrame:
    """Read the files as a stream, one a batch."""
    rows = (
        spark.readStream.schema("k long, ts timestamp, v double")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder))
    )
    return rows.withWatermark("ts", WATERMARK_DELAY)


def timed(result: DataFrame, work: Path) -> dict[str, object]:
    """Run the query into nothing."""
    writer = result.writeStream.outputMode("append").format("noop")
    started = time.perf_counter()
    run(writer, work)
    return {"seconds": time.perf_counter() - started}


def hashed(result: DataFrame, work: Path) -> dict[str, object]:
    """Run the query into files and hash its rows, in order of key, window and count."""
    flat = result.selectExpr("k", "window.start", "window.end", "n", "s")
    run(
        flat.writeStream.outputMode("append").format("parquet").option("path", str(work / "rows")),
        work,
    )
    rows = pa.concat_tables(pq.read_table(file) for file in (work / "rows").glob("*.parquet"))
    rows = rows.sort_by([(name, "ascending") for name in ("k", "start", "end", "n")])
    digest = hashlib.sha256()
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        digest.update(f"{name} {pc.count(column, mode='only_null')}".encode())
        digest.update(column.to_numpy(zero_copy_only=False).tobytes())
    return {"rows": rows.num_rows, "sha256": digest.hexdigest()}


def run(writer: DataStreamWriter, work: Path) -> StreamingQuery:
    """Run a query over all files there are, to its end."""
    checkpointed = writer.option("checkpointLocation", str(work / "checkpoint"))
    query = checkpointed.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def main() -> None:
    """Run the query that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("side", choices=["theirs", "ours"])
    parser.add_argument("input", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--hash", action="store_true")
    arguments = parser.parse_args()
    spark = session()
    query = getattr(SHAPES[arguments.name], arguments.side)
    result = query(source(spark, arguments.input))
    outcome = (hashed if arguments.hash else timed)(result, arguments.work)
    outcome["spark"] = spark.version
    print(json.dumps(outcome))
    spark.stop()


if __name__ == "__main__":
    main()
