"""The events of a worked example as the rows of a query."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

Json = dict[str, Any]
Row = tuple[Any, ...]

QUICK = bool(os.environ.get("TRANSOM_QUICK"))

# Fields of an event that are not columns.
_NO_COLUMNS = {"kind", "partition_error", "payload", "wall_time"}
_TIMES = {"event_time", "arrival_time", "processing_time", "start", "end"}
_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "bigint", float: "double"}


@dataclass(frozen=True)
class Table:
    """Rows of one schema, in the order in which they arrive."""

    types: dict[str, str]
    rows: list[Row]

    @property
    def schema(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in self.types.items())

    def column(self, name: str, rows: Iterable[Row] | None = None) -> list[Any]:
        """The values of a column, in all or some of the rows."""
        place = list(self.types).index(name)
        return [row[place] for row in (self.rows if rows is None else rows)]

    def cuts(self, seed: str) -> dict[str, list[Sequence[Row]]]:
        """The ways to cut the rows into micro-batches.

        The random batches also have their rows in another order. With TRANSOM_QUICK there are
        only two or three random batches, if there are enough rows.
        """
        ways: dict[str, list[Sequence[Row]]] = {"row by row": [[row] for row in self.rows]}
        count = len(self.rows)
        if count > 1:
            ways["in one batch"] = [self.rows]
        if count > 2:
            chosen = random.Random(seed)
            most = min(count - 1, 3) if QUICK else count - 1
            cuts = sorted(chosen.sample(range(1, count), chosen.randrange(1, most)))
            parts = [self.rows[start:end] for start, end in pairwise([0, *cuts, count])]
            ways["in random batches"] = [chosen.sample(part, len(part)) for part in parts]
        return dict([*ways.items()][-1:]) if QUICK else ways


def table(events: Iterable[Json], **added: str) -> Table:
    """The rows of events: their place, all their fields, and the fields of their payload.

    `added` has the types of columns that some of the events have and that are null in the others.
    """
    found: list[Json] = [{"place": place, **columns(event)} for place, event in enumerate(events)]
    types = {"place": "int"} | added
    for row in found:
        for name, value in row.items():
            if value is not None and name != "place":
                kind = "timestamp" if isinstance(value, datetime) else _TYPES[type(value)]
                # A column with integers and fractions is a double.
                if types.get(name) != "double":
                    types[name] = kind
    # Spark rejects an integer in a double column.
    rows = [
        tuple(
            float(row[name]) if kind == "double" and row.get(name) is not None else row.get(name)
            for name, kind in types.items()
        )
        for row in found
    ]
    return Table(types, rows)


def columns(event: Json) -> Json:
    """The fields of an event and of its payload. Infinity is null."""
    fields = {name: value for name, value in event.items() if name not in _NO_COLUMNS}
    for name in _TIMES & {*fields}:
        value = fields[name]
        fields[name] = None if value == "+inf" else instant(value)
    return {**fields, **event.get("payload", {})}


def instant(text: str | datetime) -> datetime:
    """An instant of a vector, in UTC without a time zone."""
    time = datetime.fromisoformat(text) if isinstance(text, str) else text
    return time.replace(tzinfo=None)


def milliseconds(settings: Json, name: str) -> timedelta:
    """A duration of the settings."""
    return timedelta(milliseconds=settings[f"{name}_ms"])
