"""Where windows begin: the rows of a DataFrame, their time and their keys."""

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

from transom._columns import (
    HIDDEN_PREFIX,
    HIDDEN_TIME,
    Col,
    check_column,
    column,
    fields_of,
    has_watermark,
    is_time,
    listed,
    text_of,
)
from transom._durations import micros
from transom._errors import column_type_error, type_error, value_error
from transom.assigners import Count, Custom, Global, Session, Window
from transom.spec import WindowSpec
from transom.time_policies import Clock, EventTime, ProcessingTime, Time
from transom.windowed import Windowed


def stream(df: DataFrame, *, time: Time | None = None, order: Col | Sequence[Col] = ()) -> "Stream":
    """Begin a query over windows of a DataFrame, streaming or static.

    Parameters
    ----------
    df : DataFrame
        The rows.
    time : str, Column, EventTime or ProcessingTime, optional
        When a row happened; a name means ``EventTime(name)``. The ``window`` of an earlier stage
        stands for its last instant. Only `Global` and `Count` windows can do without.
    order : str, Column or a sequence of them
        Columns that tell in which order the rows of a micro-batch arrived. Aggregates that depend
        on the order of rows, such as `first`, `last` and `collect_list`, then take rows in this
        order, and need the keyed layout. Without it they take rows as in Spark, in no fixed order,
        unless another step needs the keyed layout.

    Returns
    -------
    Stream
        An immutable builder, on which `Stream.key_by` and `Stream.window` go on.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN``, ``TRANSOM_NOT_A_TIMESTAMP``; ``TRANSOM_RESERVED_NAME`` for a
        column whose name begins with "__transom"; if ``df`` is streaming,
        ``TRANSOM_NO_WATERMARK`` for a time without one, ``TRANSOM_OTHER_WATERMARK`` if another
        column has it, and ``TRANSOM_TWO_WATERMARKS`` for a ``delay`` on top of one; if it is
        static, ``TRANSOM_CLOCK_IN_BATCH`` for `ProcessingTime`.
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
        # Spark does not tell such names apart by their case.
        if name.lower().startswith(HIDDEN_PREFIX):
            raise value_error("RESERVED_NAME", argument="df", column=repr(name))
    if not isinstance(order, str | Column | Sequence):
        raise type_error("order", order, "columns or their names")
    ordered = (order,) if isinstance(order, str | Column) else tuple(order)
    for named in ordered:
        check_column("order", named)
    fields_of(df, "order", ordered)
    if time is None:
        return Stream(df, None, ordered)
    if isinstance(time, ProcessingTime):
        if not df.isStreaming:
            raise value_error("CLOCK_IN_BATCH", argument="time")
        return Stream(df, time, ordered)
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
    _time: Clock | None
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
        window : Tumbling, Hopping, Cumulate, Calendar, Session, Count, Custom or Global
            Which rows belong together.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` if the stream has no time, but for `Count` and `Global`;
            ``TRANSOM_UNKNOWN_COLUMN`` for those that the window names.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``, for columns of another type than the window needs too.
        """
        if not isinstance(window, Window):
            raise type_error("window", window, "a window such as transom.Tumbling(size='1 hour')")
        if self._time is None and not isinstance(window, Count | Global):
            raise value_error("NO_CLOCK", argument="window", value=type(window).__name__)
        _check_columns(self._df, window)
        spec = WindowSpec(keys=self._keys or (), time=self._time, order=self._order, window=window)
        return Windowed(self._df, spec)

    def window_all(self, window: Window) -> Windowed:
        """Put all rows into the same windows, whatever their keys would be.

        It is `window` without keys, said aloud. Partial aggregates are still made in parallel.

        Parameters
        ----------
        window : Window
            Which rows belong together.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_KEYED`` after `key_by`, and as `window`.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        if self._keys:
            keys = listed([text_of(key) for key in self._keys])
            raise value_error("KEYED", argument="window_all", keys=keys)
        return self.window(window)


def _check_columns(df: DataFrame, window: Window) -> None:
    """The columns that a window names, which must be there and of its type."""
    if isinstance(window, Session) and isinstance(window.gap, Column):
        (gap,) = fields_of(df, "gap", [window.gap])
        if not isinstance(gap.dataType, DayTimeIntervalType):
            expected = "a Column of type INTERVAL DAY TO SECOND, as F.make_dt_interval makes it"
            raise column_type_error("gap", window.gap, gap.dataType, expected)
    if isinstance(window, Custom):
        (windows,) = fields_of(df, "windows", [window.windows])
        kind = windows.dataType
        # A timestamp alone would do for the time of a row.
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
    shown = repr(text_of(clock.time))
    for other in df.schema:
        if has_watermark(other):
            name = repr(other.name)
            if clock.delay is None:
                raise value_error("OTHER_WATERMARK", argument="time", column=shown, other=name)
            raise value_error("TWO_WATERMARKS", argument="time", column=name)
    if clock.delay is None:
        raise value_error("NO_WATERMARK", argument="time", column=shown)
    name = text_of(clock.time)
    if name not in df.columns:
        # withWatermark takes only columns of the DataFrame itself.
        df, name = df.withColumn(HIDDEN_TIME, column(clock.time)), HIDDEN_TIME
    quoted = "`" + name.replace("`", "``") + "`"
    delay = f"{micros(clock.delay)} microseconds"
    return df.withWatermark(quoted, delay), EventTime(quoted, delay=clock.delay)
