"""A preset with the words, defaults and limits of Azure Stream Analytics.

Names and arguments are those of its query language and its job settings. `stream` stands for the
FROM clause with TIMESTAMP BY. `transom.Stream.key_by` and `transom.Stream.window` stand for GROUP
BY, and `transom.Windowed.agg` for SELECT.

The column ``window.end`` of a result is its ``System.Timestamp()``. For an input row,
``System.Timestamp()`` is the column ``stamp.time`` of `transom.Stream.stamped`.
"""

from transom.azure.several import Window, Windows
from transom.azure.source import stream
from transom.azure.windows import (
    HoppingWindow,
    SessionWindow,
    SlidingWindow,
    SnapshotWindow,
    TumblingWindow,
)

__all__ = [
    "HoppingWindow",
    "SessionWindow",
    "SlidingWindow",
    "SnapshotWindow",
    "TumblingWindow",
    "Window",
    "Windows",
    "stream",
]
