"""Times how long after a window's end its result is there: ``make bench-latency``.

Rows come 20,000 a second, their event time is the wall clock, and every tenth of a second a file of
them appears in a folder. A peer is a process that reads the folder as a stream, counts by key in
windows of a second with no delay, by its usual trigger, and prints ``ready`` once it runs, then the
end of a window in microseconds and the rows it counted, in as many lines as it likes. A window's
result is there when its last line is. What is printed is read at once, so that all peers are held
against one clock. A window whose rows are not all counted is an error, no latency.
"""

import argparse
import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.queries.data import SEED
from benchmarks.record import Measurement, Record

RATE = 20_000
KEYS = 1_000
FILES_A_SECOND = 10
# Seconds of input that are not counted: the JVM compiles, and after the last windows counted rows
# must come that close them.
WARM_UP = 20
BEHIND = 5
# For results that are on their way when the input ends: those of a peer that falls behind.
PATIENCE = 60

# As Spark's peer prints it, and as Flink's print sink does.
LINE = re.compile(r"(?:\d+> )?(?:\+I\[)?(\d+),? (\d+)\]?")

# The command of each peer, to which the folder is added.
SPARK = (sys.executable, "-m", "benchmarks.latency_once")
FLINK = (".venv-flink/bin/python", "-m", "benchmarks.latency_flink")
PEERS = {
    "transom": (*SPARK, "transom"),
    "native": (*SPARK, "native"),
    "flink-heap": (*FLINK, "hashmap"),
    "flink-rocksdb": (*FLINK, "rocksdb"),
}

# The end of a window and a number of its rows, and when we were told; times in microseconds.
Arrival = tuple[int, int, int]


def feed(folder: Path, first: int, seconds: int) -> None:
    """Write rows from a second of the clock on, each file when the time of its rows is over."""
    random = np.random.default_rng(SEED)
    rows = RATE // FILES_A_SECOND
    for number in range(seconds * FILES_A_SECOND):
        end = first + (number + 1) / FILES_A_SECOND
        begin = first * 1_000_000 + number * 1_000_000 // FILES_A_SECOND
        times = begin + np.arange(rows) * (1_000_000 // RATE)
        table = pa.table(
            {
                "k": random.integers(0, KEYS, rows, dtype=np.int64),
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            }
        )
        hidden = folder / f".part-{number:05}.parquet"
        pq.write_table(table, hidden)
        time.sleep(max(0.0, end - time.time()))
        hidden.rename(folder / f"part-{number:05}.parquet")


def latencies(arrivals: Iterable[Arrival], ends: Sequence[int], rows: int) -> list[float]:
    """How long after their ends the results of windows were there, in milliseconds.

    Raises
    ------
    ValueError
        If a window counted more or fewer rows than it has.
    """
    counted: dict[int, int] = {}
    told: dict[int, int] = {}
    for end, count, arrived in arrivals:
        counted[end] = counted.get(end, 0) + count
        told[end] = max(arrived, told.get(end, arrived))
    if wrong := [counted.get(end, 0) for end in ends if counted.get(end) != rows]:
        raise ValueError(f"{len(wrong)} windows counted {min(wrong)} rows or more, not {rows}")
    return [(told[end] - end) / 1_000 for end in ends]


def arrivals(command: Sequence[str], seconds: int) -> tuple[int, list[Arrival]]:
    """Run a peer under steady input: the first second of the input, and what it printed."""
    work = Path(tempfile.mkdtemp(prefix="latency-"))
    (work / "input").mkdir()
    found: list[Arrival] = []
    with (work / "errors").open("w") as errors:
        process = subprocess.Popen(
            [*command, str(work / "input")],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    lines = process.stdout

    def listen() -> None:
        for line in lines:
            if told := LINE.fullmatch(line.strip()):
                found.append((int(told[1]), int(told[2]), time.time_ns() // 1_000))

    try:
        if lines.readline() != "ready\n":
            raise SystemExit(f"{(work / 'errors').read_text()}\nthe peer did not start, see above")
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        first = math.ceil(time.time())
        feed(work / "input", first, seconds)
        # The windows of the last seconds are not counted, and no result follows the last.
        awaited = (first + seconds - BEHIND + 1) * 1_000_000
        patient_until = time.time() + PATIENCE
        while listener.is_alive() and time.time() < patient_until:
            if any(end >= awaited for end, *_ in found):
                break
            listener.join(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(work)
    return first, list(found)


def measure(peer: str, seconds: int) -> Measurement:
    """The latency of a peer, over the windows of so many seconds."""
    first, found = arrivals(PEERS[peer], WARM_UP + seconds + BEHIND)
    ends = [(first + WARM_UP + 1 + number) * 1_000_000 for number in range(seconds)]
    figures, failed = {}, None
    try:
        taken = latencies(found, ends, RATE)
        figures = {f"p{of}_ms": float(np.percentile(taken, of)) for of in (50, 99)}
    except ValueError as error:
        failed = str(error)
    return Measurement(
        query="latency/tumbling",
        peer=peer,
        rows=RATE * seconds,
        parameters={"rows_a_second": RATE, "keys": KEYS, "size_s": 1, "delay_s": 0},
        figures=figures,
        failed=failed,
    )


def main() -> None:
    """Measure each peer, and keep a record."""
    parser = argparse.ArgumentParser(prog="benchmarks.latency", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="windows that are counted")
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=list(PEERS))
    arguments = parser.parse_args()
    record = Record.begin()
    for peer in arguments.peer:
        one = measure(peer, arguments.seconds)
        record.measurements.append(one)
        said = [f"{name} {value:,.0f}" for name, value in one.figures.items()]
        print(f"{one.query} {peer}: {one.failed or ', '.join(said)}", flush=True)
        path = record.save()
    print(path)


if __name__ == "__main__":
    main()
