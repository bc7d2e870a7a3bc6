"""The part of a query's output in which two runs of the query must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Row


def exact(rows: Sequence[Row]) -> Counter[str]:
    """All rows."""
    return Counter(str(row) for row in rows)


def last(rows: Sequence[Row]) -> Counter[str]:
    """The largest result of each key and window. The number of firings depends on batches."""
    newest: dict[Any, Row] = {}
    for row in rows:
        known = newest.get((row["key"], row["at"]))
        if known is None or known["rows"] < row["rows"]:
            newest[row["key"], row["at"]] = row
    return exact(list(newest.values()))


def net(rows: Sequence[Row]) -> Counter[str]:
    """The results that no later row retracts."""
    left: Counter[str] = Counter()
    for row in rows:
        sign = -1 if row["change"] == "-U" else 1
        left[str((row["key"], row["at"], row["rows"], row["total"]))] += sign
    assert min(left.values()) >= 0
    return +left


def totals(rows: Sequence[Row]) -> Counter[str]:
    """The number of rows of each key. The windows depend on the wall clock."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["key"]] += row["rows"]
    return counts


Comparison = Callable[[Sequence[Row]], Counter[str]]
