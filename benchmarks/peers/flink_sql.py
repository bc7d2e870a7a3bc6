"""The queries as Flink SQL over a table ``events``.

Windows are table-valued functions. Rolling windows are ``OVER`` windows, which have a result for
each row, and none when a row leaves.
"""

from datetime import timedelta
from typing import Any

import transom
from benchmarks.queries.catalogue import Query, micros


def select(query: Query) -> str:
    """Return the query, with the columns that all peers write."""
    if isinstance(query.window, transom.Rolling):
        return _over(query, query.window.size)
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


def _over(query: Query, size: Any) -> str:
    # Both bounds belong to a range, and transom's windows are (end - size, end]. Times are in
    # milliseconds. In expressions, Flink takes no interval of more than two digits of seconds.
    before = _interval(size - timedelta(milliseconds=1), digits=2)
    start = f"CAST(`at` - {_interval(size, digits=2)} AS TIMESTAMP(3))"
    aggregates = ", ".join(
        f"{sql} OVER rolling AS {name}" for name, sql in query.aggregates.items()
    )
    return (
        f"SELECT k, {start}, CAST(`at` AS TIMESTAMP(3)), {aggregates} FROM events "
        "WINDOW rolling AS (PARTITION BY k ORDER BY `at` "
        f"RANGE BETWEEN {before} PRECEDING AND CURRENT ROW)"
    )


def _interval(length: Any, digits: int = 4) -> str:
    seconds, millis = divmod(micros(length) // 1000, 1000)
    return f"INTERVAL '{seconds}.{millis:03}' SECOND({digits}, 3)"
