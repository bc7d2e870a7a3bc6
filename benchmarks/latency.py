"""Measures the time from a window's end to its result: ``make bench-latency``.

The input has 20,000 rows a second, with the wall clock as event time. A file of rows appears in a
folder every tenth of a second. A peer is a process that reads the folder as a stream. It counts by
key in windows of a second, with no delay and the default trigger.

A peer prints ``ready`` when it runs. For each window it then prints lines with the end of the
window in microseconds and a number of counted rows. A result is complete with the last line of its
window. This process reads the lines at once, so one clock measures all peers. A window with missing
rows is an error and has no latency. A peer on Spark also prints the phases of its batches, and this
process prints the median of each.
"""

import argparse
import contextlib
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.latency_once import SETTINGS
from benchmarks.queries.data import SEED
from benchmarks.record import Measurement, Record

RATE = 20_000
KEYS = 1_000
FILES_A_SECOND = 10
# Seconds of input that are not counted. At the start the JVM compiles. At the end, rows must follow
# that close the last counted windows.
WARM_UP = 20
BEHIND = 5
# Seconds to wait for the last results of a slow peer after the end of the input.
PATIENCE = 60

# A line of the peers on Spark, or of Flink's print sink.
LINE = re.compile(r"(?:\d+> )?(?:\+I\[)?(\d+),? (\d+)\]?")
# A phase of a batch, and its milliseconds.
PHASE = re.compile(r"([a-zA-Z]+) (\d+)")

# The command of each peer, without its last argument, the folder.
SPARK = (sys.executable, "-m", "benchmarks.latency_once")
FLINK = (".venv-flink/bin/python", "-m", "benchmarks.latency_flink")
PEERS = {
    **{peer: (*SPARK, peer) for peer in SETTINGS},
    "flink-heap": (*FLINK, "hashmap"),
    "flink-rocksdb": (*FLINK, "rocksdb"),
}

# The peers without settings of their own, which only show what a setting brings.
COMPARED = [peer for peer in PEERS if not peer.startswith("transom-policy-")]

# The end of a window, a number of its rows, and the time at which the line was read. Times are in
# microseconds.
Arrival = tuple[int, int, int]


def feed(folder: Path, first: int, seconds: int) -> None:
    """Write rows from a second of the wall clock on. A file appears when its time is over."""
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
    """Return the time from the end of each window to its result, in milliseconds.

    Raises
    ------
    ValueError
        If a window counted more or fewer rows than it has.
    """
    counted: dict[int, int] = {}
    last_arrival: dict[int, int] = {}
    for end, count, arrived in arrivals:
        counted[end] = counted.get(end, 0) + count
        last_arrival[end] = max(arrived, last_arrival.get(end, arrived))
    if wrong := [counted.get(end, 0) for end in ends if counted.get(end) != rows]:
        raise ValueError(f"{len(wrong)} windows counted {min(wrong)} rows or more, not {rows}")
    return [(last_arrival[end] - end) / 1_000 for end in ends]


def arrivals(
    command: Sequence[str], seconds: int
) -> tuple[int, list[Arrival], dict[str, list[int]]]:
    """Run a peer under steady input.

    Returns the first second of the input, all arrivals, and the milliseconds of each phase in the
    batches after the warm-up.
    """
    work = Path(tempfile.mkdtemp(prefix="latency-"))
    (work / "input").mkdir()
    found: list[Arrival] = []
    phases: defaultdict[str, list[int]] = defaultdict(list)
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
            if match := LINE.fullmatch(line.strip()):
                found.append((int(match[1]), int(match[2]), time.time_ns() // 1_000))
            elif (match := PHASE.fullmatch(line.strip())) and time.time() > first + WARM_UP:
                phases[match[1]].append(int(match[2]))

    try:
        if lines.readline() != "ready\n":
            raise SystemExit(f"{(work / 'errors').read_text()}\nthe peer did not start, see above")
        first = math.ceil(time.time())
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        feed(work / "input", first, seconds)
        # The windows of the last seconds are not counted, so their results need not arrive.
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
    return first, list(found), dict(phases)


def measure(peer: str, seconds: int, command: Sequence[str] | None = None) -> Measurement:
    """Measure the latency of a peer over a number of windows of a second.

    `command` starts the peer, without its last argument. None takes the command of `PEERS`.
    """
    first, found, phases = arrivals(command or PEERS[peer], WARM_UP + seconds + BEHIND)
    ends = [(first + WARM_UP + 1 + number) * 1_000_000 for number in range(seconds)]
    figures, failed = {}, None
    try:
        taken = latencies(found, ends, RATE)
        figures = {f"p{of}_ms": float(np.percentile(taken, of)) for of in (50, 99)}
        for phase, times in sorted(phases.items()):
            print(f"  {phase} {statistics.median(times):,.0f} ms", flush=True)
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
    """Measure each peer, and write a record."""
    parser = argparse.ArgumentParser(prog="benchmarks.latency", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="windows that are counted")
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=COMPARED)
    arguments = parser.parse_args()
    record = Record.begin()
    for peer in arguments.peer:
        one = measure(peer, arguments.seconds)
        record.measurements.append(one)
        figures = [f"{name} {value:,.0f}" for name, value in one.figures.items()]
        print(f"{one.query} {peer}: {one.failed or ', '.join(figures)}", flush=True)
        path = record.save()
    print(path)


if __name__ == "__main__":
    main()
