"""The setup of Flink in the benchmarks: its environment, its input, and the timing of a query."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileEnumeratorProvider, FileSource
from pyflink.datastream.connectors.hybrid_source import HybridSource
from pyflink.datastream.formats.parquet import ParquetColumnarRowInputFormat
from pyflink.table import DataTypes, StreamTableEnvironment, TableResult

CHECKPOINT_SECONDS = 10
# Memory outside of the heap, for RocksDB and for sorting. The share is Flink's default.
MANAGED_MB_PER_HEAP_GB = 400
TYPES = {"BIGINT": DataTypes.BIGINT, "DOUBLE": DataTypes.DOUBLE, "STRING": DataTypes.STRING}


def environment(job: dict[str, Any]) -> StreamExecutionEnvironment:
    """Set up Flink in one JVM, with a slot for each core, and checkpoints.

    Managed memory grows with the heap, which is 4 GB by default.
    """
    work = Path(job["work"])
    managed = MANAGED_MB_PER_HEAP_GB * job.get("heap_gb", 4)
    config = Configuration()
    for name, value in {
        "parallelism.default": str(job["cores"]),
        "taskmanager.numberOfTaskSlots": str(job["cores"]),
        "taskmanager.memory.managed.size": f"{managed}m",
        "state.backend.type": job["backend"],
        "state.backend.rocksdb.localdir": str(work / "state"),
        "execution.checkpointing.interval": f"{CHECKPOINT_SECONDS} s",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": (work / "checkpoint").as_uri(),
        "table.local-time-zone": "UTC",
    }.items():
        config.set_string(name, value)
    return StreamExecutionEnvironment.get_execution_environment(config)


def events(env: StreamExecutionEnvironment, job: dict[str, Any]) -> DataStream:
    """Read the rows of all files, batch by batch.

    Flink's file source reads files in any order, which would make rows late. The files of a batch
    hold its rows in turn. So one reader for each file reads them at the same time, and the next
    batch follows when all have ended. With fewer readers than files of a batch, rows would be late,
    because one file would be read before the other.
    """
    files = sorted(str(file) for file in Path(job["input"]).glob("*.parquet"))
    each = job["files_per_batch"]
    batches = [files[first : first + each] for first in range(0, len(files), each)]
    return _one_after_another(env, job["reads"], batches)


def answer(tables: StreamTableEnvironment, job: dict[str, Any]) -> dict[str, Any]:
    """Run the query of a job, and return the seconds with the cluster and of the job alone."""
    tables.execute_sql(f"CREATE TABLE results ({job['columns']}) {sink(job)}")
    return timed(lambda: tables.execute_sql(f"INSERT INTO results {job['select']}"))


def timed(start: Callable[[], TableResult]) -> dict[str, Any]:
    """Run a job to its end, and return the seconds with the cluster and of the job alone."""
    started = time.perf_counter()
    running = start()
    running.wait()
    seconds = time.perf_counter() - started
    client = running.get_job_client()
    assert client is not None
    alone = client.get_job_execution_result().result().get_net_runtime() / 1000
    return {"seconds": seconds, "figures": {"job_seconds": alone}}


def sink(job: dict[str, Any]) -> str:
    """Return the sink for CREATE TABLE: files, or a sink that discards all rows."""
    if not job["write"]:
        return "WITH ('connector' = 'blackhole')"
    rows = (Path(job["work"]) / "rows").as_uri()
    return f"WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{rows}')"


def _one_after_another(
    env: StreamExecutionEnvironment, reads: dict[str, str], batches: list[list[str]]
) -> DataStream:
    row = DataTypes.ROW([DataTypes.FIELD(name, TYPES[type_]()) for name, type_ in reads.items()])
    parquet = ParquetColumnarRowInputFormat(row, is_utc_timestamp=True)
    # The default splits files every 32 MiB.
    whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    first, *rest = (
        FileSource.for_bulk_file_format(parquet, *batch).set_file_enumerator(whole).build()
        for batch in batches
    )
    builder = HybridSource.builder(first)
    for source in rest:
        builder = builder.add_source(source)
    # Python's from_source accepts no type of the JVM, and a hybrid source has no type of its own.
    rows = env._j_stream_execution_environment.fromSource(
        builder.build().get_java_function(),
        WatermarkStrategy.no_watermarks()._j_watermark_strategy,
        "files",
        parquet._j_bulk_format.getProducedType(),
    )
    return DataStream(j_data_stream=rows)
