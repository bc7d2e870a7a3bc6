"""The entry point: `stream`."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from transom._base.columns import check_exist, has_columns, may_be_streaming
from transom._base.constants import HIDDEN_PREFIX
from transom._base.errors import reserved_name, type_error, warn
from transom._base.expressions import Col, check_column
from transom._base.hints import STREAM_KEYWORDS
from transom._base.misplaced import explained, keyword_hints
from transom._streams.built import Stream
from transom._streams.columns import checked_lifetime, checked_time
from transom.spec.times.time_policies import Time, TimePolicy, uses_batch_time
from transom.spec.windows.lifetimes import Lifetime


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
