"""Measures what Spark spends on reading Kafka and on parsing records: ``make bench-kafka``.

The records are the bids of Nexmark. First Spark parses them in several formats, from bytes in
Parquet files, and must return them as they were. Then Spark reads a topic with polls of two sizes,
and parses nothing. All runs take turns in one JVM, on two cores. A figure is CPU time of this JVM,
so that other processes matter less.

Environment
-----------
BENCH_ROWS
    Events of Nexmark, 10,000,000 unless set. 46 in 50 are bids.
BENCH_REPEATS
    Timed runs of each size and format, 3 unless set.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from benchmarks.kafka.broker import broker
from benchmarks.kafka.jars import avro_jars, connector_jars
from benchmarks.kafka.topics import make_topics
from benchmarks.markdown import table
from benchmarks.nexmark import feed
from benchmarks.nexmark.data import CLOSING_ID, FILES_PER_BATCH, Input
from benchmarks.nexmark.sources import MOST_POLLED, topic
from benchmarks.peers.spark_once import session

BUILD = Path("build/bench/nexmark")
# Records that a call of a consumer returns at most, unless it is set.
DEFAULT_POLLED = "500"
Name = TypeVar("Name", bound=Hashable)
# Times are milliseconds in all formats.
COLUMNS = {"auction": "long", "bidder": "long", "price": "long", "date_time": "long"}
COLUMNS |= {"extra": "string"}
SCHEMA = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
AVRO_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "bid",
        "fields": [{"name": name, "type": type_} for name, type_ in COLUMNS.items()],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of records.

    Attributes
    ----------
    write : callable
        Returns the record of a bid, which is a struct.
    parse : callable
        Returns the bid of a record, or some of its fields.
    """

    write: Callable[[Column], Column]
    parse: Callable[[Column], Column]


def _split(value: Column) -> Column:
    parts = F.split(value.cast("string"), ",")
    return F.struct(
        *(
            parts[number].cast(type_).alias(name)
            for number, (name, type_) in enumerate(COLUMNS.items())
        )
    )


FORMATS = {
    "JSON": Format(write=F.to_json, parse=lambda value: F.from_json(value.cast("string"), SCHEMA)),
    "JSON, two fields": Format(
        write=F.to_json,
        parse=lambda value: F.from_json(value.cast("string"), "auction long, date_time long"),
    ),
    "CSV": Format(write=F.to_csv, parse=lambda value: F.from_csv(value.cast("string"), SCHEMA)),
    "CSV, split": Format(write=F.to_csv, parse=_split),
    "Avro": Format(
        write=lambda bid: to_avro(bid, AVRO_SCHEMA),
        parse=lambda value: from_avro(value, AVRO_SCHEMA),
    ),
}


def written(bids: DataFrame, given: Format, folder: Path) -> DataFrame:
    """Write the records of a format, and return them."""
    value = given.write(F.struct(*COLUMNS)).cast("binary").alias("value")
    bids.select(value).write.parquet(str(folder), compression="none")
    return bids.sparkSession.read.parquet(str(folder))


def parsed(records: DataFrame, given: Format) -> DataFrame:
    """Parse the records of a format."""
    events = records.select(given.parse(F.col("value")).alias("event")).select("event.*")
    return events.withColumn("date_time", F.timestamp_millis("date_time"))


def check(name: str, events: DataFrame, bids: DataFrame) -> None:
    """Compare parsed events with the bids, by a hash that does not depend on their order."""

    def hashed(rows: DataFrame) -> int:
        found = rows.select(F.bit_xor(F.xxhash64(*events.columns)).alias("hash")).first()
        assert found is not None
        return int(found["hash"])

    original = bids.withColumn("date_time", F.timestamp_millis("date_time"))
    if hashed(events) != hashed(original):
        raise SystemExit(f"{name}: the parsed bids are not the bids that were written")


