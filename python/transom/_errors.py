"""PySpark errors with transom's conditions and texts.

The name of a condition is ``TRANSOM_`` and a key of ``_TEXTS``. Each text names the argument, and
says what is wrong, why, and what to write instead.
"""

from pyspark.errors import PySparkRuntimeError, PySparkTypeError, PySparkValueError

_TEXTS = {
    "BAD_CHOICE": "{argument} is {value}. Give one of {choices}.",
    "BAD_DURATION": (
        "{argument} is {value}, which cannot be used as a duration: {why}. Give text such as "
        "'1 hour 30 minutes', or a timedelta."
    ),
    "BAD_FUNCTION": (
        "{argument} is {value}, which cannot be called with {arguments}. Give {expected}."
    ),
    "BAD_NAME": (
        "{argument} is {value}, which cannot be the name of a window stage: it is also that of a "
        "file in the checkpoint and of a metric. Use at most 100 letters, digits, '_', '-' and "
        "'.', beginning with a letter or digit."
    ),
    "BAD_SCHEMA": (
        "{argument} is {value}, which is no schema of results: {why}. Give names and types, as in "
        "'spread double, rows long', or a StructType."
    ),
    "BAD_TYPE": "{argument} is {value}, of type {type}. Give {expected}.",
    "CANNOT_MERGE": (
        "{argument} has {value}, which remembers something of one window alone, and {window} "
        "windows merge. Use another trigger, or windows that do not merge."
    ),
    "CLOCK_IN_BATCH": (
        "{argument} is ProcessingTime(), but the DataFrame is static: all its rows would be read "
        "at one time. Say which column holds the time, as in stream(df, time='departed')."
    ),
    "CONFLICT": "{step} and {other} exclude each other: {why}. Leave one out.",
    "CONNECT_UNSUPPORTED": (
        "This DataFrame belongs to a Spark Connect session, whose JVM Python cannot reach. Use a "
        "classic session: SparkSession.builder.master(...) in place of remote(...)."
    ),
    "FUNCTION_FAILED": (
        "{function} failed for {where}: {problem}. Its traceback is below. Let it expect such "
        "rows, or filter them out before."
    ),
    "FUNCTION_SCHEMA": (
        "{function} returned something else than its schema says for {where}: {problem}. Return "
        "just what the schema says."
    ),
    "JAR_BROKEN": (
        "The jar at {path} was added to the session, but transom is not in it. Install the wheel "
        "again, or run 'make build' in a checkout."
    ),
    "JAR_MISSING": (
        "The jar of transom is not at {path}. Install the wheel again, or run 'make build' in a "
        "checkout."
    ),
    "JAR_VERSION": (
        "The session runs the jar of transom {jar}, but the Python package is {package}. Put the "
        "jar that 'python -m transom jar' names in place of the other, and restart Spark."
    ),
    "KEYED": (
        "{argument}() has one window for all rows, but key_by() gave the keys {keys}. Use "
        "window(), or leave key_by() out."
    ),
    "NEEDS_TRIGGER": (
        "A Global window has no end, so it never fires by itself. Say when it does, as in "
        "trigger(transom.EndOfStream())."
    ),
    "NEGATIVE": "{argument} is {value}. It must not be negative: give 0 or more.",
    "NOT_A_MULTIPLE": (
        "{argument} is {value}, which is no multiple of {of}, {step}. Windows grow by {of}, so "
        "make {argument} a whole number of them."
    ),
    "NOT_A_TIMESTAMP": (
        "{argument} is the column {column} of type {type}. Windows need a timestamp, and streaming "
        "ones one with time zone: cast it, or give the window column of an earlier stage."
    ),
    "NOT_EVENT_TIME": (
        "{argument} is a delay in event time, which this stream does not have. Say which column "
        "holds it, as in stream(df, time='departed')."
    ),
    "NOT_IN_PLACE": (
        "{argument} has {inner}, which cannot be inside {outer}: EveryBatch stands alone, and what "
        "comes before and after the end of a window does not fire at its end. Use another trigger."
    ),
    "NOT_POSITIVE": "{argument} is {value}. It must be more than 0: give a positive value.",
    "NOT_TAGGED": (
        "{argument} has no tag column beside struct columns, but {columns}. Only stages with "
        "with_late_rows(), with_dead_letters() or apply(outputs=...) give tagged rows; use others "
        "as they are."
    ),
    "NO_AGGREGATE": (
        "agg() has no aggregate, so a window would have no value. Give at least one, as in "
        "agg(F.count('*'))."
    ),
    "NO_CLOCK": (
        "{value} needs the time of each row, but the stream has none. Say which column holds it, "
        "as in stream(df, time='departed')."
    ),
    "NO_WATERMARK": (
        "{argument} is {column}, which carries no watermark, so no window of this streaming "
        "DataFrame would ever end. Give its delay, as in transom.EventTime(time, delay='10 "
        "minutes'), or name a column that df.withWatermark() was called for."
    ),
    "OFFSET_TOO_LARGE": (
        "{argument} is {value}. Windows repeat after {period}, so give what is left over: less "
        "than {period} either way."
    ),
    "OTHER_WATERMARK": (
        "{argument} is {column}, but the watermark of this streaming DataFrame is on the column "
        "{other}, so windows would not end by their own time. Write time={other}, or compute the "
        "time as a column and call df.withWatermark() for this column alone."
    ),
    "RESERVED_NAME": (
        "{argument} has a column named {column}, a name of transom's own columns. Rename it, as in "
        "F.col(...).alias('other')."
    ),
    "ROUTE_MISSING": (
        "The rows have the tag {tag}, but route() has no writer for it, so they would be lost. "
        "Give {tag}=, if only a function that does nothing."
    ),
    "SET_TWICE": "{argument}() is called twice, and only one call can count. Leave one out.",
    "SPARK_VERSION": (
        "This is Spark {spark}, but transom {package} runs on {supported}. Install one of these, "
        "as with pip install 'pyspark~={newest}.0'."
    ),
    "STATE_WITH_MERGING": (
        "{argument} is kept for each window, but {window} windows merge, and what is kept for two "
        "cannot be. Use key_state, or windows that do not merge."
    ),
    "TOO_MANY_WINDOWS": (
        "{argument} is {value}, so that a row belongs to {windows} windows, above 10000000. Give a "
        "longer slide or a shorter size."
    ),
    "TWO_WATERMARKS": (
        "{argument} gives a watermark, but the DataFrame has one on the column {column}. Leave the "
        "delay out, or take away withWatermark."
    ),
    "UNKNOWN_COLUMN": (
        "{argument} names the column {column}, which the DataFrame does not have. It has {columns}."
    ),
    "UNKNOWN_TAG": "{argument} is {value}, but the rows have the tags {tags}. Give one of these.",
    "UNKNOWN_TIME_ZONE": (
        "{argument} is {value}, which is no known time zone. Give a name such as 'Europe/Rome', or "
        "an offset such as '+02:00'."
    ),
}


