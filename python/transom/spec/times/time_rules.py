"""Rules of a `TimePolicy` for single rows: what happens to a row, and when the watermark moves."""

from dataclasses import dataclass, field

from transom._base import checks
from transom._base.durations import Duration, is_duration, not_negative, positive
from transom._base.errors import type_error
from transom._base.expressions import Col, Condition, check_column, condition_of
from transom._base.values import Value, keywords_after


@dataclass(frozen=True, slots=True, repr=False)
class TimeRule(Value):
    """Base class of `Accept`, `Drop` and `Adjust`."""

    beyond: Duration

    def __post_init__(self) -> None:
        object.__setattr__(self, "beyond", not_negative("beyond", self.beyond))


@keywords_after(1, example="Accept('5 minutes')")
@dataclass(frozen=True, slots=True, repr=False)
class Accept(TimeRule):
    """Leaves rows that are out of order as they are. The windows decide whether they are late.

    Parameters
    ----------
    beyond : str or timedelta
        How far the watermark stays behind the largest time.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.TimePolicy("departed", out_of_order=transom.Accept("1 minute")) == (
    ...     transom.TimePolicy("departed", out_of_order="1 minute")
    ... )
    True

    The third row is before the watermark, which is 2 minutes behind 05:45. It keeps its time.

    >>> from datetime import datetime
    >>> minutes = [40, 45, 41]
    >>> rows = [(n, datetime(2013, 1, 1, 5, minute)) for n, minute in enumerate(minutes)]
    >>> flights = spark.createDataFrame(rows, "n int, departed timestamp")
    >>> clock = transom.TimePolicy("departed", out_of_order=transom.Accept("2 minutes"))
    >>> stamped = transom.stream(flights, time=clock, order="n").stamped().orderBy("n")
    >>> stamped.select("n", "stamp.time", "stamp.rules", "stamp.disposition").show()
    +---+-------------------+--------------+-----------+
    |  n|               time|         rules|disposition|
    +---+-------------------+--------------+-----------+
    |  0|2013-01-01 05:40:00|            []|   accepted|
    |  1|2013-01-01 05:45:00|            []|   accepted|
    |  2|2013-01-01 05:41:00|[out_of_order]|   accepted|
    +---+-------------------+--------------+-----------+
    """


@keywords_after(1, example="Drop('5 minutes')")
@dataclass(frozen=True, slots=True, repr=False)
class Drop(TimeRule):
    """Drops rows that are beyond a bound. A dropped row has no time in force.

    Parameters
    ----------
    beyond : str or timedelta
        The tolerance. A row exactly at the bound is not dropped.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Drop("5 minutes") == transom.Drop("300 seconds")
    True

    The second flight became known 25 minutes after its departure.

    >>> from datetime import datetime
    >>> rows = [
    ...     ("N1", datetime(2013, 1, 1, 5, 40), datetime(2013, 1, 1, 5, 41)),
    ...     ("N2", datetime(2013, 1, 1, 5, 20), datetime(2013, 1, 1, 5, 45)),
    ... ]
    >>> flights = spark.createDataFrame(rows, "tail string, departed timestamp, known timestamp")
    >>> clock = transom.TimePolicy("departed", arrival="known", late=transom.Drop("5 minutes"))
    >>> stamped = transom.stream(flights, time=clock).stamped().orderBy("tail")
    >>> stamped.select("tail", "departed", "stamp.time", "stamp.disposition").show()
    +----+-------------------+-------------------+-----------+
    |tail|           departed|               time|disposition|
    +----+-------------------+-------------------+-----------+
    |  N1|2013-01-01 05:40:00|2013-01-01 05:40:00|   accepted|
    |  N2|2013-01-01 05:20:00|               NULL|    dropped|
    +----+-------------------+-------------------+-----------+
    """


@keywords_after(1, example="Adjust('5 minutes')")
@dataclass(frozen=True, slots=True, repr=False)
class Adjust(TimeRule):
    """Moves the time of rows that are beyond a bound to this bound.

    The column with the time keeps its value. Windows use the moved time. A row with a lifetime is
    dropped if it would move to its end or behind it.

    Parameters
    ----------
    beyond : str or timedelta
        The tolerance. A row exactly at the bound is not moved.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Adjust("5 minutes") == transom.Adjust("300 seconds")
    True

    The second flight became known 25 minutes after its departure. Its time moves to 5 minutes
    before its arrival.

    >>> from datetime import datetime
    >>> rows = [
    ...     ("N1", datetime(2013, 1, 1, 5, 40), datetime(2013, 1, 1, 5, 41)),
    ...     ("N2", datetime(2013, 1, 1, 5, 20), datetime(2013, 1, 1, 5, 45)),
    ... ]
    >>> flights = spark.createDataFrame(rows, "tail string, departed timestamp, known timestamp")
    >>> clock = transom.TimePolicy("departed", arrival="known", late=transom.Adjust("5 minutes"))
    >>> stamped = transom.stream(flights, time=clock).stamped().orderBy("tail")
    >>> stamped.select("tail", "departed", "stamp.time", "stamp.disposition").show()
    +----+-------------------+-------------------+-----------+
    |tail|           departed|               time|disposition|
    +----+-------------------+-------------------+-----------+
    |  N1|2013-01-01 05:40:00|2013-01-01 05:40:00|   accepted|
    |  N2|2013-01-01 05:20:00|2013-01-01 05:40:00|   adjusted|
    +----+-------------------+-------------------+-----------+
    """


