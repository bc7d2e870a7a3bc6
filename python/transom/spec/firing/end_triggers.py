"""Triggers that fire a window once, when the window or the input ends."""

from dataclasses import dataclass

from transom._base.values import keywords_after
from transom.spec.firing.triggers import Trigger


@keywords_after(0, example="AfterClock()")
@dataclass(frozen=True, slots=True, repr=False)
class AfterClock(Trigger):
    """Fires when the wall clock passes the end of the window. The default with `ProcessingTime`.

    In event time, the watermark drops a window, even if the wall clock has not passed its end. Rows
    that arrived after the last firing are then in no result, unless the input has ended. On a
    stream, `Windowed.trigger` warns of this.

    Examples
    --------
    >>> import transom
    >>> transom.AfterClock()
    AfterClock()

    The wall clock is past the end of a window of the year 2013.

    >>> rows = spark.createDataFrame([("2013-01-01 05:40",), ("2013-01-01 05:45",)], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> hours = by_time.window(transom.Tumbling("1 hour")).trigger(transom.AfterClock())
    >>> hours.agg(n=F.count("*")).select("window.start", "n").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2013-01-01 05:00:00|  2|
    +-------------------+---+
    """


@keywords_after(0, example="AfterLateness()")
@dataclass(frozen=True, slots=True, repr=False)
class AfterLateness(Trigger):
    """Fires once, when the watermark reaches the end of the window plus the allowed lateness.

    A window gives one final result. The result contains all rows within
    `Windowed.allowed_lateness`, and later rows are late. Atlas Stream Processing closes its windows
    in this way. The trigger needs event time.

    See Also
    --------
    AfterWatermark : Fires at the end of the window, and again for each row within the lateness.

    Notes
    -----
    ``pane.timing`` of `Windowed.with_pane` is "late" if there is an allowed lateness, because the
    window fires after its end.

    Examples
    --------
    >>> import transom
    >>> transom.AfterLateness()
    AfterLateness()

    Each row moves the watermark. The row of 05:50 comes after the end of its window and within the
    lateness. The row of 07:00 fires the window, so the row of 05:55 is late.

    >>> minutes = ["05:40", "06:30", "05:50", "07:00", "05:55"]
    >>> rows = spark.createDataFrame(
    ...     [(n, f"2013-01-01 {at}") for n, at in enumerate(minutes)], "n int, at string"
    ... ).withColumn("at", F.to_timestamp("at"))
    >>> by_time = transom.stream(rows, time=transom.TimePolicy("at"), order="n")
    >>> hours = by_time.window(transom.Tumbling(size="1 hour")).allowed_lateness("1 hour")
    >>> final = hours.trigger(transom.AfterLateness()).agg(F.count("*").alias("n"))
    >>> final.select("window.start", "n").orderBy("start").show()
    +-------------------+---+
    |              start|  n|
    +-------------------+---+
    |2013-01-01 05:00:00|  2|
    |2013-01-01 06:00:00|  1|
    |2013-01-01 07:00:00|  1|
    +-------------------+---+
    """


@keywords_after(0, example="EndOfStream()")
@dataclass(frozen=True, slots=True, repr=False)
class EndOfStream(Trigger):
    """Fires when the input ends: after a static DataFrame, or when a stream is drained.

    Examples
    --------
    >>> import transom
    >>> transom.EndOfStream()
    EndOfStream()

    A static DataFrame ends when all rows have been read.

    >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
    >>> windows = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> windows.agg(F.sum("delay").alias("delay")).show()
    +------+-----+
    |window|delay|
    +------+-----+
    |  NULL|   70|
    +------+-----+
    """
