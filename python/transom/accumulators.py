"""The base class of aggregates written in Python."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from transom._base.columns import Schema

A = TypeVar("A")


class Accumulator(ABC, Generic[A]):
    """Base class of an aggregate written in Python, for `udaf`.

    Rows arrive as Arrow tables of many rows, never one by one. An accumulator ``A`` is a tuple of
    the values that `state` names. Spark builds several accumulators for a window, each from some of
    the rows, and merges them. Neither the order of merges nor the split of the rows is fixed.

    A subclass may also have the method ``remove(self, acc, rows)``. It returns the accumulator with
    some of the added rows removed. Windows over lifetimes, `Rolling` and `CountByStart` windows
    call it for the rows that have left since the last result of a key, instead of adding all rows
    of the window again. Other windows never remove rows, and `Windows` never do.

    The methods must depend on their arguments only. They run in several processes, and run again
    when Spark repeats a task.

    Attributes
    ----------
    state : str or StructType
        Names and types of the values of an accumulator. An accumulator is a tuple also for a single
        value: ``(0,)``.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> class Mean(transom.Accumulator[tuple[float, int]]):
    ...     state = "total double, n long"
    ...     def init(self):
    ...         return 0.0, 0
    ...     def add(self, acc, rows):
    ...         column = rows["delay"]
    ...         return acc[0] + (pc.sum(column).as_py() or 0.0), acc[1] + pc.count(column).as_py()
    ...     def merge(self, left, right):
    ...         return left[0] + right[0], left[1] + right[1]
    ...     def result(self, acc):
    ...         return acc[0] / acc[1] if acc[1] else None
    >>> rows = spark.createDataFrame([("JFK", 12), ("JFK", 40)], "origin string, delay int")
    >>> by_origin = transom.stream(rows).key_by("origin").window(transom.Global())
    >>> mean = transom.udaf(Mean(), "delay", returns="double").alias("mean")
    >>> by_origin.trigger(transom.EndOfStream()).agg(mean, F.count("*").alias("n")).show()
    +------+------+----+---+
    |origin|window|mean|  n|
    +------+------+----+---+
    |   JFK|  NULL|26.0|  2|
    +------+------+----+---+

    The window that ends at 06:00 no longer holds the first row, so `MeanOfRecent` removes it:

    >>> class MeanOfRecent(Mean):
    ...     def remove(self, acc, rows):
    ...         column = rows["delay"]
    ...         return acc[0] - (pc.sum(column).as_py() or 0.0), acc[1] - pc.count(column).as_py()
    >>> times = [("05:40", 12), ("05:50", 40), ("06:05", 20)]
    >>> rows = [("2013-01-01 " + at, delay) for at, delay in times]
    >>> delays = spark.createDataFrame(rows, "at string, delay int")
    >>> by_time = transom.stream(delays, time=F.to_timestamp("at"))
    >>> recent = by_time.window_all(transom.Rolling("20 minutes"))
    >>> mean = transom.udaf(MeanOfRecent(), "delay", returns="double").alias("mean")
    >>> recent.agg(mean).select("window.end", "mean").orderBy("end").show()
    +-------------------+----+
    |                end|mean|
    +-------------------+----+
    |2013-01-01 05:40:00|12.0|
    |2013-01-01 05:50:00|26.0|
    |2013-01-01 06:00:00|40.0|
    |2013-01-01 06:05:00|30.0|
    |2013-01-01 06:10:00|20.0|
    +-------------------+----+
    """

    state: ClassVar[Schema]

    @abstractmethod
    def init(self) -> A:
        """Return the accumulator of no rows, with new objects in each call."""

    @abstractmethod
    def add(self, acc: A, rows: pa.Table) -> A:
        """Return the accumulator with one or more rows added."""

    @abstractmethod
    def merge(self, left: A, right: A) -> A:
        """Return the accumulator of the rows of both arguments."""

    def remove(self, acc: A, rows: pa.Table) -> A:
        """Return the accumulator with one or more of the added rows removed. Optional."""
        raise NotImplementedError

    @abstractmethod
    def result(self, acc: A) -> Any:
        """Return the result of a window, of the type ``returns`` of `udaf`."""
