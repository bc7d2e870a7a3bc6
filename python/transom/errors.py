"""Errors: PySpark's classes with conditions and texts of ours.

Every condition is ``TRANSOM_`` and a name. Its text says what is wrong, why, and what to do.
"""

from __future__ import annotations

from pyspark.errors import PySparkRuntimeError, PySparkTypeError, PySparkValueError

_TEXTS = {
    "BAD_TYPE": "`{arg}` must be {expected}, but it is {actual}: give {expected}.",
    "BAD_DURATION": (
        "`{arg}` is {value}, which is no duration: {why}. Give a timedelta or text such as "
        "'1 hour 30 minutes'; months and years have no fixed length (see Calendar)."
    ),
    "NOT_POSITIVE": "`{arg}` is {value}, but it must be more than 0: give a positive value.",
    "NEGATIVE": "`{arg}` is {value}, but it must not be negative: give 0 or more.",
    "BAD_CHOICE": "`{arg}` is {value}, which is unknown: give one of {choices}.",
    "UNKNOWN_COLUMN": (
        "`{arg}` names the column {column}, which the DataFrame does not have: give one of "
        "{columns}."
    ),
    "SET_TWICE": "`{step}` was already set on this builder: take each step once, leave one out.",
    "OFFSET_TOO_LARGE": (
        "`offset` is {value}, but it must be shorter than `{period}` ({length}) either way: "
        "windows start again after each, so give what is left after dividing by it."
    ),
    "NOT_A_MULTIPLE": (
        "`{arg}` is {value}, which is no whole multiple of `{of}` ({length}): windows grow by "
        "`{of}` until they reach `{arg}`; choose lengths that fit."
    ),
    "TOO_MANY_WINDOWS": (
        "`size` / `slide` puts each row into {windows} windows, more than {most}: choose a longer "
        "slide."
    ),
    "UNKNOWN_TIME_ZONE": (
        "`time_zone` is {value}, which is no known time zone: give a name such as 'Europe/Rome' "
        "or 'UTC'."
    ),
    "NO_SLIDING": (
        "`Sliding` means two things: for windows of one size that start at every slide (Spark, "
        "Flink) use `Hopping`; for a window that follows every event (Azure, Kafka) there will be "
        "`Rolling`."
    ),
    "NO_WATERMARK": (
        "`time` is {time}, a streaming column without a watermark: windows would never close. Call "
        "`withWatermark` on the DataFrame or give `EventTime({time}, delay=...)`."
    ),
    "TWO_WATERMARKS": (
        "`delay` is set, but the DataFrame already has a watermark, on {column}: leave out one of "
        "them."
    ),
    "NO_CLOCK": (
        "`{window}` needs a time, but `time` of `stream` is None: name the column of the rows' "
        "time."
    ),
    "NEEDS_TRIGGER": (
        "`Global` windows never end by themselves: call `trigger`, for instance with "
        "`EndOfStream()`."
    ),
    "NO_WINDOW_TRIGGER": (
        "`{trigger}` cannot trigger `{window}` windows yet: leave `trigger` out and they fire when "
        "the watermark passes their end."
    ),
    "NO_AGGREGATE": "`agg` got no aggregate: give at least one, such as F.count('*').",
    "NOT_EVENT_TIME": (
        "`allowed_lateness` needs event time, but the stream has none: give `time` a column."
    ),
    "LATENESS_UNSUPPORTED": (
        "`allowed_lateness` is {value}, but late rows cannot fire a window again yet: leave it "
        "out, give a longer watermark delay instead, or take the late rows with `with_late_rows`."
    ),
    "KEYED_UNSUPPORTED": (
        "`layout` is 'keyed', which this version does not have: leave it at 'auto'."
    ),
    "RESERVED_NAME": (
        "a result would have two columns named {column}: give the key or aggregate another name "
        "with alias."
    ),
    "JAR_MISSING": (
        "the jar of transom is not at {path}: install the wheel anew, or start Spark with "
        "`spark-submit --jars $(python -m transom jar)`."
    ),
    "JAR_VERSION": (
        "Spark runs the jar of transom {found}, but this Python package is {wanted}: use the same "
        "version of both, and restart Spark, which keeps a jar once it is loaded."
    ),
    "SPARK_VERSION": (
        "Spark {found} is not supported: transom runs on Spark {supported}. Install one of these."
    ),
    "CONNECT_UNSUPPORTED": (
        "this is a Spark Connect session, but transom needs the JVM beside Python: use a classic "
        "session, with SPARK_REMOTE and SPARK_CONNECT_MODE_ENABLED unset."
    ),
    "NOT_TAGGED": ("these rows have no `tag` column: `{call}` takes what `with_late_rows` yields."),
    "ROUTE_MISSING": (
        "the rows carry the tag {tag}, for which `route` has no writer: give `{tag}=`, or leave "
        "out the step that asks for these rows."
    ),
    "UNKNOWN_TAG": "`tag` is {tag}, which these rows do not have: give one of {tags}.",
}


def _text(name: str, parameters: dict[str, object]) -> tuple[str, dict[str, str]]:
    shown = {key: str(value) for key, value in parameters.items()}
    return _TEXTS[name].format(**shown), shown


def value_error(name: str, **parameters: object) -> PySparkValueError:
    """Error for a value that cannot be used, with the condition ``TRANSOM_<name>``."""
    text, shown = _text(name, parameters)
    return PySparkValueError(message=text, errorClass=f"TRANSOM_{name}", messageParameters=shown)


def type_error(arg: str, expected: str, value: object) -> PySparkTypeError:
    """Error for an argument of a wrong type, with the condition ``TRANSOM_BAD_TYPE``."""
    text, shown = _text(
        "BAD_TYPE", {"arg": arg, "expected": expected, "actual": type(value).__name__}
    )
    return PySparkTypeError(message=text, errorClass="TRANSOM_BAD_TYPE", messageParameters=shown)


def runtime_error(name: str, **parameters: object) -> PySparkRuntimeError:
    """Error for a session that cannot run windows, with the condition ``TRANSOM_<name>``."""
    text, shown = _text(name, parameters)
    return PySparkRuntimeError(message=text, errorClass=f"TRANSOM_{name}", messageParameters=shown)
