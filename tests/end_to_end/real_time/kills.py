"""Kills a query in Real-Time Mode, again and again, and checks all that it wrote.

``python -m tests.end_to_end.real_time.kills --kills 100`` prints a table. The query reads a Kafka
topic and writes results and late rows to two others, while rows keep coming. It runs in a process
of its own, which is killed in the middle of a batch, at the end of a batch, and while it recovers.
At the end each window must have its result, and each late row must have come. All records of a
window or of a late row must be the same.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
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
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.kafka.broker import broker
from benchmarks.kafka.jars import connector_jars
from benchmarks.kafka.topics import make_topics
from tests.end_to_end.models import model
from tests.end_to_end.models.real_time import grid, judged
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

# What a record is about: the key and the start of a window, or the number of a late row.
Subject = tuple[Any, ...]
# The count and the sum of a window. Or the key and the time of a late row, and its watermark.
Content = tuple[Any, ...]


@dataclass(frozen=True)
class Written:
    """What a query wrote to a topic.

    Attributes
    ----------
    found : dict
        The contents of all records about each subject, in their order.
    expected : dict
        The content of each subject, by a model that knows no kills.
    """

    found: dict[Subject, list[Content]]
    expected: dict[Subject, Content]

    @property
    def repeated(self) -> int:
        """Number of subjects with several records."""
        return sum(len(found) > 1 for found in self.found.values())

    @property
    def differing(self) -> list[Subject]:
        """The subjects whose records differ from each other."""
        return [subject for subject, found in self.found.items() if len(set(found)) > 1]

    @property
    def wrong(self) -> list[Subject]:
        """The subjects with a record that the model does not have, or without a record."""
        return sorted(
            subject
            for subject in self.found.keys() | self.expected.keys()
            if set(self.found.get(subject, ())) != {self.expected.get(subject)}
        )

    def counts(self, subjects: str) -> dict[str, int]:
        """The rows of a table. `subjects` is what the subjects are called."""
        return {
            subjects: len(self.expected),
            f"records of {subjects}": sum(map(len, self.found.values())),
            f"{subjects} with several records": self.repeated,
            f"{subjects} whose records differ": len(self.differing),
            f"{subjects} that are missing or wrong": len(self.wrong),
        }


@dataclass(frozen=True)
class Kills:
    """What a query wrote that was killed.

    Attributes
    ----------
    killed : Counter
        How often it was killed, by the place.
    rows : int
        How many rows the query read.
    results, late : Written
        The results of its windows, and its late rows.
    """

    killed: Counter[str]
    rows: int
    results: Written
    late: Written

    def __str__(self) -> str:
        counts = {
            **{f"kills {place}": self.killed[place] for place in PLACES},
            "rows": self.rows,
            **self.results.counts("windows"),
            **self.late.counts("late rows"),
        }
        return "\n".join(f"{name:<40}{count:>8}" for name, count in counts.items())


@dataclass
class Topics:
    """Writes the topic "in" and reads the others, through the JVM of a session."""

    spark: SparkSession
    address: str
    seed: int
    sent: list[list[model.Row]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])

    def __post_init__(self) -> None:
        make_topics(self.spark, self.address, ["in"], partitions=PARTITIONS)
        make_topics(self.spark, self.address, [program.RESULTS, program.LATE], partitions=1)
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
        place = jvm.org.apache.kafka.common.TopicPartition
        self._results = jvm.java.util.List.of(place(program.RESULTS, 0))
        self._written = jvm.java.util.List.of(place(program.RESULTS, 0), place(program.LATE, 0))
        self._consumer.assign(self._written)
        self._consumer.seekToBeginning(self._written)
        self._poll = jvm.java.time.Duration.ofMillis(200)
        self._found: dict[str, dict[Subject, list[Content]]] = {
            topic: defaultdict(list) for topic in _PARSERS
        }
        self._read = 0

    def send(self, partition: int, key: str, at: int) -> None:
        """Send a row, whose value is its number."""
        number = sum(map(len, self.sent))
        self._producer.send(self._record("in", partition, None, f"{key},{at},{number}"))
        self.sent[partition].append((key, at, number))

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
                self.send(number % PARTITIONS, chosen.choice("abcde"), at)

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
            self.send(partition, "last", at)
        self._producer.flush()

    def results_so_far(self) -> int:
        """Number of results that have been written."""
        return self._end(self._results)

    def expected(self) -> dict[str, dict[Subject, Content]]:
        """The results of all windows that have ended, and all late rows, by the model."""
        fired, late = grid(self.sent, program.DELAY, model.tumbling(program.SIZE))
        met = {row: at for rows in self.sent for row, at in judged(rows, program.DELAY)}
        return {
            program.RESULTS: {(key, start): (n, s) for key, start, _, n, s in fired},
            program.LATE: {(row[2],): (*row[:2], met[row]) for row in late},
        }

    def found(self) -> dict[str, dict[Subject, list[Content]]]:
        """All records so far, by their topic and subject."""
        end = self._end(self._written)
        while self._read < end:
            records = self._consumer.poll(self._poll).iterator()
            while records.hasNext():
                record = records.next()
                subject, content = _PARSERS[record.topic()](json.loads(record.value()))
                self._found[record.topic()][subject].append(content)
                self._read += 1
        return self._found

    def _end(self, partitions: Any) -> int:
        """Number of records in partitions."""
        return sum(map(int, self._consumer.endOffsets(partitions).values()))

    def close(self) -> None:
        self._producer.close()
        self._consumer.close()


def _result(record: Any) -> tuple[Subject, Content]:
    return (record["key"], _millis(record["window"]["start"])), (record["n"], record["s"])


def _late_row(record: Any) -> tuple[Subject, Content]:
    row = record["row"]
    return (row["value"],), (row["key"], _millis(row["time"]), _millis(record["watermark"]))


_PARSERS = {program.RESULTS: _result, program.LATE: _late_row}


def _millis(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000)


class Query:
    """The query in a process of its own, which is killed in the end.

    Parameters
    ----------
    folder : Path
        Gets the checkpoint.
    address : str
        The broker.
    batch : str
        Duration of a batch.
    master : str
        Where the tasks run. By default, in the process of the query.
    """

    def __init__(
        self, folder: Path, address: str, batch: str = BATCH, master: str = "local[8]"
    ) -> None:
        self._printed = folder / "printed"
        command = [sys.executable, "-m", program.__name__, str(folder), address, batch, master]
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

    def wait_for_failure(self) -> None:
        """Wait until the query fails by itself."""
        assert self._process.wait(_LONGEST_WAIT) != 0, self.printed[-4_000:]

    @property
    def printed(self) -> str:
        return self._printed.read_text()

    def __enter__(self) -> Query:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process of Python and its JVM."""
        # Neither may be left if the query has failed.
        with contextlib.suppress(ProcessLookupError):
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
                # Spark refuses a checkpoint whose first commit was interrupted.
                with Query(folder, address) as query:
                    query.wait_until(lambda: batches(folder) > 0)
                for place in itertools.islice(itertools.cycle(PLACES), kills):
                    _kill(folder, topics, place, chosen)
                    killed[place] += 1
                    print(f"kill {killed.total()} {place}", flush=True)
            with Query(folder, address) as query:
                written = finish(topics, query)
            rows = sum(map(len, topics.sent))
            return Kills(killed, rows, written[program.RESULTS], written[program.LATE])
        finally:
            topics.close()


