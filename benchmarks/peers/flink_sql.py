"""The queries as Flink SQL: window table-valued functions over a table ``events``."""

from typing import Any

import transom
from benchmarks.queries.catalogue import Query, micros


def select(query: Query) -> str:
    """Return the query, with the columns that all peers write."""
    aggregates = ", ".join(f"{sql} AS {name}" for name, sql in query.aggregates.items())
    return (
        f"SELECT k, window_start, window_end, {aggregates} FROM TABLE({_window(query)}) "
        "GROUP BY k, window_start, window_end"
    )


def columns(query: Query) -> str:
    """Return the names and types of the result columns, for CREATE TABLE."""
    types = {
        name: "BIGINT" if sql.startswith("count") else "DOUBLE"
        for name, sql in query.aggregates.items()
    }
    named = {"k": key_type(query), "`start`": "TIMESTAMP(3)", "`end`": "TIMESTAMP(3)"} | types
    return ", ".join(f"{name} {sql}" for name, sql in named.items())


def key_type(query: Query) -> str:
    """Return the type of the column ``k``."""
    return "STRING" if query.long_keys else "BIGINT"


def _window(query: Query) -> str:
    window: Any = query.window  # of several kinds, with lengths of their own
    if isinstance(query.window, transom.Session):
        return f"SESSION(TABLE events PARTITION BY k, DESCRIPTOR(`at`), {_interval(window.gap)})"
    size = _interval(window.size)
    if isinstance(query.window, transom.Hopping):
        return f"HOP(TABLE events, DESCRIPTOR(`at`), {_interval(window.slide)}, {size})"
    return f"TUMBLE(TABLE events, DESCRIPTOR(`at`), {size})"


def _interval(length: Any) -> str:
    seconds, millis = divmod(micros(length) // 1000, 1000)
    return f"INTERVAL '{seconds}.{millis:03}' SECOND(4, 3)"
