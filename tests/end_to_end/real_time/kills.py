"""Kills a query in Real-Time Mode, again and again, and checks all of its results.

``python -m tests.end_to_end.real_time.kills --kills 100`` prints a table. The query reads a Kafka
topic and writes another one, while rows keep coming. It runs in a process of its own, which is
killed in the middle of a batch, at the end of a batch, and while it recovers. At the end each
window must have its result, and all results of a window must be the same.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.kafka.broker import broker
from benchmarks.kafka.jars import connector_jars
from benchmarks.kafka.topics import make_topics
from tests.end_to_end.models import model
from tests.end_to_end.models import real_time as real_time_model
from tests.end_to_end.support.programs import real_time as program
from tests.end_to_end.support.programs.sessions import small_session

PARTITIONS = 2
PLACES = ("in the middle of a batch", "at the end of a batch", "in recovery")
BATCH = "3 seconds"
# Rows a second, in all partitions.
RATE = 40
_LONGEST_WAIT = 240
_BETWEEN_LOOKS = 0.005
_STRINGS = "org.apache.kafka.common.serialization.String"

Result = tuple[int, int]
# The key, and the start of the window.
Window = tuple[str, int]


@dataclass(frozen=True)
class Kills:
    """What a query wrote that was killed.

    Attributes
    ----------
    killed : Counter
        How often it was killed, by the place.
    sent : list
        The rows of each partition.
    results : dict
        The count and the sum of each result, by key and start of the window, in order.
    expected : dict
        The count and the sum of each window, by a model that knows no kills.
    """

    killed: Counter[str]
    sent: list[list[model.Row]]
    results: dict[Window, list[Result]]
    expected: dict[Window, Result]

    @property
    def repeated(self) -> int:
        """Number of windows with several results."""
        return sum(len(found) > 1 for found in self.results.values())

    @property
    def differing(self) -> list[Window]:
        """The windows whose results differ from each other."""
        return [window for window, found in self.results.items() if len(set(found)) > 1]

    @property
    def wrong(self) -> list[Window]:
        """The windows with a result that the model does not have, or without a result."""
        windows = self.results.keys() | self.expected.keys()
        return sorted(
            window
            for window in windows
            if set(self.results.get(window, ())) != {self.expected.get(window)}
        )

    def __str__(self) -> str:
        rows = {
            **{f"kills {place}": self.killed[place] for place in PLACES},
            "rows": sum(map(len, self.sent)),
            "windows": len(self.expected),
            "results": sum(map(len, self.results.values())),
            "windows with several results": self.repeated,
            "windows whose results differ": len(self.differing),
            "windows that are missing or wrong": len(self.wrong),
        }
        return "\n".join(f"{name:<40}{count:>8}" for name, count in rows.items())


@dataclass
class Topics:
    """Writes the topic "in" and reads the topic "out", through the JVM of a session."""

    spark: SparkSession
    address: str
    seed: int
    sent: list[list[model.Row]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])

    def __post_init__(self) -> None:
        make_topics(self.spark, self.address, ["in"], partitions=PARTITIONS)
        make_topics(self.spark, self.address, ["out"], partitions=1)
        jvm: Any = self.spark._jvm
        properties = jvm.java.util.Properties()
        properties.put("bootstrap.servers", self.address)
        for part in ("key", "value"):
            properties.put(f"{part}.serializer", f"{_STRINGS}Serializer")
            properties.put(f"{part}.deserializer", f"{_STRINGS}Deserializer")
        clients = jvm.org.apache.kafka.clients
        self._record = clients.producer.ProducerRecord
        self._producer = clients.producer.KafkaProducer(properties)
        self._consumer = clients.consumer.KafkaConsumer(properties)
        self._out = jvm.java.util.ArrayList()
        self._out.add(jvm.org.apache.kafka.common.TopicPartition("out", 0))
        self._consumer.assign(self._out)
        self._consumer.seekToBeginning(self._out)
        self._poll = jvm.java.time.Duration.ofMillis(200)
        self._found: dict[Window, list[Result]] = defaultdict(list)
        self._read = 0

    def send(self, partition: int, row: model.Row) -> None:
        key, at, value = row
        self._producer.send(self._record("in", partition, None, f"{key},{at},{value}"))
        self.sent[partition].append(row)

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Send rows at a steady rate. One in ten is so far behind that it may be late."""
        chosen, stopped = random.Random(self.seed), threading.Event()

        def send() -> None:
            for number in itertools.count():
                if stopped.wait(1 / RATE):
                    return
                behind = chosen.randrange(3_000 if chosen.random() < 0.1 else 400)
                at = int(time.time() * 1_000) - behind
                self.send(number % PARTITIONS, (chosen.choice("abcde"), at, chosen.randrange(100)))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def finish(self) -> None:
        """Send a last row to each partition, after which all windows of other rows are over."""
        at = int(time.time() * 1_000) + 3_600_000
        for partition in range(PARTITIONS):
            self.send(partition, ("last", at, 0))
        self._producer.flush()

    def results_so_far(self) -> int:
        (end,) = self._consumer.endOffsets(self._out).values()
        return int(end)

    def results(self) -> dict[Window, list[Result]]:
        """All results so far, by key and start of the window."""
        end = self.results_so_far()
        while self._read < end:
            records = self._consumer.poll(self._poll).iterator()
            while records.hasNext():
                key, start, n, s = records.next().value().split(",")
                self._found[key, int(start)].append((int(n), int(s)))
                self._read += 1
        return dict(self._found)

    def expected(self) -> dict[Window, Result]:
        """The windows that have ended, by the model."""
        fired, _ = real_time_model.grid(self.sent, program.DELAY, model.tumbling(program.SIZE))
        return {(str(key), start): (n, s) for key, start, _, n, s in fired}

    def close(self) -> None:
        self._producer.close()
        self._consumer.close()


