"""Test vectors whose windows go by the wall clock, as steps of a query whose clock is set."""

from __future__ import annotations

from typing import Any

from tests.end_to_end.vectors import Vector, columns_of, key_of
from tests.end_to_end.wall_clock import Step


def steps_of(vector: Vector, base: int) -> list[list[Step]]:
    """The steps of a vector between two restarts each, `base` milliseconds later."""
    runs: list[list[Step]] = [[]]
    records: list[tuple[Any, ...]] = []

    def flush() -> None:
        if records:
            runs[-1].append(list(records))
            records.clear()

    for step in vector["steps"]:
        if step["op"] == "element":
            name, value, car = columns_of(step["value"])
            records.append((False, key_of(step), name, value, None, None, None, car))
        elif step["op"] == "processing_time":
            flush()
            # Flink's clock has passed what it shows, ours what is before it.
            now = base + step["ts"]
            runs[-1] += [(now + 1) / 1000, now / 1000]
        elif step["op"] == "snapshot_restore":
            flush()
            runs.append([])
    flush()
    return runs
