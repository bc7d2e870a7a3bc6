"""A preset with the words and defaults of StreamInsight.

`stream` stands for a stream with its settings of application time. The functions of windows stand
for the extension methods of the same names. `transom.Windowed.agg`, `transom.Windowed.top` and
`transom.Windowed.apply` stand for the ``select`` over a window.

The column ``lifetime`` of a result is the lifetime of its event.
"""

from transom.streaminsight.source import (
    AdvanceTimeSettings,
    IncreasingStartTime,
    UnorderedStartTime,
    stream,
)
from transom.streaminsight.windows import (
    countByStartTimeWindow,
    hoppingWindow,
    snapshotWindow,
    tumblingWindow,
)

__all__ = [
    "AdvanceTimeSettings",
    "IncreasingStartTime",
    "UnorderedStartTime",
    "countByStartTimeWindow",
    "hoppingWindow",
    "snapshotWindow",
    "stream",
    "tumblingWindow",
]
