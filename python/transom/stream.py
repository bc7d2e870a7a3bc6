"""The entry point: `stream` and the builder that it returns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    StructField,
    StructType,
    TimestampNTZType,
)

from transom._base.columns import (
    HIDDEN_TIME,
    Col,
    check_column,
    column,
    fields_of,
    has_watermark,
    is_time,
    quoted_list,
    text_of,
)
from transom._base.constants import HIDDEN_PREFIX
from transom._base.durations import micros
from transom._base.errors import column_type_error, type_error, value_error
from transom.spec.assigners import Count, Custom, Global, Session, Window
from transom.spec.time_policies import Clock, EventTime, ProcessingTime, Time
from transom.spec.window_spec import WindowSpec
from transom.windowed import Windowed


def stream(df: DataFrame, *, time: Time | None = None, order: Col | Sequence[Col] = ()) -> "Stream":
    """Start a windowed query over a DataFrame, streaming or static.

    Parameters
    ----------
    df : DataFrame
        The input rows.
    time : str, Column, EventTime or ProcessingTime, optional
        The time of a row. A column or its name means ``EventTime(column)``. The column is a
        timestamp, or the ``window`` column of an earlier window operator. The time of such a row is
        the last instant of its window. Only `Count` and `Global` windows work without a time.
    order : str, Column or a sequence of these
        Columns that define the order in which the rows of a micro-batch arrived. Aggregates that
        depend on the order of rows, such as `first`, `last` and `collect_list`, then read rows in
        this order. Such aggregates need the keyed layout. Without ``order`` they read rows in no
        fixed order, as in Spark. If another step needs the keyed layout, they read rows in the
        order of the source.

    Returns
    -------
    Stream
        An immutable builder. Call `Stream.key_by` and `Stream.window` on it.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if ``df`` has no such column. ``TRANSOM_NOT_A_TIMESTAMP`` if
        ``time`` has another type. ``TRANSOM_RESERVED_NAME`` if a column name begins with
        "__transom".

        For a streaming ``df``: ``TRANSOM_NO_WATERMARK`` if ``time`` has no watermark,
        ``TRANSOM_OTHER_WATERMARK`` if another column has one, ``TRANSOM_TWO_WATERMARKS`` if a
        ``delay`` would add a second one.

        For a static ``df``: ``TRANSOM_CLOCK_IN_BATCH`` if ``time`` is `ProcessingTime`.
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
    for name in df.columns:
        # Spark ignores the case of column names.
        if name.lower().startswith(HIDDEN_PREFIX):
            raise value_error("RESERVED_NAME", argument="df", column=repr(name))
    if not isinstance(order, str | Column | Sequence):
        raise type_error("order", order, "Columns or column names")
    order_columns = (order,) if isinstance(order, str | Column) else tuple(order)
    for item in order_columns:
        check_column("order", item)
    fields_of(df, "order", order_columns)
    if time is None:
        return Stream(df, None, order_columns)
    if isinstance(time, ProcessingTime):
        if not df.isStreaming:
            raise value_error("CLOCK_IN_BATCH", argument="time")
        return Stream(df, time, order_columns)
    clock = time if isinstance(time, EventTime) else EventTime(time)
    (field,) = fields_of(df, "time", [clock.time])
    # Spark allows no watermark on a timestamp without time zone.
    cannot_have_watermark = df.isStreaming and field.dataType == TimestampNTZType()
    if cannot_have_watermark or not is_time(field.dataType):
        raise value_error(
            "NOT_A_TIMESTAMP",
            argument="time",
            column=repr(text_of(clock.time)),
            type=field.dataType.simpleString(),
        )
    if df.isStreaming:
        df, clock = _with_watermark(df, clock, field)
    return Stream(df, clock, order_columns)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream:
    """Rows with a time and keys, as `stream` returns them.

    The builder is immutable, so several windowed queries can start from the same `Stream`.
    """

    _df: DataFrame
    _time: Clock | None
    _order: tuple[Col, ...]
    _keys: tuple[Col, ...] | None = None

    def key_by(self, *keys: Col) -> "Stream":
        """Window each combination of key values separately.

        Without this step, and with no columns, all rows have the same key. Null is a key like any
        other.

        Parameters
        ----------
        *keys : str or Column
            The key columns. They become the first columns of the result.

        Returns
        -------
        Stream
            A new builder with these keys.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``, ``TRANSOM_UNKNOWN_COLUMN``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> rows = [("JFK", "2013-01-01 05:40:00"), ("LGA", "2013-01-01 05:55:00")]
        >>> flights = spark.createDataFrame(rows, "origin string, at string")
        >>> by_origin = transom.stream(flights, time=F.to_timestamp("at")).key_by("origin")
        >>> hours = by_origin.window(transom.Tumbling(size="1 hour")).agg(F.count("*").alias("n"))
        >>> hours.orderBy("origin").show()
        +------+--------------------+---+
        |origin|              window|  n|
        +------+--------------------+---+
        |   JFK|{2013-01-01 05:00...|  1|
        |   LGA|{2013-01-01 05:00...|  1|
        +------+--------------------+---+
        """
        if self._keys is not None:
            raise value_error("SET_TWICE", argument="key_by")
        for key in keys:
            check_column("keys", key)
        fields_of(self._df, "keys", keys)
        return replace(self, _keys=keys)

    def window(self, window: Window) -> Windowed:
        """Assign the rows of each key to windows.

        Parameters
        ----------
        window : Tumbling, Hopping, Cumulate, Calendar, Session, Count, Custom or Global
            The rule that assigns rows to windows.

        Returns
        -------
        Windowed
            A builder that sets triggers and other options, and computes results.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` if the stream has no time and the window is neither `Count` nor
            `Global`. ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame lacks a column that the window
            names.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE`` if ``window`` is no window, or names a column of a wrong type.

        Examples
        --------
        >>> rows = spark.createDataFrame([["2013-01-01 05:40"], ["2013-01-01 06:10"]], "at string")
        >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> hours.agg(F.count("*").alias("n")).select("window.start", "n").orderBy("start").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 05:00:00|  1|
        |2013-01-01 06:00:00|  1|
        +-------------------+---+
        """
        if not isinstance(window, Window):
            raise type_error("window", window, "a window such as transom.Tumbling(size='1 hour')")
        if self._time is None and not isinstance(window, Count | Global):
            raise value_error("NO_CLOCK", argument="window", value=type(window).__name__)
        _check_columns(self._df, window)
        spec = WindowSpec(keys=self._keys or (), time=self._time, order=self._order, window=window)
        return Windowed(self._df, spec)

    def window_all(self, window: Window) -> Windowed:
        """Assign the rows of all keys to the same windows.

        This method equals `window` on a stream without keys, and makes that choice explicit. Spark
        still computes partial aggregates in parallel.

        Parameters
        ----------
        window : Window
            The rule that assigns rows to windows.

        Returns
        -------
        Windowed
            A builder that sets triggers and other options, and computes results.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_KEYED`` if `key_by` has set keys, and the conditions of `window`.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([("JFK", 12), ("LGA", 40)], "origin string, delay int")
        >>> everything = transom.stream(rows).window_all(transom.Global())
        >>> everything.trigger(transom.EndOfStream()).agg(F.sum("delay").alias("delay")).show()
        +------+-----+
        |window|delay|
        +------+-----+
        |  NULL|   52|
        +------+-----+
        """
        if self._keys:
            keys = quoted_list([text_of(key) for key in self._keys])
            raise value_error("KEYED", argument="window_all", keys=keys)
        return self.window(window)