@keywords_after(1, example="Periodic(every='1 minute')")
@dataclass(frozen=True, slots=True, repr=False)
class Periodic(Value):
    """Moves the watermark after a number of rows, after a span of event time, or after both.

    Parameters
    ----------
    rows : int, optional
        The watermark moves at each row whose number, among the rows that are not dropped, is a
        multiple of ``rows``. 1 if ``every`` is not given either.
    every : str or timedelta, optional
        The watermark moves when the largest time reaches a multiple of ``every`` since 1970. It
        then follows this multiple, and not the largest time itself.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_DURATION``. ``TRANSOM_BAD_CHOICE`` for more than
        2,147,483,647 rows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Periodic(100, every="1 minute") == transom.Periodic(100, every="60 seconds")
    True
    >>> transom.Periodic() == transom.Periodic(1)
    True

    The watermark moves at each second row, so the first two rows meet none.

    >>> from datetime import datetime
    >>> minutes = [40, 45, 41]
    >>> rows = [(n, datetime(2013, 1, 1, 5, minute)) for n, minute in enumerate(minutes)]
    >>> flights = spark.createDataFrame(rows, "n int, departed timestamp")
    >>> clock = transom.TimePolicy("departed", advance=transom.Periodic(2))
    >>> stamped = transom.stream(flights, time=clock, order="n").stamped().orderBy("n")
    >>> stamped.select("n", "stamp.time", "stamp.watermark").show()
    +---+-------------------+-------------------+
    |  n|               time|          watermark|
    +---+-------------------+-------------------+
    |  0|2013-01-01 05:40:00|               NULL|
    |  1|2013-01-01 05:45:00|               NULL|
    |  2|2013-01-01 05:41:00|2013-01-01 05:45:00|
    +---+-------------------+-------------------+
    """

    rows: int | None = None
    every: Duration | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.rows is None and self.every is None:
            object.__setattr__(self, "rows", 1)
        if self.rows is not None:
            if is_duration(self.rows):
                raise type_error("rows", self.rows, f"transom.Periodic(every={self.rows!r})")
            checks.whole_number("rows", self.rows, least=1)
        if self.every is not None:
            object.__setattr__(self, "every", positive("every", self.every))


@keywords_after(1, example="Punctuated('kind = 1', at='start')")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Punctuated(Value):
    """Rows that say how far time has come: punctuation, StreamInsight's CTIs.

    A row for which ``when`` is true is punctuation and no data. It is in no window, and no rule
    judges it. It moves the watermark of its partition or substream to ``at``, and never back. So
    it promises that no row before ``at`` follows. The tolerance of ``out_of_order`` is not
    subtracted. A row that breaks the promise is out of order: `Drop` drops it, and `Adjust` moves
    its time to the watermark. A row at the watermark is in order.

    Punctuation that comes from another stream is imported with ``unionByName``.

    `Stream.stamped` returns punctuation with the disposition ``punctuation``. Metrics count it in
    ``rows_punctuation``. A row is a dead letter with the reason ``no_time`` if ``when`` fails, or
    if it is punctuation and ``at`` is null or fails, and with ``time_out_of_range`` if ``at`` is
    before the year 1 or after the year 9999.

    Parameters
    ----------
    when : str or Column
        A boolean expression that is true for punctuation. Null counts as false. A string is parsed
        as SQL.
    at : str or Column
        The column that holds the watermark of a punctuation, a timestamp. Other rows do not use it.
    beside : Periodic, optional
        When the watermark also follows the other rows, as without punctuation. By default only
        punctuation moves it.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    The second row says that all flights before 06:00 are known. The third row breaks this promise.

    >>> from datetime import datetime
    >>> rows = [(n, kind, datetime(2013, 1, 1, hour)) for n, kind, hour in [
    ...     (1, "flight", 5), (2, "known", 6), (3, "flight", 5), (4, "flight", 6)
    ... ]]
    >>> flights = spark.createDataFrame(rows, "n int, kind string, at timestamp")
    >>> known = transom.Punctuated("kind = 'known'", at="at")
    >>> clock = transom.TimePolicy("at", advance=known, out_of_order=transom.Drop("0 seconds"))
    >>> stamped = transom.stream(flights, time=clock, order="n").stamped().orderBy("n")
    >>> stamped.select("n", "stamp.time", "stamp.watermark", "stamp.disposition").show()
    +---+-------------------+-------------------+-----------+
    |  n|               time|          watermark|disposition|
    +---+-------------------+-------------------+-----------+
    |  1|2013-01-01 05:00:00|               NULL|   accepted|
    |  2|2013-01-01 06:00:00|               NULL|punctuation|
    |  3|               NULL|2013-01-01 06:00:00|    dropped|
    |  4|2013-01-01 06:00:00|2013-01-01 06:00:00|   accepted|
    +---+-------------------+-------------------+-----------+
    """

    when: Condition
    at: Col = field(kw_only=True)
    beside: Periodic | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", condition_of("when", self.when))
        check_column("at", self.at)
        if self.beside is not None and not isinstance(self.beside, Periodic):
            raise type_error("beside", self.beside, "transom.Periodic(...) or None")
