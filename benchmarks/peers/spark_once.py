"""Runs one query of a peer on Spark once, in its own process, and prints its time as JSON.

``python -m benchmarks.peers.spark_once tumbling-10k native INPUT WORK``. With ``--write`` the query
writes the results into ``WORK/rows``. Otherwise they are discarded.
"""

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import transom
from benchmarks.peers import by_hand, spark_queries
from benchmarks.queries.catalogue import QUERIES, Query
from benchmarks.queries.data import SMALL_BATCH_ROWS

WATERMARK_DELAY = "5 seconds"
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
PEERS = {
    "transom": spark_queries.with_transom,
    "connect": spark_queries.with_transom,
    "event-time": spark_queries.event_time,
    "one-watermark": spark_queries.one_watermark,
    "one-minute": spark_queries.one_minute,
    "three-queries": spark_queries.with_transom,
    "native": spark_queries.native,
    "python": by_hand.with_state,
    "applyInPandas": by_hand.in_pandas,
    "pass-through": spark_queries.pass_through,
    "batch": spark_queries.batch,
}


def session(
    cores: int = 2,
    jars: Sequence[Path] = (),
    heap_gb: int = 4,
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    connect: bool = False,
) -> SparkSession:
    """Start Spark with the settings that all peers share, and with additional jars and settings.

    With `connect` it is a Connect session, whose server runs in this process.
    """
    builder = SparkSession.builder.appName("transom benchmark")
    master = f"local[{cores}]"
    builder = builder.remote(master) if connect else builder.master(master)
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.shuffle.partitions", cores)
    builder = builder.config("spark.driver.memory", f"{heap_gb}g")
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    return transom.configure(builder).getOrCreate()


def source(
    spark: SparkSession,
    folder: Path,
    files: int,
    schema: str = "k long, ts timestamp, v double",
    delay: str | None = WATERMARK_DELAY,
) -> DataFrame:
    """Read the files as a stream with a number of files in each batch, with Spark's watermark."""
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", files)
    rows = reader.parquet(str(folder))
    return rows if delay is None else rows.withWatermark("ts", delay)


def run(writer: DataStreamWriter, work: Path) -> StreamingQuery:
    """Run a query over all existing files, to its end."""
    checkpointed = writer.option("checkpointLocation", str(work / "checkpoint"))
    query = checkpointed.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def flat(result: DataFrame, query: Query, peer: str) -> DataFrame:
    """Return a result with the columns that all peers write."""
    if query.late_rows and peer == "transom":
        result = transom.untag(result, "results")
    ids = [name for name in result.columns if name == "window_id"]
    return result.selectExpr("k", "window.start", "window.end", *query.aggregates, *ids)


def streamed(result: DataFrame, work: Path, *, write: Path | None) -> dict[str, float]:
    """Run a query as a stream, and return percentiles of its small batches, if there are any."""
    writer = result.writeStream.outputMode("append")
    to = writer.format("noop") if write is None else writer.format("parquet")
    query = run(to if write is None else to.option("path", str(write)), work)
    small = [p for p in query.recentProgress if p.numInputRows == SMALL_BATCH_ROWS]
    taken = sorted(p.durationMs["triggerExecution"] for p in small)
    if len(taken) < 2:
        return {}
    centiles = statistics.quantiles(taken, n=100, method="inclusive")
    return {"batch_ms_p50": centiles[49], "batch_ms_p99": centiles[98]}


def planned(
    spark: SparkSession, query: Query, peer: str, folder: Path, files: int, *, written: bool
) -> DataFrame:
    """Return the plan of a peer's query. If `written`, it has the columns that all peers write."""
    schema = query.input(0, files).schema
    if peer == "batch":
        rows = spark.read.schema(schema).parquet(str(folder))
    else:
        has_policy = query.policy is not None and peer in ("transom", "one-watermark")
        rows = source(spark, folder, files, schema, None if has_policy else WATERMARK_DELAY)
    result = PEERS[peer](rows, query)
    return flat(result, query, peer) if written else result


def plans(
    spark: SparkSession, query: Query, peer: str, folder: Path, files: int, *, written: bool
) -> dict[str, DataFrame]:
    """Return the plans that a peer runs one after the other, by the folders of their files.

    A peer has one plan, in the folder of the run itself. The peer ``three-queries`` has a plan for
    each window.
    """
    if peer != "three-queries":
        return {".": planned(spark, query, peer, folder, files, written=written)}
    found = {}
    for name, window in query.windows.items():
        alone = replace(query, window=window)
        result = planned(spark, alone, peer, folder, files, written=written)
        found[name] = result.withColumn("window_id", F.lit(name)) if written else result
    return found


def executed(result: DataFrame, work: Path, *, write: Path | None) -> dict[str, float]:
    """Run a streaming or static plan to its end, and return the figures of `streamed`."""
    if result.isStreaming:
        return streamed(result, work, write=write)
    if write is None:
        result.write.format("noop").mode("overwrite").save()
    else:
        result.write.parquet(str(write))
    return {}


def main() -> None:
    """Run the query on the command line, and time all its plans together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=QUERIES)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("input", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--files", type=int, required=True, help="files of a batch")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--heap", type=int, default=4, help="GB of heap")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    spark = session(given.cores, heap_gb=given.heap, connect=given.peer == "connect")
    query = QUERIES[given.name]
    results = plans(spark, query, given.peer, given.input, given.files, written=given.write)
    figures: dict[str, float] = {}
    if query.warmed_up and not given.write:
        warm_up = given.work / "warm-up"
        for name, result in results.items():
            executed(result, warm_up / name, write=None)
        shutil.rmtree(warm_up, ignore_errors=True)
    started = time.perf_counter()
    for name, result in results.items():
        write = given.work / "rows" / name if given.write else None
        figures |= executed(result, given.work / name, write=write)
    print(json.dumps({"seconds": time.perf_counter() - started, "figures": figures}))
    spark.stop()


if __name__ == "__main__":
    main()