def cpu_seconds(rows: DataFrame) -> float:
    """Compute all rows, discard them, and return the CPU seconds of the JVM."""
    jvm: Any = rows.sparkSession._jvm

    def so_far() -> float:
        process = jvm.java.lang.ProcessHandle.current().info()
        return float(process.totalCpuDuration().get().toMillis()) / 1e3

    started = so_far()
    rows.write.format("noop").mode("overwrite").save()
    return so_far() - started


def by_polls(spark: SparkSession, folder: Path, work: Path, repeats: int) -> list[list[str]]:
    """Return a row of a table for each size of polls."""
    with broker(work) as brokers:
        make_topics(spark, brokers, [topic("bids")], partitions=FILES_PER_BATCH)
        feed.write(spark, brokers, folder, "bids")
        options = {"kafka.bootstrap.servers": brokers, "subscribe": topic("bids")}
        read = spark.read.format("kafka").options(**options)
        records = {
            size: read.option("kafka.max.poll.records", size).load().select("value")
            for size in (DEFAULT_POLLED, MOST_POLLED)
        }
        count = records[MOST_POLLED].count()
        taken = in_turn(records, repeats)
    return [[size, figures(times), micros(median(times), count)] for size, times in taken.items()]


def by_format(spark: SparkSession, folder: Path, work: Path, repeats: int) -> list[list[str]]:
    """Return a row of a table for each format."""
    bids = spark.read.parquet(str(folder / "bids")).where(F.col("auction") != CLOSING_ID)
    bids = bids.withColumn("date_time", F.unix_millis("date_time"))
    count = bids.count()
    runs: dict[tuple[str, str], DataFrame] = {}
    for name, given in FORMATS.items():
        records = written(bids, given, work / name.replace(", ", "-"))
        check(name, parsed(records, given), bids)
        runs |= {(name, "read"): records, (name, "parse"): parsed(records, given)}
    taken = in_turn(runs, repeats)
    alone = {name: median(taken[name, "parse"]) - median(taken[name, "read"]) for name in FORMATS}
    return [
        [
            name,
            f"{runs[name, 'read'].select(F.avg(F.length('value'))).collect()[0][0]:.0f}",
            figures(taken[name, "parse"]),
            figures(taken[name, "read"]),
            micros(alone[name], count),
            f"{alone[name] / alone['JSON']:.2f}",
        ]
        for name in FORMATS
    ]


def in_turn(runs: Mapping[Name, DataFrame], repeats: int) -> dict[Name, list[float]]:
    """Compute the rows of each run once, then in turn, and return the CPU seconds of the turns."""
    for rows in runs.values():
        cpu_seconds(rows)
    taken: dict[Name, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, rows in runs.items():
            taken[name].append(cpu_seconds(rows))
    return taken


def figures(times: Sequence[float]) -> str:
    """Return the median and the spread of times as text."""
    return f"{median(times):.1f} ({min(times):.1f} to {max(times):.1f})"


def micros(seconds: float, count: int) -> str:
    """Return the microseconds of one of `count` records as text."""
    return f"{seconds / count * 1e6:.2f}"


def main() -> None:
    """Measure formats and polls, and print a table of each."""
    folder = Input(events=int(os.environ.get("BENCH_ROWS", "10_000_000"))).make(BUILD).absolute()
    repeats = int(os.environ.get("BENCH_REPEATS", "3"))
    work = Path(tempfile.mkdtemp(prefix="kafka-", dir=BUILD)).absolute()
    spark = session(jars=[*connector_jars(), *avro_jars()])
    try:
        formats = by_format(spark, folder, work, repeats)
        heads = ["format", "bytes a record", "CPU to read and parse, s", "CPU to read, s"]
        print(table([*heads, "to parse, µs a record", "of JSON's"], formats), flush=True)
        polls = by_polls(spark, folder, work, repeats)
        print(table(["records a call", "CPU to read, s", "µs a record"], polls))
    finally:
        spark.stop()
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
