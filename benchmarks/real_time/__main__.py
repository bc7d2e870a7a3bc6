"""Measures windows from Kafka to Kafka, in Real-Time Mode and elsewhere: ``make bench-real-time``.

**Latency.** This process sends rows to two partitions of a topic, with the wall clock as event
time. A peer is a process that counts by key in windows of a second, without delay, and writes its
results to another topic. The broker, on the same machine, notes when it gets them, so one clock
measures all peers. A window's result is complete with its last key. The time counts twice: from the
end of the window, and from the row that closes it, which is the first row past the end in the last
partition. A window whose counts do not add up to the rows that were sent is short: another system
has called a row late that met another partition's watermark. It has no latency.

Spark's own windows in Real-Time Mode have no final result. They send a new count for each row. So
the time of ``native-real-time`` is from the last row of a window to the counts that contain it.
``transom-counts-real-time`` does the same job, with an early result for each row. A query of its
own, ``kafka-running-counts``, compares these two.

A batch of Real-Time Mode lasts a minute. No result leaves between two batches, and the end of a
window lies in such a gap by chance. A run has four gaps, so the results of about four windows of
240 may come later for this reason. The longest time is one of theirs.

**Gaps.** How long no result leaves between two batches. Four gaps are too few for a comparison, so
the batches of these runs last 5 seconds, the shortest that Spark allows. A gap is the time between
the last result before a batch's commit and the first one after it. The peers send a new count for
each of 500 rows a second, so they have nothing to wait for.

**Backlog.** The topic holds rows of 1,000 keys before a peer starts. A peer takes CPU time from the
start of its query until the results of all windows of 10 seconds have been read. About 15 seconds
of it are the start of Spark and the compiler, so the backlog is long.
"""

import argparse
import bisect
import contextlib
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.kafka.broker import broker
from benchmarks.kafka.jars import flink_jars
from benchmarks.kafka.topics import make_topics
from benchmarks.peers.table import FLINK_PYTHON
from benchmarks.queries.data import SEED
from benchmarks.real_time import once
from benchmarks.real_time.producer import Producer
from benchmarks.record import Measurement, Record

# Seconds of input that are not counted. At the start the JVM loads classes and compiles: what runs
# for each window, once a second, is compiled after about a minute, and what runs between two
# batches has run twice then. At the end, rows must follow that close the last counted windows.
WARM_UP = 130
BEHIND = 5
# Seconds to wait for the last results.
PATIENCE = 60
SHORTEST_BATCH = "5 seconds"
SPARK = (sys.executable, "-m", "benchmarks.real_time.once")
FLINK = (
    str(FLINK_PYTHON),
    "-m",
    "benchmarks.real_time.flink_once",
    ":".join(map(str, flink_jars())),
)
PEERS: Mapping[str, Sequence[str]] = {
    **{peer: (*SPARK, peer) for peer in once.PEERS},
    "flink-heap": FLINK,
}
COMPARED = [peer for peer in PEERS if peer != "transom"]
# The peers that send a new count for each row instead of a result.
RUNNING_COUNTS = ("transom-counts-real-time", "native-real-time")
WITH_BACKLOG = ("transom-real-time", "transom")
BACKLOG_KEYS = 1_000
BACKLOG_ROWS_A_SECOND = 20_000
BACKLOG_SIZE_S = 10

# When the broker got a result, in microseconds since 1970, and its text.
Arrival = tuple[int, str]


def completed(found: Iterable[Arrival]) -> dict[int, tuple[int, int]]:
    """Return the rows of each window by its end, and when its result was complete.

    The last count of a key is its largest.
    """
    counts: dict[int, dict[str, tuple[int, int]]] = {}
    for at, text in found:
        end, rows, key = text.split(",")
        by_key = counts.setdefault(int(end), {})
        if int(rows) > by_key.get(key, (0, 0))[0]:
            by_key[key] = (int(rows), at)
    return {
        end: (sum(rows for rows, _ in by_key.values()), max(at for _, at in by_key.values()))
        for end, by_key in counts.items()
    }