class Query:
    """The query in a process of its own."""

    def __init__(self, folder: Path, address: str) -> None:
        self._printed = folder / "printed"
        command = [sys.executable, "-m", program.__name__, str(folder), address, BATCH]
        with self._printed.open("w") as printed:
            self._process = subprocess.Popen(
                command, stdout=printed, stderr=printed, start_new_session=True
            )

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        latest = time.monotonic() + _LONGEST_WAIT
        while not is_so():
            assert self._process.poll() is None, f"the query has ended: {self.printed[-4_000:]}"
            assert time.monotonic() < latest, f"nothing happens: {self.printed[-4_000:]}"
            time.sleep(_BETWEEN_LOOKS)

    @property
    def printed(self) -> str:
        return self._printed.read_text()

    def kill(self) -> None:
        """Kill the process of Python and its JVM."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def run_kills(spark: SparkSession, folder: Path, *, kills: int, seed: int = 0) -> Kills:
    """Kill a query so many times, then let it finish.

    Parameters
    ----------
    spark : SparkSession
        A session that has the jars of the Kafka connector. Only its JVM is used.
    folder : Path
        An empty folder for the broker and the query.
    kills : int
        How often the query is killed.
    seed : int
        Determines the rows and the moments of the kills.
    """
    chosen = random.Random(seed)
    killed: Counter[str] = Counter()
    (folder / "broker").mkdir()
    with broker(folder / "broker") as address:
        topics = Topics(spark, address, seed)
        try:
            with topics.sending():
                for place in itertools.islice(itertools.cycle(PLACES), kills):
                    _kill(folder, topics, place, chosen)
                    killed[place] += 1
                    print(f"kill {killed.total()} {place}", flush=True)
            topics.finish()
            expected = topics.expected()
            query = Query(folder, address)
            try:
                query.wait_until(lambda: expected.keys() <= topics.results().keys())
            finally:
                query.kill()
            return Kills(killed, topics.sent, topics.results(), expected)
        finally:
            topics.close()


def _kill(folder: Path, topics: Topics, place: str, chosen: random.Random) -> None:
    """Start the query, and kill it at a place."""
    before = topics.results_so_far()
    # Spark writes the offsets of a batch at its end, and commits the batch then.
    offsets = folder / "checkpoint" / "offsets"
    query = Query(folder, topics.address)
    try:
        if place == "in recovery":
            query.wait_until(lambda: "started" in query.printed)
            time.sleep(chosen.uniform(0, 3))
        else:
            query.wait_until(lambda: topics.results_so_far() > before)
        if place == "in the middle of a batch":
            time.sleep(chosen.uniform(0, 3))
        elif place == "at the end of a batch":
            ended = _batches(offsets)
            query.wait_until(lambda: _batches(offsets) > ended)
            time.sleep(chosen.choice([0, 0, 0.01, 0.1]))
    finally:
        query.kill()


def _batches(log: Path) -> int:
    """Number of batches in a log of the checkpoint."""
    return sum(file.name.isdigit() for file in log.iterdir()) if log.exists() else 0


def main() -> None:
    """Run kills, and print what the query wrote."""
    parser = argparse.ArgumentParser(prog="python -m tests.end_to_end.real_time.kills")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    jars = [str(jar) for jar in connector_jars()]
    settings = {"spark.driver.extraClassPath": ":".join(jars), "spark.driver.memory": "512m"}
    spark = small_session(folder / "client", "local[1]", **settings)
    found = run_kills(spark, folder, kills=arguments.kills, seed=arguments.seed)
    spark.stop()
    print(found)
    for window in found.wrong:
        print("wrong:", window, found.results.get(window), found.expected.get(window))
    sys.exit(1 if found.wrong or found.differing else 0)


if __name__ == "__main__":
    main()
