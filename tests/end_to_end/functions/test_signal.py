"""Readings that hold until the next one: edges from `scan`, and windows over their lifetimes."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

SCHEMA = "device string, at timestamp, value int"
AT = datetime(2024, 1, 1)
Reading = tuple[str, datetime, int]
Segment = tuple[datetime, datetime, int, int]


def hold(rows: pa.Table, context: transom.Context) -> pa.Table:
    """Return the end of the reading before, and the start of this one."""
    assert context.window is not None
    state, now = context.key_state, context.window.start
    edges = []
    if state["start"] is not None:
        edges.append({"start": state["start"], "end": now, "value": state["value"]})
    value = rows["value"][-1].as_py()
    edges.append({"start": now, "end": None, "value": value})
    state.update(start=now, value=value)
    time = pa.timestamp("us", "UTC")
    schema = pa.schema([("start", time), ("end", time), ("value", pa.int32())])
    return pa.Table.from_pylist(edges, schema)


def total(readings: DataFrame) -> DataFrame:
    """The sum of the values of all devices, and their number, at each time."""
    by_device = transom.stream(readings, time=transom.EventTime("at", delay="2 minutes"))
    edges = by_device.key_by("device").scan(
        hold, "start timestamp, end timestamp, value int", state="start timestamp, value int"
    )
    held = transom.stream(
        edges,
        time=transom.TimePolicy("start"),
        order=F.coalesce("end", "start"),
        lifetime=transom.Lifetime("end", id=["device"]),
    )
    return held.window_all(transom.Snapshot()).agg(sum=F.sum("value"), devices=F.count("*"))


def expected(readings: list[Reading]) -> list[Segment]:
    """The same from a walk over all readings, up to the last one."""
    found: list[Segment] = []
    values: dict[str, int] = {}
    times = sorted({at for _, at, _ in readings})
    for start, end in pairwise(times):
        values |= {device: value for device, at, value in readings if at == start}
        found.append((start, end, sum(values.values()), len(values)))
    return found


def test_the_signal_of_a_stream_changes_when_a_reading_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = random.Random(7)
    readings: list[Reading] = []
    for device in ("a", "b", "c"):
        at = AT
        for _ in range(40):
            at += timedelta(seconds=source.randint(1, 90))
            readings.append((device, at, source.randint(0, 99)))
    # Readings come at most a minute late.
    readings.sort(key=lambda reading: reading[1] + timedelta(seconds=source.randint(0, 60)))
    batches = [readings[start : start + 24] for start in range(0, len(readings), 24)]
    closing = ("a", AT + timedelta(days=1), 0)
    found: list[Row] = []
    for part in (batches[:3], [*batches[3:], [closing]]):
        found += run_stream(spark, total, SCHEMA, part, checkpoint=tmp_path).results
    segments = [(row["window"][0], row["window"][1], row["sum"], row["devices"]) for row in found]
    # The last reading closes all windows before it. Its own has not begun.
    assert sorted(segments) == expected([*readings, closing])[: len(segments)]
    assert len(segments) >= len({at for _, at, _ in readings}) - 1
