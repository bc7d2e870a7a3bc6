"""The types that appear in the signatures of transom, for annotations of your own code.

Examples
--------
>>> from pyspark.sql import DataFrame
>>> from transom.typing import Duration
>>> def hours(df: DataFrame, delay: Duration) -> DataFrame:
...     clock = transom.EventTime("departed", delay=delay)
...     return transom.stream(df, time=clock).window(transom.Tumbling("1 hour")).agg(n=F.count("*"))
"""

from transom._base.columns import Schema
from transom._base.durations import Duration
from transom._base.expressions import Col, Condition, Delta
from transom.atlas.durations import JsonDuration
from transom.atlas.windows import Boundary
from transom.azure.source import OutOfOrderPolicy
from transom.spec.firing.evictors import Eviction
from transom.spec.firing.triggers import IntervalClock
from transom.spec.times.idle_timeout import IdleRule
from transom.spec.times.time_policies import Time
from transom.spec.window_spec import Layout, OutputPolicy, RowsForm
from transom.spec.windows.assigners import Closed
from transom.spec.windows.calendar import Unit, Weekday
from transom.spec.windows.grids import Stagger
from transom.spec.windows.sessions import Gap, LateStart, MaxCheck
from transom.streaminsight.windows import StreamInsightPolicy
from transom.tagged import Writer
from transom.windowed import Rows

__all__ = [
    "Boundary",
    "Closed",
    "Col",
    "Condition",
    "Delta",
    "Duration",
    "Eviction",
    "Gap",
    "IdleRule",
    "IntervalClock",
    "JsonDuration",
    "LateStart",
    "Layout",
    "MaxCheck",
    "OutOfOrderPolicy",
    "OutputPolicy",
    "Rows",
    "RowsForm",
    "Schema",
    "Stagger",
    "StreamInsightPolicy",
    "Time",
    "Unit",
    "Weekday",
    "Writer",
]