def value_error(condition: str, **parameters: object) -> PySparkValueError:
    """Return an error for an argument of the right type that cannot be used."""
    text, parameter_texts = _text(condition, parameters)
    return PySparkValueError(text, f"TRANSOM_{condition}", parameter_texts)


def type_error(argument: str, value: object, expected: str) -> PySparkTypeError:
    """Return an error for an argument of a wrong type."""
    parameters = {"argument": argument, "value": repr(value), "type": type(value).__name__}
    text, parameter_texts = _text("BAD_TYPE", {**parameters, "expected": expected})
    return PySparkTypeError(text, "TRANSOM_BAD_TYPE", parameter_texts)


def column_type_error(argument: str, column: object, kind: object, expected: str) -> Exception:
    """Return an error for a column of a wrong type."""
    parameters = {"argument": argument, "value": column, "type": kind, "expected": expected}
    text, parameter_texts = _text("BAD_TYPE", parameters)
    return PySparkTypeError(text, "TRANSOM_BAD_TYPE", parameter_texts)


def runtime_error(condition: str, **parameters: object) -> PySparkRuntimeError:
    """Return an error about the session, the installation, or a failed user function."""
    text, parameter_texts = _text(condition, parameters)
    return PySparkRuntimeError(text, f"TRANSOM_{condition}", parameter_texts)


def _text(condition: str, parameters: dict[str, object]) -> tuple[str, dict[str, str]]:
    parameter_texts = {name: str(value) for name, value in parameters.items()}
    return _TEXTS[condition].format(**parameter_texts), parameter_texts