def latencies(
    results: Mapping[int, tuple[int, int]],
    sent: Sequence[Sequence[int]],
    ends: Sequence[int],
    *,
    from_last_row: bool,
) -> dict[str, float]:
    """Return percentiles and the longest time in milliseconds, and the number of short windows.

    Parameters
    ----------
    results : mapping
        The rows and the arrival of each window, by its end.
    sent : sequence
        The times of the rows of each partition, which rise.
    ends : sequence of int
        The ends of the windows to count.
    from_last_row : bool
        Whether to count from the last row of a window only, and not from its end.
    """
    since: dict[str, list[float]] = {"": [], "closing_": []}
    short = 0
    for end in ends:
        # The places of the rows of a window in each partition.
        places = [np.searchsorted(times, (end - 1_000_000, end)) for times in sent]
        rows, arrived = results.get(end, (0, 0))
        if rows != sum(int(behind - first) for first, behind in places):
            short += 1
        elif from_last_row:
            last = max(times[behind - 1] for times, (_, behind) in zip(sent, places, strict=True))
            since[""].append((arrived - last) / 1_000)
        else:
            closing = max(times[behind] for times, (_, behind) in zip(sent, places, strict=True))
            since[""].append((arrived - end) / 1_000)
            since["closing_"].append((arrived - closing) / 1_000)
    return {
        **{
            f"p{of}_{name}ms": float(np.percentile(taken, of))
            for name, taken in since.items()
            if taken
            for of in (50, 90, 99)
        },
        **{f"longest_{name}ms": max(taken) for name, taken in since.items() if taken},
        "short_windows": short,
    }


def gaps(arrivals: Iterable[int], commits: Iterable[int]) -> list[float]:
    """Return the milliseconds without a result around each commit of a batch.

    Parameters
    ----------
    arrivals : iterable of int
        When the broker got each result, in microseconds since 1970.
    commits : iterable of int
        When Spark wrote each commit. A commit without a result before and after it has no gap.
    """
    times = sorted(arrivals)
    behind = [bisect.bisect(times, commit) for commit in commits]
    return [(times[at] - times[at - 1]) / 1_000 for at in behind if 0 < at < len(times)]


