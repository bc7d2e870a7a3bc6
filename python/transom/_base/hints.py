"""What to write instead of a name that a builder does not have."""

from transom._base.misplaced import Hint, Hints

_WINDOW = "window(transom.Tumbling('1 hour'))"
_STEPS = (
    "allowed_lateness",
    "changes_only",
    "drain",
    "evictor",
    "first_output",
    "idle_timeout",
    "options",
    "output_policy",
    "retract",
    "trigger",
    "with_dead_letters",
    "with_late_rows",
    "with_pane",
    "with_watermarks",
)
_AGGREGATES = ("avg", "count", "max", "mean", "min", "sum")
_GROUPING = ("groupBy", "group_by", "groupby", "keyBy", "partitionBy", "partition_by")
# Methods of a DataFrame that change its rows.
_OF_ROWS = ("drop", "dropDuplicates", "filter", "join", "select", "union", "where", "withColumn")
_WATERMARKS = ("withWatermark", "with_watermark", "watermark")


def _aggregate(name: str) -> str:
    return "agg(n=F.count('*'))" if name == "count" else f"agg(F.{name}(...))"


_WATERMARK: Hint = (
    "the time of a stream sets its watermark",
    "stream(df, time=transom.EventTime(..., delay='10 minutes'))",
)

STREAM_HINTS: Hints = {
    **dict.fromkeys(_GROUPING, ("the keys of a stream group its rows", "key_by(...)")),
    **{name: (f"{name}() sets up windows", f"{_WINDOW}.{name}(...)") for name in _STEPS},
    **{
        name: ("only windows have aggregates", f"{_WINDOW}.{_aggregate(name)}")
        for name in _AGGREGATES
    },
    "agg": ("only windows have aggregates", f"{_WINDOW}.agg(n=F.count('*'))"),
    "apply": ("a function gets the rows of a window", f"{_WINDOW}.apply(...)"),
    "top": ("only windows have first rows", f"{_WINDOW}.top(...)"),
    "session_window": ("a session is a window", "window(transom.Session('5 minutes'))"),
    "windowAll": ("Flink's windowAll is window_all", "window_all(transom.Tumbling('1 hour'))"),
    **dict.fromkeys(_WATERMARKS, _WATERMARK),
    **{
        name: ("rows change before stream()", f"stream(df.{name}(...), time=...)")
        for name in _OF_ROWS
    },
}
# For all other attributes of a DataFrame and its writer.
STREAM_IS_NO_DATAFRAME: Hint = (
    "a stream is a DataFrame again after its windows have a result",
    f"{_WINDOW}.agg(n=F.count('*'))",
)

_KEYS_FIRST: Hint = (
    "the keys come before the windows",
    f"stream(...).key_by(...).{_WINDOW}",
)
_WINDOWED_ONCE: Hint = (
    "these rows have their windows",
    "window(transom.Windows({'hour': ..., 'day': ...})) for several windows",
)

WINDOWED_HINTS: Hints = {
    **dict.fromkeys((*_GROUPING, "key_by"), _KEYS_FIRST),
    **dict.fromkeys(("window", "window_all"), _WINDOWED_ONCE),
    **{name: ("aggregates are the arguments of agg()", _aggregate(name)) for name in _AGGREGATES},
    "aggregate": ("Flink's aggregate is agg", "agg(n=F.count('*'))"),
    "process": ("Flink's process is apply", "apply(function, 'spread double')"),
    "reduce": ("reduce makes an aggregate", "agg(transom.reduce(..., lambda a, b: a + b))"),
    **dict.fromkeys(
        ("allowedLateness", "lateness"),
        ("the name here is allowed_lateness", "allowed_lateness('15 minutes')"),
    ),
    **dict.fromkeys(
        ("sideOutputLateData", "side_output_late_data", "late_rows"),
        ("late rows are tagged rows", "with_late_rows()"),
    ),
    "scan": ("scan() has no windows", "stream(...).key_by(...).scan(...)"),
    "stamped": ("stamped() has no windows", "stream(...).stamped()"),
    **dict.fromkeys(_WATERMARKS, _WATERMARK),
}
WINDOWED_IS_NO_DATAFRAME: Hint = (
    "windows are a DataFrame only after agg(), apply() or top()",
    "agg(n=F.count('*'))",
)

STREAM_KEYWORDS: Hints = {
    **dict.fromkeys(
        ("delay", "watermark", "withWatermark"),
        (
            "the delay of the watermark belongs to the time",
            "stream(df, time=transom.EventTime(..., delay=<value>))",
        ),
    ),
    **dict.fromkeys(
        ("key", "keys", "key_by"), ("the keys are a step", "stream(...).key_by(<value>)")
    ),
    **dict.fromkeys(
        ("event_time", "eventTime", "timestamp"), ("the name is time", "stream(df, time=<value>)")
    ),
}
# Directions as sort() has them.
TOP_KEYWORDS: Hints = {
    **dict.fromkeys(
        ("ascending", "descending"),
        ("each column has its direction", "top(3, F.desc(...), F.asc(...))"),
    ),
    "order_by": ("the order has no keyword", "top(3, F.desc(...))"),
}
_SPARK_TRIGGER: Hint = (
    "a trigger of windows says when a window fires, and Spark's trigger when a batch starts",
    "df.writeStream.trigger(<argument>) after agg()",
)
OPTIONS_KEYWORDS: Hints = {
    "checkpointLocation": (
        "the checkpoint belongs to the query",
        "df.writeStream.option('checkpointLocation', <value>) after agg()",
    ),
}
TRIGGER_KEYWORDS: Hints = dict.fromkeys(
    ("availableNow", "continuous", "once", "processingTime", "realTime"), _SPARK_TRIGGER
)
ATLAS_SESSION_KEYWORDS: Hints = {
    "idleTimeout": ("a session has no idle timeout", "sessionWindow(...).idle_timeout('1 minute')"),
    "offset": ("a session starts at its first row", "sessionWindow(...) without it"),
}
