"""transom: exact event-time windows for PySpark.

Start a query with `stream`. ``stream(df, time=...).key_by(...).window(...).agg(...)`` returns a
DataFrame.
"""

# First, because the other modules import names that unsupported versions of PySpark lack.
from transom import _supported as _supported
from transom import atlas, azure, streaminsight
from transom import typing as typing
from transom._base.errors import TransomWarning
from transom._built_stream import Stream
from transom._version import __version__
from transom.accumulators import Accumulator
from transom.aggregates import reduce, udaf
from transom.config import configure, jar_path
from transom.functions import Context
from transom.inspection.explanation import explain
from transom.inspection.metrics import Metrics, PartitionMetrics, metrics
from transom.spec.assigners import Count, Custom, Global, Sliding, Window
from transom.spec.calendar import Calendar
from transom.spec.end_triggers import AfterClock, AfterLateness, EndOfStream
from transom.spec.evictors import Evictor, KeepLast, KeepNear, KeepRecent, KeepWhere
from transom.spec.grids import Cumulate, Hopping, Tumbling
from transom.spec.lifetimes import CountByStart, Lifetime, Rolling, Snapshot
from transom.spec.sessions import Session
from transom.spec.several import Windows
from transom.spec.time_policies import EventTime, ProcessingTime, TimePolicy
from transom.spec.time_rules import Accept, Adjust, Drop, Periodic, Punctuated
from transom.spec.triggers import (
    AfterCount,
    AfterDelta,
    Every,
    EveryBatch,
    Never,
    Trigger,
    When,
)
from transom.spec.wrapping_triggers import AfterWatermark, ProcessingTimeout, Purging
from transom.starts import earliest_input
from transom.stream import stream
from transom.tagged import route, untag
from transom.windowed import Windowed

__all__ = [
    "Accept",
    "Accumulator",
    "Adjust",
    "AfterClock",
    "AfterCount",
    "AfterDelta",
    "AfterLateness",
    "AfterWatermark",
    "Calendar",
    "Context",
    "Count",
    "CountByStart",
    "Cumulate",
    "Custom",
    "Drop",
    "EndOfStream",
    "EventTime",
    "Every",
    "EveryBatch",
    "Evictor",
    "Global",
    "Hopping",
    "KeepLast",
    "KeepNear",
    "KeepRecent",
    "KeepWhere",
    "Lifetime",
    "Metrics",
    "Never",
    "PartitionMetrics",
    "Periodic",
    "ProcessingTime",
    "ProcessingTimeout",
    "Punctuated",
    "Purging",
    "Rolling",
    "Session",
    "Sliding",
    "Snapshot",
    "Stream",
    "TimePolicy",
    "TransomWarning",
    "Trigger",
    "Tumbling",
    "When",
    "Window",
    "Windowed",
    "Windows",
    "__version__",
    "atlas",
    "azure",
    "configure",
    "earliest_input",
    "explain",
    "jar_path",
    "metrics",
    "reduce",
    "route",
    "stream",
    "streaminsight",
    "udaf",
    "untag",
]