@contextlib.contextmanager
def running(peer: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a peer, wait until it is ready, and kill it at the end.

    Yields its process and its folder ``WORK``.
    """
    work = Path(tempfile.mkdtemp(prefix="real-time-"))
    with (work / "errors").open("w") as errors:
        process = subprocess.Popen(
            [*PEERS[peer], *arguments, str(work)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"{(work / 'errors').read_text()}\nthe peer did not start, see above")
        yield process, work
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(work)


class Feed:
    """Sends rows to the partitions of a topic in turn, on a thread of its own.

    Attributes
    ----------
    sent : list of list of int
        The times of the rows of each partition.
    """

    def __init__(self, producer: Producer, topic: str, rate: int, keys: int) -> None:
        self.sent: list[list[int]] = [[] for _ in range(once.PARTITIONS)]
        self._producer, self._topic, self._rate, self._keys = producer, topic, rate, keys
        self._is_open = True
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._thread.join()

    def _run(self) -> None:
        chosen, begun, number = random.Random(SEED), time.time(), 0
        while self._is_open:
            wait = begun + number / self._rate - time.time()
            if wait > 0:
                time.sleep(wait)
            partition, now = number % once.PARTITIONS, time.time_ns() // 1_000
            self._producer.send(self._topic, partition, f"k{chosen.randrange(self._keys)},{now}")
            self.sent[partition].append(now)
            number += 1


def results_of(spark: SparkSession, brokers: str, topic: str) -> list[Arrival]:
    """Read the results that are in a topic."""
    records = spark.read.format("kafka").option("kafka.bootstrap.servers", brokers)
    arrivals = (
        records.option("subscribe", topic)
        .load()
        .select(F.unix_micros("timestamp").alias("at"), F.col("value").cast("string"))
        .toArrow()
    )
    return list(zip(*(column.to_pylist() for column in arrivals.columns), strict=True))


def make_results_topic(spark: SparkSession, brokers: str, topic: str) -> None:
    """Make a topic whose records have the times at which the broker got them."""
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    make_topics(spark, brokers, [topic], partitions=1, settings=by_broker)


def measure_latency(
    spark: SparkSession, brokers: str, peer: str, seconds: int, rate: int, keys: int
) -> Measurement:
    """Measure the latency of a peer over a number of windows of a second."""
    source, sink = f"{peer}-rows", f"{peer}-results"
    make_topics(spark, brokers, [source], partitions=once.PARTITIONS)
    make_results_topic(spark, brokers, sink)

    def figures() -> dict[str, float]:
        return latencies(
            completed(results_of(spark, brokers, sink)),
            fed.sent,
            ends,
            from_last_row=peer in RUNNING_COUNTS,
        )

    started = running(peer, brokers, source, sink)
    with started as (process, _), Producer(spark, brokers) as producer:
        with Feed(producer, source, rate, keys) as fed:
            started_by = time.time() + PATIENCE
            # A peer is ready before its first batch has begun.
            while process.poll() is None and time.time() < started_by:
                if results_of(spark, brokers, sink):
                    break
                time.sleep(0.1)
            first = math.ceil(time.time()) + WARM_UP
            ends = [(first + number + 1) * 1_000_000 for number in range(seconds)]
            time.sleep(first + seconds + BEHIND - time.time())
        patient_until = time.time() + PATIENCE
        while figures()["short_windows"] and time.time() < patient_until:
            if process.poll() is not None:
                break
            time.sleep(1)
        found = figures()
    return Measurement(
        query="latency/kafka-running-counts" if peer in RUNNING_COUNTS else "latency/kafka",
        peer=peer,
        rows=rate * seconds,
        parameters={"rows_a_second": rate, "keys": keys, "size_s": 1, "delay_s": 0},
        figures=found if "p50_ms" in found else {},
        failed=None if "p50_ms" in found else f"{len(ends)} windows are short",
    )


def measure_gaps(
    spark: SparkSession, brokers: str, peer: str, count: int, rate: int, keys: int
) -> Measurement:
    """Measure the time without a result between two batches, a number of times."""
    source, sink = f"{peer}-gaps-rows", f"{peer}-gaps-results"
    make_topics(spark, brokers, [source], partitions=once.PARTITIONS)
    make_results_topic(spark, brokers, sink)
    started = running(peer, "--batch", SHORTEST_BATCH, brokers, source, sink)
    with started as (process, work), Producer(spark, brokers) as producer:
        with Feed(producer, source, rate, keys):
            commits: list[int] = []
            counted_from = time.time_ns() + WARM_UP * 1_000_000_000
            patient_until = time.time() + WARM_UP + PATIENCE + 10 * count
            # The last commit has no result behind it yet.
            while len(commits) <= count and time.time() < patient_until:
                if process.poll() is not None:
                    break
                time.sleep(1)
                files = (work / "checkpoint" / "commits").glob("[0-9]*")
                written = sorted(file.stat().st_mtime_ns for file in files)
                commits = [at // 1_000 for at in written if at > counted_from]
        found = gaps((at for at, _ in results_of(spark, brokers, sink)), commits[:count])
    return Measurement(
        query="gaps/kafka-running-counts",
        peer=peer,
        rows=rate,
        parameters={"rows_a_second": rate, "keys": keys, "size_s": 1, "delay_s": 0},
        figures={
            "gaps": len(found),
            **{f"p{of}_ms": float(np.percentile(found, of)) for of in (10, 50, 90)},
            "longest_ms": max(found),
        }
        if found
        else {},
        failed=None if found else "no result",
    )


def cpu_seconds(session: int) -> float:
    """Return the CPU time of all processes of a session of the system."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of a process may have spaces, and ends with a bracket.
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def fill(spark: SparkSession, brokers: str, topic: str, rows: int) -> None:
    """Write a backlog, and a row for each partition that closes all windows."""
    step = 1_000_000 // BACKLOG_ROWS_A_SECOND
    number = F.when(F.col("id") < rows, F.col("id")).otherwise(F.col("id") + 10 * rows)
    backlog = spark.range(0, rows + once.PARTITIONS, 1, 1).select(
        F.concat_ws(",", F.col("id") % BACKLOG_KEYS, number * step).alias("value"),
        (F.col("id") % once.PARTITIONS).cast("int").alias("partition"),
    )
    options = {"kafka.bootstrap.servers": brokers, "topic": topic}
    backlog.write.format("kafka").options(**options).save()


def measure_backlog(spark: SparkSession, brokers: str, peer: str, rows: int) -> Measurement:
    """Measure the CPU time that a peer takes for a backlog."""
    sink = f"{peer}-backlog-results"
    make_results_topic(spark, brokers, sink)
    counted = 0
    arguments = ("--size", f"{BACKLOG_SIZE_S} seconds", brokers, "backlog", sink)
    with running(peer, *arguments) as (process, _):
        begun, before = time.monotonic(), cpu_seconds(process.pid)
        while counted < rows and process.poll() is None and time.monotonic() < begun + 600:
            # Each look takes CPU time from the peer.
            time.sleep(1)
            found = completed(results_of(spark, brokers, sink))
            counted = sum(count for count, _ in found.values())
        taken = cpu_seconds(process.pid) - before
        seconds = time.monotonic() - begun
    failed = None if counted == rows else f"counted {counted} rows, not {rows}"
    figures = {"cpu_s": taken, "seconds": seconds, "rows_a_cpu_second": rows / taken}
    return Measurement(
        query="backlog/kafka",
        peer=peer,
        rows=rows,
        parameters={"keys": BACKLOG_KEYS, "size_s": BACKLOG_SIZE_S, "delay_s": 0},
        figures={} if failed else figures,
        failed=failed,
    )


def main() -> None:
    """Measure each peer, and write a record."""
    parser = argparse.ArgumentParser(prog="benchmarks.real_time", description=__doc__)
    parser.add_argument("--seconds", type=int, default=240, help="windows; 0 measures none")
    parser.add_argument("--gaps", type=int, default=40, help="gaps; 0 measures none")
    parser.add_argument("--rate", type=int, default=500, help="rows a second")
    parser.add_argument("--keys", type=int, default=50)
    parser.add_argument("--backlog", type=int, default=60_000_000, help="rows; 0 measures none")
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=COMPARED)
    arguments = parser.parse_args()
    record = Record.begin()

    def add(one: Measurement) -> None:
        record.put(one)
        figures = [f"{name} {value:,.0f}" for name, value in one.figures.items()]
        print(f"{one.query} {one.peer}: {one.failed or ', '.join(figures)}", flush=True)

    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as brokers:
        spark = once.session("client", real_time=False)
        load = arguments.rate, arguments.keys
        for peer in arguments.peer if arguments.seconds else ():
            add(measure_latency(spark, brokers, peer, arguments.seconds, *load))
        for peer in RUNNING_COUNTS if arguments.gaps else ():
            add(measure_gaps(spark, brokers, peer, arguments.gaps, *load))
        if arguments.backlog:
            make_topics(spark, brokers, ["backlog"], partitions=once.PARTITIONS)
            fill(spark, brokers, "backlog", arguments.backlog)
            for peer in WITH_BACKLOG:
                add(measure_backlog(spark, brokers, peer, arguments.backlog))
        spark.stop()
    print(record.path)


if __name__ == "__main__":
    main()