def _check_columns(df: DataFrame, window: Window) -> None:
    """Check the columns that a window names: they must exist and have the right type."""
    if isinstance(window, Session) and isinstance(window.gap, Column):
        (gap,) = fields_of(df, "gap", [window.gap])
        if not isinstance(gap.dataType, DayTimeIntervalType):
            expected = "a Column of type INTERVAL DAY TO SECOND, as F.make_dt_interval returns it"
            raise column_type_error("gap", window.gap, gap.dataType, expected)
    if isinstance(window, Custom):
        (windows,) = fields_of(df, "windows", [window.windows])
        kind = windows.dataType
        # is_time() also accepts a timestamp, so the element must be checked to be a struct.
        if not (
            isinstance(kind, ArrayType)
            and isinstance(kind.elementType, StructType)
            and is_time(kind.elementType)
        ):
            expected = "a Column of type ARRAY<STRUCT<start: TIMESTAMP, end: TIMESTAMP>>"
            raise column_type_error("windows", window.windows, kind, expected)


def _with_watermark(
    df: DataFrame, clock: EventTime, field: StructField
) -> tuple[DataFrame, EventTime]:
    if clock.delay is None and has_watermark(field):
        return df, clock
    time_text = repr(text_of(clock.time))
    for other in df.schema:
        if has_watermark(other):
            name = repr(other.name)
            if clock.delay is None:
                raise value_error("OTHER_WATERMARK", argument="time", column=time_text, other=name)
            raise value_error("TWO_WATERMARKS", argument="time", column=name)
    if clock.delay is None:
        raise value_error("NO_WATERMARK", argument="time", column=time_text)
    name = text_of(clock.time)
    if name not in df.columns:
        # withWatermark accepts only names of columns, no expressions.
        df, name = df.withColumn(HIDDEN_TIME, column(clock.time)), HIDDEN_TIME
    quoted = "`" + name.replace("`", "``") + "`"
    delay = f"{micros(clock.delay)} microseconds"
    return df.withWatermark(quoted, delay), EventTime(quoted, delay=clock.delay)
