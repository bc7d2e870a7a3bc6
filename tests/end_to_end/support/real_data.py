"""Real events in order of arrival: the files of tests/data."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.time_model import stamping
from tests.time_model.stamping import Bound

DATA = Path(__file__).parents[2] / "data"
SCHEMA = "n int, key string, at long, known long, source string"
MILLISECOND = 1_000
MINUTE = 60_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
# The rules of a policy concern many of the events.
POLICIES = {
    "earthquakes": {
        "accept": stamping.TimePolicy(out_of_order=Bound("accept", 2 * HOUR)),
        "adjust": stamping.TimePolicy(
            late=Bound("adjust", DAY), out_of_order=Bound("adjust", HOUR), floor="arrival"
        ),
        "drop": stamping.TimePolicy(
            late=Bound("drop", DAY), out_of_order=Bound("drop", 6 * HOUR), floor="arrival"
        ),
        "drop and accept": stamping.TimePolicy(
            late=Bound("drop", 12 * HOUR),
            out_of_order=Bound("accept", 30 * MINUTE),
            rows=7,
            floor="arrival",
        ),
    },
    "flights": {
        "accept": stamping.TimePolicy(out_of_order=Bound("accept", 10 * MINUTE)),
        "adjust": stamping.TimePolicy(
            early=Bound("drop", 10 * MINUTE),
            late=Bound("adjust", 30 * MINUTE),
            out_of_order=Bound("adjust", 5 * MINUTE),
            floor="arrival",
        ),
        "drop": stamping.TimePolicy(
            early=Bound("adjust", 5 * MINUTE),
            late=Bound("drop", 45 * MINUTE),
            out_of_order=Bound("drop", 20 * MINUTE),
            floor="arrival",
        ),
        "adjust and accept": stamping.TimePolicy(
            early=Bound("adjust", 5 * MINUTE),
            late=Bound("adjust", 90 * MINUTE),
            out_of_order=Bound("accept", 0),
            rows=3,
            floor="arrival",
        ),
    },
}


class Event(NamedTuple):
    """An event. Its time and arrival are microseconds since 1970."""

    n: int
    key: str
    at: int
    known: int
    source: str


@cache
def earthquakes() -> tuple[Event, ...]:
    """Earthquakes by network. The networks are the partitions."""
    return _in_order(
        (row["net"], int(row["time"]) * MILLISECOND, int(row["updated"]) * MILLISECOND, row["net"])
        for row in _read("earthquakes")
    )


@cache
def flights() -> tuple[Event, ...]:
    """Flights by airport. The first letter of the airport determines one of four partitions."""
    return _in_order(
        (
            row["origin"],
            int(row["minute"]) * MINUTE,
            (int(row["minute"]) + int(row["delay"])) * MINUTE,
            str(ord(row["origin"][0]) % 4),
        )
        for row in _read("flights")
    )


@cache
def machine_temperature() -> tuple[tuple[datetime, float], ...]:
    """Readings every five minutes, in the order of the log. Its clock goes back once."""
    return tuple(
        (datetime.fromisoformat(row["timestamp"]), float(row["value"]))
        for row in _read("machine_temperature")
    )


def in_batches(events: Sequence[Event], count: int) -> list[Sequence[Event]]:
    """Cut events into batches of different sizes."""
    # The sizes are as 1, 2, 3 and so on.
    ends = [len(events) * n * (n + 1) // (count * (count + 1)) for n in range(count + 1)]
    return [list(events[start:end]) for start, end in pairwise(ends)]


EVENTS = {"earthquakes": earthquakes, "flights": flights}


def many(events: Sequence[Event]) -> int:
    """The least number of rows that a rule must concern, so that a comparison shows something."""
    return len(events) // 100


def timed(rows: DataFrame) -> DataFrame:
    """The events with timestamps."""
    return rows.select(
        "n",
        "key",
        "source",
        F.timestamp_micros("at").alias("at"),
        F.timestamp_micros("known").alias("known"),
    )


def _in_order(rows: Iterable[tuple[str, int, int, str]]) -> tuple[Event, ...]:
    """Number events in order of arrival. Partitions order those that arrive together."""
    ordered = sorted(rows, key=lambda row: (row[2], row[3]))
    return tuple(Event(n, *row) for n, row in enumerate(ordered))


def _read(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(DATA / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
