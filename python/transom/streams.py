"""The beginning of a windowed computation: rows, their time and their keys."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from transom import _bridge
from transom.assigners import Window
from transom.clocks import EventTime
from transom.errors import runtime_error, type_error, value_error
from transom.rows import Col, Rows, column_of
from transom.sessions import Global
from transom.windowed import Windowed

# Spark's key for what withWatermark writes beside a column.
_WATERMARK = "spark.watermarkDelayMs"
# The JVM leaves columns with this prefix out of late rows.
_EVENT_TIME = "__transom_event_time"


def stream(df: DataFrame, *, time: Col | EventTime | None = None) -> Stream:
    """Begin a windowed computation over a DataFrame, streaming or static.

    Parameters
    ----------
    df : DataFrame
        The rows. A streaming one needs a watermark, its own or one by `EventTime`.
    time : str, Column or EventTime, optional
        The rows' time: a timestamp, or the ``window`` column of an earlier stage, whose last
        instant counts. None only for `Global` windows.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NO_WATERMARK``, ``TRANSOM_TWO_WATERMARKS``, ``TRANSOM_UNKNOWN_COLUMN``.
    PySparkRuntimeError
        ``TRANSOM_CONNECT_UNSUPPORTED``, ``TRANSOM_SPARK_VERSION``.
    """
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise runtime_error("CONNECT_UNSUPPORTED")
    if not isinstance(df, DataFrame):
        raise type_error("df", "a DataFrame", df)
    _bridge.check_session(df.sparkSession)
    if time is None:
        return Stream(Rows(df))
    clock = time if isinstance(time, EventTime) else EventTime(time)
    column = column_of(df, "time", clock.time)
    marked = [field.name for field in df.schema.fields if _WATERMARK in field.metadata]
    if clock.delay is not None and marked:
        raise value_error("TWO_WATERMARKS", column=marked[0])
    if not df.isStreaming or marked:
        return Stream(Rows(df, column))
    if clock.delay is None:
        raise value_error("NO_WATERMARK", time=repr(clock.time))
    name, delay = clock.time, f"{clock.delay_us} microseconds"
    # A watermark needs a column of its own.
    if not isinstance(name, str) or name not in df.columns:
        df, name = df.withColumn(_EVENT_TIME, column), _EVENT_TIME
    return Stream(Rows(df.withWatermark(name, delay), F.col(name)))


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Rows with a time, made by `stream`; immutable, so one may serve many windows."""

    _rows: Rows

    def key_by(self, *keys: Col) -> Stream:
        """Give every combination of these columns windows of its own; null is a key.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``, ``TRANSOM_UNKNOWN_COLUMN``.
        """
        if self._rows.keys:
            raise value_error("SET_TWICE", step="key_by")
        found = tuple(column_of(self._rows.df, "keys", key) for key in keys)
        return Stream(replace(self._rows, keys=found))

    def window(self, window: Window) -> Windowed:
        """Put the rows into windows.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` without a time, but for `Global`.
        """
        if not isinstance(window, Window):
            raise type_error("window", "a window such as Tumbling(size='1 hour')", window)
        if self._rows.time is None and not isinstance(window, Global):
            raise value_error("NO_CLOCK", window=type(window).__name__)
        return Windowed(self._rows, window)
