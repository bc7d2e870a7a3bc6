"""The entry point `stream`, and the builder that it returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pyspark.sql import Column, DataFrame

from transom import _bridge
from transom._base.call_text import call_text
from transom._base.columns import (
    Schema,
    all_but,
    check_exist,
    check_keys,
    has_columns,
    may_be_streaming,
    quoted_list,
)
from transom._base.constants import HIDDEN_PREFIX
from transom._base.errors import reserved_name, type_error, value_error, warn
from transom._base.expressions import Col, check_column, text_of
from transom._base.hints import STREAM_HINTS, STREAM_IS_NO_DATAFRAME, STREAM_KEYWORDS
from transom._base.misplaced import Hint, Hinted, Hints, explained, keyword_hints
from transom._calls import applying
from transom._columns import check_has_time, check_window, checked_lifetime, checked_time
from transom.spec.stamp_spec import StampSpec
from transom.spec.times.time_policies import Clock, Time, TimePolicy, needs_policy, uses_batch_time
from transom.spec.window_spec import RowsForm, WindowSpec
from transom.spec.windows.assigners import Window
from transom.spec.windows.lifetimes import CountByStart, Lifetime
from transom.windowed import Rows, Windowed, stream_text

# The column that `Stream.stamped` adds.
_STAMP = "stamp"
_KEYS = "an argument for each key, as in key_by('origin', 'tail')"


@explained
@keyword_hints(STREAM_KEYWORDS, first=1, example="stream(df, time=<value>)")
def stream(
    df: DataFrame,
    *,
    time: Time | None = None,
    lifetime: Col | Lifetime | None = None,
    order: Col | Sequence[Col] = (),
) -> "Stream":
    """Start a windowed query over a DataFrame, streaming or static.

    Parameters
    ----------
    df : DataFrame
        The input rows.
    time : str, Column, EventTime, TimePolicy or ProcessingTime, optional
        The time of a row. A column or its name means ``EventTime(column)``. The column is a
        timestamp, or the ``window`` column of an earlier window operator. The time of such a row is
        the last instant of its window. Only `Count` and `Global` windows work without a time.
    lifetime : str, Column or Lifetime, optional
        How long a row lasts. A column or its name means ``Lifetime(column)``: the end of the row.
        Without it rows last one microsecond.
    order : str, Column or a sequence of these
        Columns that define the order in which the rows of a micro-batch arrived. Aggregates that
        depend on the order of rows, such as `first`, `last` and `collect_list`, then read rows in
        this order. Such aggregates need the keyed layout. Without ``order`` they read rows in no
        fixed order, as in Spark. If another step needs the keyed layout, they read rows in the
        order of the source. With `TimePolicy`, the rules for single rows and the watermark also
        follow this order. A row for which the order is null, or fails, comes first. Windows over
        lifetimes, `Snapshot`, `Rolling` and `CountByStart` do not follow this order.

    Returns
    -------
    Stream
        An immutable builder. Call `Stream.key_by` and `Stream.window` on it, or `Stream.stamped`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` if ``df`` has no such column. ``TRANSOM_NOT_A_TIMESTAMP`` if
        a column with a time has another type. ``TRANSOM_RESERVED_NAME`` if a column name begins
        with "__transom". ``TRANSOM_NOT_EVENT_TIME`` for a lifetime without event time.
        ``TRANSOM_CONFLICT`` for ``Lifetime(id=)`` with ``TimePolicy(None)``.

        For a static ``df``: ``TRANSOM_CLOCK_IN_BATCH`` if ``time`` is `ProcessingTime`.

        ``TRANSOM_ARRIVES_NOW`` is a `TransomWarning`: ``df`` is static, and a rule of a
        `TimePolicy` compares times with arrivals, but no column has the arrivals.
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
        raise type_error("df", df, "a DataFrame of Spark, such as spark.createDataFrame(rows)")
    for name in df.columns if has_columns(df) else ():
        # Spark ignores the case of column names.
        if name.lower().startswith(HIDDEN_PREFIX):
            raise reserved_name("df", name)
    if not isinstance(order, str | Column | Sequence):
        raise type_error("order", order, "Columns or column names")
    order_columns = (order,) if isinstance(order, str | Column) else tuple(order)
    for item in order_columns:
        check_column("order", item)
    check_exist(df, "order", order_columns)
    life = None if lifetime is None else checked_lifetime(df, lifetime, time)
    clock = None if time is None else checked_time(df, time)
    if isinstance(clock, TimePolicy):
        argument = uses_batch_time(clock)
        if argument is not None and not may_be_streaming(df):
            value = getattr(clock, argument)
            warn("ARRIVES_NOW", argument=argument, value=value)
    return Stream(df, clock, order_columns, life)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(Hinted):
    """Rows with a time and keys, as `stream` returns them.

    The builder is immutable, so several windowed queries can start from the same `Stream`.
    """

    _hints: ClassVar[Hints] = STREAM_HINTS
    _dataframe_hint: ClassVar[Hint] = STREAM_IS_NO_DATAFRAME

    _df: DataFrame
    _time: Clock | None
    _order: tuple[Col, ...]
    _lifetime: Lifetime | None = None
    _keys: tuple[Col, ...] | None = None

    def __repr__(self) -> str:
        return stream_text(self._time, self._lifetime, self._order, self._keys or ())

    def key_by(self, *keys: Col) -> "Stream":
        """Window each combination of key values separately.

        Without this step, and with no columns, all rows have the same key. Null is a key like any
        other.

        A key whose expression fails does not end the query. The row is counted, enters no window,
        and is a dead letter with the reason "key_failed", see `Windowed.with_dead_letters`. Errors
        in Python functions end the query, as in Spark. So do errors in columns that the DataFrame
        computes before this step.

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
            call = call_text("key_by", *self._keys)
            raise value_error("SET_TWICE", argument="key_by", call=call)
        for key in keys:
            check_column("keys", key, no_list=_KEYS)
        check_keys(self._df, keys)
        return replace(self, _keys=keys)

    def window(self, window: Window) -> Windowed:
        """Assign the rows of each key to windows.

        Parameters
        ----------
        window : Window
            The rule that assigns rows to windows: `Tumbling`, `Hopping`, `Cumulate`, `Calendar`,
            `Session`, `Count`, `Custom`, `Global`, `Snapshot`, `Rolling`, `CountByStart` or
            `Windows`.

        Returns
        -------
        Windowed
            A builder that sets triggers and other options, and computes results.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` if the stream has no time and the window is neither `Count` nor
            `Global`. ``TRANSOM_UNKNOWN_COLUMN`` if the DataFrame lacks a column that the window
            names. ``TRANSOM_TIME_POLICY_UNSUPPORTED`` if the time is a `TimePolicy` with ``over``
            and ``partition``. ``TRANSOM_NOT_EVENT_TIME`` for `Snapshot`, `Rolling` and
            `CountByStart` in processing time. ``TRANSOM_CONFLICT`` if rows have lifetimes and the
            window is `Session`, `Count`, `Custom`, `Global` or `Rolling`.
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
        check_window(self._df, window, self._time)
        spec = WindowSpec(
            keys=self._keys or (),
            time=self._time,
            lifetime=self._lifetime,
            order=self._order,
            window=window,
        )
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

    def scan(
        self,
        fn: Callable[..., Rows],
        schema: Schema,
        *,
        form: RowsForm = "arrow",
        state: Schema | None = None,
    ) -> DataFrame:
        """Call a Python function with the rows of each key in the order of their times.

        There is no window. The function sees a row once the watermark is past its time, so no
        earlier row follows. One call has the rows of one key and one time. This is StreamInsight's
        user-defined stream operator.

        Parameters
        ----------
        fn : callable
            As in `Windowed.apply`. ``context.key_state`` has the state of the key, by name.
            ``context.window.start`` is the time of the rows. ``context.watermark`` says how far
            time has come: the next rows of the key are not before it.
        schema : str or StructType
            The columns that ``fn`` returns, as in `Windowed.apply`.
        form : {"arrow", "pandas"}
            The type of the rows that ``fn`` receives and returns.
        state : str or StructType, optional
            Schema of ``context.key_state``, which is kept for each key without limit.

        Returns
        -------
        DataFrame
            The keys, and the columns of ``schema``.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` without a time, ``TRANSOM_NOT_EVENT_TIME`` for `ProcessingTime`,
            and the conditions of `Windowed.apply`.
        PySparkTypeError, PySparkRuntimeError, IllegalArgumentException
            The conditions of `Windowed.apply`.

        Notes
        -----
        Late rows are counted. The lifetimes of rows have no effect: their columns are among the
        rows.

        Examples
        --------
        The function returns how long each machine kept its state.

        >>> import pyarrow as pa
        >>> rows = [("m1", "05:00", "on"), ("m1", "05:30", "off"), ("m1", "05:10", "on")]
        >>> states = spark.createDataFrame(rows, "machine string, at string, state string")
        >>> by_machine = transom.stream(states, time=F.to_timestamp("at")).key_by("machine")
        >>> schema = pa.schema([("was", pa.string()), ("minutes", pa.int64())])
        >>> def minutes(rows, context):
        ...     state, now = rows["state"][0].as_py(), context.window.start
        ...     before, since = context.key_state["state"], context.key_state["since"]
        ...     kept = []
        ...     if state != before:
        ...         context.key_state.update(state=state, since=now)
        ...         if before is not None:
        ...             kept = [{"was": before, "minutes": (now - since).seconds // 60}]
        ...     return pa.Table.from_pylist(kept, schema)
        >>> by_machine.scan(
        ...     minutes, "was string, minutes long", state="state string, since timestamp"
        ... ).show()
        +-------+---+-------+
        |machine|was|minutes|
        +-------+---+-------+
        |     m1| on|     30|
        +-------+---+-------+
        """
        applying.check_function("fn", fn)
        if state is not None:
            applying.schema_of("state", state, ())
            applying.check_takes_context("fn", fn, "state")
        check_has_time(self._df, "scan()", self._time)
        # Windows that hold the rows of a key with one time.
        rows = replace(self, _lifetime=None).window(CountByStart(1))
        return rows.apply(fn, schema, form=form, key_state=state).select(all_but("window"))

    def stamped(self) -> DataFrame:
        """Return all rows, each with the time and the watermark that its `TimePolicy` gives it.

        Each input row is in the result, with its columns unchanged. Keys have no effect.

        Returns
        -------
        DataFrame
            The columns of the input, and the struct column ``stamp`` with these fields.

            ``time``, a timestamp: the time in force. It differs from the time of the row if a rule
            has adjusted it, and is null if the row is dropped.

            ``lifetime``, only if the stream has lifetimes: a struct of the timestamps ``start``,
            the time in force, and ``end``. The end is null if the row has none. A row is dropped if
            its lifetime is over at the time in force.

            ``watermark``, a timestamp: the watermark that the row met, before it moved the
            watermark itself. It belongs to the partition or substream of the row, and is null if
            there was none yet.

            ``rules``, an array of strings: the rules that the row broke, in order: ``early``,
            ``late_arrival``, ``out_of_order``. For a row that no rule can judge, the only element
            is the reason: ``no_time`` (the time or the arrival time is null),
            ``time_out_of_range``, ``no_substream`` (a column of ``over`` is null),
            ``unknown_partition`` (null, or not among ``partitions``) or ``bad_lifetime`` (the
            lifetime is empty, or ends before its start). An expression that fails counts as null.

            ``disposition``, a string: ``accepted``, ``adjusted``, ``dropped`` or ``punctuation``.
            A punctuation of `Punctuated` breaks no rule. Its ``time`` is the watermark that it
            sets.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`.
            ``TRANSOM_CONFLICT`` with ``Lifetime(id=)``, whose ends are rows of their own.
            ``TRANSOM_RESERVED_NAME`` if the input has a column with the name "stamp".
        PySparkRuntimeError
            ``TRANSOM_CONNECT_SERVER``, ``TRANSOM_SPARK_VERSION``, ``TRANSOM_JAR_MISSING``,
            ``TRANSOM_JAR_BROKEN``, ``TRANSOM_JAR_VERSION``.

        Examples
        --------
        The watermark stays 2 minutes behind the largest time. The third row is before it.

        >>> from datetime import datetime
        >>> rows = [(n, datetime(2013, 1, 1, 5, minute)) for n, minute in enumerate([40, 45, 41])]
        >>> flights = spark.createDataFrame(rows, "n int, departed timestamp")
        >>> clock = transom.TimePolicy("departed", out_of_order=transom.Adjust("2 minutes"))
        >>> stamped = transom.stream(flights, time=clock, order="n").stamped()
        >>> stamped.select("n", "stamp.time", "stamp.watermark", "stamp.rules").orderBy("n").show()
        +---+-------------------+-------------------+--------------+
        |  n|               time|          watermark|         rules|
        +---+-------------------+-------------------+--------------+
        |  0|2013-01-01 05:40:00|               NULL|            []|
        |  1|2013-01-01 05:45:00|2013-01-01 05:38:00|            []|
        |  2|2013-01-01 05:43:00|2013-01-01 05:43:00|[out_of_order]|
        +---+-------------------+-------------------+--------------+
        """
        if not isinstance(self._time, TimePolicy):
            raise needs_policy("stamped", self._time)
        if self._lifetime is not None and self._lifetime.id:
            raise value_error(
                "CONFLICT",
                argument="stamped",
                step="stamped()",
                other="Lifetime(id=)",
                why="the end of a lifetime is a row of its own, which only windows bring together",
            )
        for name in self._df.columns if has_columns(self._df) else ():
            # Spark ignores the case of column names.
            if name.lower() == _STAMP:
                raise reserved_name("df", name)
        spec = StampSpec(time=self._time, lifetime=self._lifetime, order=self._order)
        return _bridge.stamp(self._df, spec)