def finish(topics: Topics, query: Query) -> dict[str, Written]:
    """End the input, and wait until the query has written all that the model expects, by topic."""
    topics.finish()
    expected = topics.expected()

    def is_complete() -> bool:
        found = topics.found()
        return all(expected[topic].keys() <= found[topic].keys() for topic in expected)

    query.wait_until(is_complete)
    found = topics.found()
    return {topic: Written(found[topic], expected[topic]) for topic in expected}


def _kill(folder: Path, topics: Topics, place: str, chosen: random.Random) -> None:
    """Start the query, and kill it at a place."""
    before = topics.results_so_far()
    with Query(folder, topics.address) as query:
        if place == "in recovery":
            query.wait_until(lambda: "started" in query.printed)
            time.sleep(chosen.uniform(0, 3))
        else:
            query.wait_until(lambda: topics.results_so_far() > before)
        if place == "in the middle of a batch":
            time.sleep(chosen.uniform(0, 3))
        elif place == "at the end of a batch":
            ended = batches(folder)
            query.wait_until(lambda: batches(folder) > ended)
            time.sleep(chosen.choice([0, 0, 0.01, 0.1]))


def batches(folder: Path) -> int:
    """Number of batches that have ended. Spark writes their offsets then, and commits them."""
    offsets = folder / "checkpoint" / "offsets"
    return sum(file.name.isdigit() for file in offsets.iterdir()) if offsets.exists() else 0


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
    for written in (found.results, found.late):
        for subject in written.wrong:
            print("wrong:", subject, written.found.get(subject), written.expected.get(subject))
    sys.exit(1 if found.results.wrong or found.late.wrong else 0)


if __name__ == "__main__":
    main()
