"""transom: the window operator that Spark lacks, for PySpark.

Begin with `stream`: ``stream(df, time=...).key_by(...).window(...).agg(...)`` is a DataFrame.
"""

from transom._version import __version__
from transom.assigners import Calendar, Cumulate, Hopping, Tumbling, Window
from transom.clocks import EventTime
from transom.config import configure, jar_path
from transom.sessions import Global, Session, Sliding
from transom.streams import Stream, stream
from transom.tagged import route, untag
from transom.triggers import EndOfStream, Trigger
from transom.windowed import Windowed, explain

__all__ = [
    "Calendar",
    "Cumulate",
    "EndOfStream",
    "EventTime",
    "Global",
    "Hopping",
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
