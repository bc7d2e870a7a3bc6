"""The steps of test vectors as steps of queries."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from tests.end_to_end.support import vectors, wall_clock
from tests.end_to_end.support.clocked import START
from tests.end_to_end.support.vectors import FAR_MS, LAST_MS, Vector

Batch = list[tuple[Any, ...]]

SCHEMA = (
    "control boolean, key string, name string, value long, time timestamp, "
    "gap interval day to second, windows array<struct<start timestamp, end timestamp>>, "
    "car struct<speed long, distance double, time long>"
)
EPOCH = datetime(1970, 1, 1)
# A watermark of 0 means none, so a vector's times are moved up, by whole windows.
BASE_MS = (START - EPOCH) // timedelta(milliseconds=1)


def base_of(vector: Vector) -> int:
    """By how much the vector's times are moved: whole windows, and intervals, of every length."""
    trigger = vector["trigger"].get("nested", vector["trigger"])
    lengths = [
        settings[name]
        for settings in (vector["windows"], trigger)
        for name in ("size_ms", "slide_ms", "max_size_ms", "interval_ms")
        if name in settings
    ]
    period = math.lcm(*lengths)
    return (-(-BASE_MS // period) - vectors.first_ms(vector) // period) * period


def instant(ms: int) -> datetime:
    """Milliseconds as the session's own time, which is UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def millis(time: datetime) -> int:
    """The other way round."""
    return (time - EPOCH) // timedelta(milliseconds=1)


def runs_of(vector: Vector, base: int, *, one_by_one: bool) -> list[list[Batch]]:
    """The vector's steps as batches, those between two restarts each."""
    runs: list[list[Batch]] = [[]]
    records: Batch = []
    reached = 0
    ends = ends_by_draining(vector)

    def flush(watermark: int | None) -> None:
        nonlocal reached
        moved = [] if watermark is None else [control(watermark)]
        if records or moved:
            runs[-1].append([*records, *moved])
            records.clear()
        if watermark is not None:
            reached = watermark
            # Its rows move nothing, but it fires by the watermark that has just been reached.
            runs[-1].append([control(reached)])

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
    """The row of an element."""
    name, value, car = vectors.columns_of(step["value"])
    time = None if step["ts"] is None else instant(base + step["ts"])
    gap = vectors.milliseconds(step["gap_ms"]) if "gap_ms" in step else None
    listed = [(instant(base + a), instant(base + b)) for a, b in step.get("windows", [])]
    return (False, vectors.key_of(step), name, value, time, gap, listed, car)


def control(ms: int) -> tuple[Any, ...]:
    """A row that moves the watermark there."""
    return (True, None, None, None, instant(ms + FAR_MS), None, None, None)


def watermark_of(step: dict[str, Any], base: int) -> int:
    """Flink's says that nothing at it will come, Spark's that nothing before it will."""
    return base + int(min(step["ts"], FAR_MS)) + 1


def on_clock(vector: Vector, base: int) -> list[list[wall_clock.Step]]:
    """The same with a wall clock that is set by hand."""
    runs: list[list[wall_clock.Step]] = [[]]
    records: Batch = []

    def flush() -> None:
        if records:
            runs[-1].append(list(records))
            records.clear()

    for step in vector["steps"]:
        if step["op"] == "element":
            # Flink's records have times there too, which need not be any.
            timeless = {"ts": None} if vectors.is_on_clock(vector) else {}
            records.append(record(step | timeless, base))
        elif step["op"] == "processing_time":
            flush()
            # Flink's clock has passed what it shows, ours what is before it.
            now = base - BASE_MS + step["ts"]
            runs[-1] += [(now + 1) / 1000, now / 1000]
        elif step["op"] == "watermark" and not vectors.is_on_clock(vector):
            flush()
            runs[-1].append([control(watermark_of(step, base))])
        elif step["op"] == "snapshot_restore":
            flush()
            runs.append([])
    flush()
    return runs


def ends_by_draining(vector: Vector) -> bool:
    """Whether the query has to end for the vector's last results to come."""
    return bool(vector["trigger"]["type"] == "end_of_stream")


def has_records_behind(vector: Vector) -> bool:
    """Whether sessions get a record at or behind the watermark, so that its place counts."""
    watermark = -LAST_MS
    for step in vector["steps"]:
        if step["op"] == "watermark":
            watermark = step["ts"]
        elif step["op"] == "element" and (step["ts"] or 0) <= watermark:
            return bool(vector["windows"]["type"] == "session")
    return False
