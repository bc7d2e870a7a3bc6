"""Turns the steps of Flink's vectors into batches of a query."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from tests.end_to_end.conformance import flink_vectors
from tests.end_to_end.conformance.flink_vectors import FAR_MS, LAST_MS, Vector
from tests.end_to_end.support import wall_clock
from tests.end_to_end.support.clocked import START

Batch = list[tuple[Any, ...]]

SCHEMA = (
    "control boolean, key string, name string, value long, time timestamp, "
    "gap interval day to second, windows array<struct<start timestamp, end timestamp>>, "
    "car struct<speed long, distance double, time long>"
)
# The key of control rows, where windows read them.
CONTROL = "control"
EPOCH = datetime(1970, 1, 1)
# Spark treats a watermark of 0 as none, so the times of a vector are moved to later years.
BASE_MS = (START - EPOCH) // timedelta(milliseconds=1)


def base_of(vector: Vector) -> int:
    """Distance by which the vector's times are moved: a multiple of all its lengths."""
    trigger = vector["trigger"].get("nested", vector["trigger"])
    lengths = [
        settings[name]
        for settings in (vector["windows"], trigger)
        for name in ("size_ms", "slide_ms", "max_size_ms", "interval_ms")
        if name in settings
    ]
    period = math.lcm(*lengths)
    return (-(-BASE_MS // period) - flink_vectors.first_ms(vector) // period) * period


def instant(ms: int) -> datetime:
    """The time of a number of milliseconds since 1970, in UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def millis(time: datetime) -> int:
    """Milliseconds since 1970 of a time."""
    return (time - EPOCH) // timedelta(milliseconds=1)


def runs_of(vector: Vector, base: int, *, one_by_one: bool) -> list[list[Batch]]:
    """The steps of a vector as batches, one list for each run of the query."""
    runs: list[list[Batch]] = [[]]
    records: Batch = []
    ends = ends_by_draining(vector)

    def flush(watermark: int | None) -> None:
        moved = [] if watermark is None else [control(watermark)]
        if records or moved:
            runs[-1].append([*records, *moved])
            records.clear()
        if watermark is not None:
            # This batch moves no watermark. It fires windows by the watermark of the batch before.
            runs[-1].append([control(watermark)])

    for step in vector["steps"]:
        if step["op"] == "element":
            records.append(record(step, base))
            if one_by_one:
                flush(None)
        elif step["op"] == "watermark" and not (ends and step["ts"] == LAST_MS):
            flush(watermark_of(step, base))
        elif step["op"] == "snapshot_restore":
            flush(None)
            runs.append([])
    flush(None)
    return runs


def record(step: dict[str, Any], base: int) -> tuple[Any, ...]:
    """The input row of an `element` step."""
    name, value, car = flink_vectors.columns_of(step["value"])
    time = None if step["ts"] is None else instant(base + step["ts"])
    gap = flink_vectors.milliseconds(step["gap_ms"]) if "gap_ms" in step else None
    listed = [(instant(base + a), instant(base + b)) for a, b in step.get("windows", [])]
    return (False, flink_vectors.key_of(step), name, value, time, gap, listed, car)


def control(ms: int) -> tuple[Any, ...]:
    """A control row that moves the watermark to a time.

    The row has a gap and a window, so that it can be assigned to windows of each kind.
    """
    time, gap = instant(ms + FAR_MS), timedelta(days=1)
    return (True, CONTROL, None, None, time, gap, [(time, time + gap)], None)


def watermark_of(step: dict[str, Any], base: int) -> int:
    """Spark's watermark for a watermark of Flink.

    After Flink's watermark no row at this time comes. After Spark's no row before it comes.
    """
    return base + int(min(step["ts"], FAR_MS)) + 1


def on_clock(vector: Vector, base: int) -> list[list[wall_clock.Step]]:
    """The steps of a vector as batches and wall clock times."""
    runs: list[list[wall_clock.Step]] = [[]]
    records: Batch = []

    def flush() -> None:
        if records:
            runs[-1].append(list(records))
            records.clear()

    for step in vector["steps"]:
        if step["op"] == "element":
            # In processing time, the event times of Flink's records may be arbitrary.
            timeless = {"ts": None} if flink_vectors.is_on_clock(vector) else {}
            records.append(record(step | timeless, base))
        elif step["op"] == "processing_time":
            flush()
            # Flink fires timers at the current time of the clock. We fire timers before it.
            now = base - BASE_MS + step["ts"]
            runs[-1] += [(now + 1) / 1000, now / 1000]
        elif step["op"] == "watermark" and not flink_vectors.is_on_clock(vector):
            flush()
            runs[-1].append([control(watermark_of(step, base))])
        elif step["op"] == "snapshot_restore":
            flush()
            runs.append([])
    flush()
    return runs


def ends_by_draining(vector: Vector) -> bool:
    """Whether the last results of the vector come when the query ends."""
    return bool(vector["trigger"]["type"] == "end_of_stream")


def has_records_behind(vector: Vector) -> bool:
    """Whether a session vector has a record at or behind the watermark.

    The place of such a record in its batch may matter.
    """
    watermark = -LAST_MS
    for step in vector["steps"]:
        if step["op"] == "watermark":
            watermark = step["ts"]
        elif step["op"] == "element" and (step["ts"] or 0) <= watermark:
            return bool(vector["windows"]["type"] == "session")
    return False
