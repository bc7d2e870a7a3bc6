"""transom: exact event-time windows for PySpark.

Start a query with `stream`. ``stream(df, time=...).key_by(...).window(...).agg(...)`` returns a
DataFrame.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# First, because the other modules import names that unsupported versions of PySpark lack.
from transom import _supported as _supported
from transom._base.errors import TransomWarning
from transom._base.names import missing_name
from transom._version import __version__
from transom.accumulators import Accumulator
from transom.aggregates import reduce, udaf
from transom.config import configure, jar_path
from transom.functions import Context
from transom.inspection.explanation import explain
from transom.inspection.metrics import Metrics, PartitionMetrics, metrics
from transom.spec.firing.end_triggers import AfterClock, AfterLateness, EndOfStream
from transom.spec.firing.evictors import Evictor, KeepLast, KeepNear, KeepRecent, KeepWhere
from transom.spec.firing.triggers import (
    AfterCount,
    AfterDelta,
    Every,
    EveryBatch,
    Never,
    Trigger,
    When,
)
from transom.spec.firing.wrapping_triggers import AfterWatermark, ProcessingTimeout, Purging
from transom.spec.times.time_policies import EventTime, ProcessingTime, TimePolicy
from transom.spec.times.time_rules import Accept, Adjust, Drop, Periodic, Punctuated
from transom.spec.windows.assigners import Count, Custom, Global, Sliding, Window
from transom.spec.windows.calendar import Calendar
from transom.spec.windows.grids import Cumulate, Hopping, Tumbling
from transom.spec.windows.lifetimes import CountByStart, Lifetime, Rolling, Snapshot
from transom.spec.windows.sessions import Session
from transom.spec.windows.several import Windows
from transom.starts import earliest_input
from transom.stream import Stream, stream
from transom.tagged import route, to_topics, untag
from transom.windowed import Windowed

if TYPE_CHECKING:
    from transom import atlas, azure, streaminsight
    from transom import typing as typing

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
    "to_topics",
    "udaf",
    "untag",
]

# Imported when they are first used. `typing` has types of the presets.
_LATER = ("atlas", "azure", "streaminsight", "typing")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


# Type checkers do not see this function, so they report unknown names.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            return import_module(f"transom.{name}")
        steps = {"transom.stream(...)": Stream, "transom.stream(...).window(...)": Windowed}
        raise missing_name(name, __all__, steps)
