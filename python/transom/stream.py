"""Where windows begin: the rows of a DataFrame, their time and their keys."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructField, TimestampNTZType

from transom._columns import (
    HIDDEN_TIME,
    Col,
    check_column,
    column,
    fields_of,
    has_watermark,
    is_time,
    text_of,
)
from transom._durations import micros
from transom._errors import type_error, value_error
from transom.assigners import Global, Window
from transom.spec import WindowSpec
from transom.time_policies import EventTime, Time
from transom.windowed import Windowed


def stream(df: DataFrame, *, time: Time | None = None, order: Col | Sequence[Col] = ()) -> "Stream":
    """Begin a query over windows of a DataFrame, streaming or static.

    Parameters
    ----------
    df : DataFrame
        The rows.
    time : str, Column or EventTime, optional
        When a row happened; a name means ``EventTime(name)``. The ``window`` of an earlier stage
        stands for its last instant. Only `Global` windows can do without.
    order : str, Column or a sequence of them
        Columns that tell in which order the rows arrived.

    Returns
    -------
    Stream
        An immutable builder, on which `Stream.key_by` and `Stream.window` go on.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN``, ``TRANSOM_NOT_A_TIMESTAMP``; if ``df`` is streaming,
        ``TRANSOM_NO_WATERMARK`` for a time without one and ``TRANSOM_TWO_WATERMARKS`` for a
        ``delay`` on top of one.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = [("JFK", "2013-01-01 05:40:00"), ("JFK", "2013-01-01 05:55:00")]
    >>> flights = spark.createDataFrame(rows, "origin string, at string")
    >>> clock = transom.EventTime(F.to_timestamp("at"), delay="10 minutes")
    >>> by_origin = transom.stream(flights, time=clock).key_by("origin")
    >>> by_origin.window(transom.Tumbling(size="1 hour")).agg(F.count("*").alias("n")).show()
    +------+--------------------+---+
    |origin|              window|  n|
    +------+--------------------+---+
    |   JFK|{2013-01-01 05:00...|  2|
    +------+--------------------+---+
    """
    if not isinstance(df, DataFrame):
        raise type_error("df", df, "a DataFrame")
    if not isinstance(order, str | Column | Sequence):
        raise type_error("order", order, "columns or their names")
    ordered = (order,) if isinstance(order, str | Column) else tuple(order)
    for named in ordered:
        check_column("order", named)
    fields_of(df, "order", ordered)
    if time is None:
        return Stream(df, None, ordered)
    clock = time if isinstance(time, EventTime) else EventTime(time)
    (field,) = fields_of(df, "time", [clock.time])
    # Spark has no watermarks on timestamps without a time zone.
    cannot_carry_one = df.isStreaming and field.dataType == TimestampNTZType()
    if cannot_carry_one or not is_time(field.dataType):
        raise value_error(
            "NOT_A_TIMESTAMP",
            argument="time",
            column=repr(text_of(clock.time)),
            type=field.dataType.simpleString(),
        )
    if df.isStreaming:
        df, clock = _with_watermark(df, clock, field)
    return Stream(df, clock, ordered)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream:
    """Rows with a time, as `stream` makes them; it never changes, so one may serve many windows."""

    _df: DataFrame
    _time: EventTime | None
    _order: tuple[Col, ...]
    _keys: tuple[Col, ...] | None = None

    def key_by(self, *keys: Col) -> "Stream":
        """Give each combination of the columns' values windows of its own.

        Parameters
        ----------
        *keys : str or Column
            None of them means one key for all rows. Null is a key like others.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``, ``TRANSOM_UNKNOWN_COLUMN``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        if self._keys is not None:
            raise value_error("SET_TWICE", argument="key_by")
        for key in keys:
            check_column("keys", key)
        fields_of(self._df, "keys", keys)
        return replace(self, _keys=keys)

    def window(self, window: Window) -> Windowed:
        """Put the rows into windows.

        Parameters
        ----------
        window : Tumbling, Hopping, Cumulate, Calendar, Session or Global
            Which rows belong together.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` if the stream has no time, but for `Global`.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        if not isinstance(window, Window):
            raise type_error("window", window, "a window such as transom.Tumbling(size='1 hour')")
        if self._time is None and not isinstance(window, Global):
            raise value_error("NO_CLOCK", argument="window", window=type(window).__name__)
        spec = WindowSpec(keys=self._keys or (), time=self._time, order=self._order, window=window)
        return Windowed(self._df, spec)


def _with_watermark(
    df: DataFrame, clock: EventTime, field: StructField
) -> tuple[DataFrame, EventTime]:
    if clock.delay is None:
        if not has_watermark(field):
            raise value_error("NO_WATERMARK", argument="time", column=repr(text_of(clock.time)))
        return df, clock
    for other in df.schema:
        if has_watermark(other):
            raise value_error("TWO_WATERMARKS", argument="time", column=repr(other.name))
    name = text_of(clock.time)
    if name not in df.columns:
        # withWatermark takes only columns of the DataFrame itself.
        df, name = df.withColumn(HIDDEN_TIME, column(clock.time)), HIDDEN_TIME
    quoted = "`" + name.replace("`", "``") + "`"
    delay = f"{micros(clock.delay)} microseconds"
    return df.withWatermark(quoted, delay), EventTime(quoted, delay=clock.delay)
