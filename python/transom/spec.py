"""The message that describes a window stage to the JVM.

It has a ``version``, every field always, and a ``kind`` for every choice; columns travel beside it
and are named by index. ``spec/window-spec.schema.json`` is its schema, ``spec/cases`` are examples
that both languages read. Fields of parts that are not built yet hold their defaults.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

VERSION = 1

LateRows = Literal["no", "late", "partly"]


def message(
    *,
    name: str | None,
    keys: int,
    time: Mapping[str, Any] | None,
    window: Mapping[str, Any],
    trigger: Mapping[str, Any],
    aggregates: int,
    drain: bool,
    late_rows: LateRows,
    key_groups: int,
    layout: str,
    clock_us: int,
    row_log: int,
) -> dict[str, Any]:
    """The message for columns that stand in the order keys, time (if any), aggregates.

    Examples
    --------
    >>> sent = message(
    ...     name=None, keys=1, time={"kind": "event_time", "time_column": 1, "delay_us": None},
    ...     window={"kind": "global"}, trigger={"kind": "end_of_stream"}, aggregates=2, drain=False,
    ...     late_rows="no", key_groups=128, layout="auto", clock_us=1000000, row_log=60)
    >>> sent["key_columns"], sent["function"]["aggregate_columns"]
    ([0], [2, 3])
    """
    first_aggregate = keys + (0 if time is None else 1)
    return {
        "version": VERSION,
        "name": name,
        "key_columns": list(range(keys)),
        "time": None if time is None else dict(time),
        "lifetime": None,
        "order_columns": [],
        "window": dict(window),
        "trigger": dict(trigger),
        "evictor": None,
        "function": {
            "kind": "agg",
            "aggregate_columns": list(range(first_aggregate, first_aggregate + aggregates)),
        },
        "allowed_lateness_us": 0,
        "idle_timeout": None,
        "output_policy": None,
        "first_output_us": None,
        "drain": drain,
        "pane": False,
        "retract": False,
        "late_rows": late_rows,
        "dead_letters": False,
        "watermarks": False,
        "key_groups": key_groups,
        "layout": layout,
        "clock_us": clock_us,
        "row_log": row_log,
    }


def encode(sent: Mapping[str, Any]) -> str:
    """The message as JSON text, fields in the order of the schema."""
    return json.dumps(sent)
