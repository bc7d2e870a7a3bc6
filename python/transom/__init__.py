"""transom: the window operator that Spark lacks, for PySpark.

``stream(df, time=...).key_by(...).window(...).agg(...)`` is a DataFrame; begin with `stream`.
"""

from transom._version import __version__
from transom.assigners import (
    Calendar,
    Cumulate,
    Global,
    Hopping,
    Session,
    Sliding,
    Tumbling,
    Window,
)
from transom.config import configure, jar_path
from transom.inspection import explain
from transom.stream import Stream, stream
from transom.tagged import route, untag
from transom.time_policies import EventTime
from transom.triggers import AfterWatermark, EndOfStream, Never, Trigger
from transom.windowed import Windowed

__all__ = [
    "AfterWatermark",
    "Calendar",
    "Cumulate",
    "EndOfStream",
    "EventTime",
    "Global",
    "Hopping",
    "Never",
    "Session",
    "Sliding",
    "Stream",
    "Trigger",
    "Tumbling",
    "Window",
    "Windowed",
    "__version__",
    "configure",
    "explain",
    "jar_path",
    "route",
    "stream",
    "untag",
]
