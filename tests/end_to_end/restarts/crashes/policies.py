"""The queries that crash over a `TimePolicy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.restarts.crashes.queries import (
    HALF_HOUR,
    HOPPING,
    counted,
    half_hours,
    summed,
    sums,
)


def in_order(**settings: Any) -> transom.TimePolicy:
    """A policy over rows that arrive by their number. A row may be out of order by 5 minutes."""
    return transom.TimePolicy(
        "time",
        arrival=F.timestamp_seconds("number"),
        out_of_order=transom.Accept("5 minutes"),
        **settings,
    )


def by_number(number: int) -> dict[str, Any]:
    """The settings of a policy with a number of partitions."""
    names = [str(partition) for partition in range(number)]
    return {"partition": F.expr(f"number % {number}"), "partitions": names}


def by_key(
    rows: DataFrame, window: transom.Window, clock: transom.TimePolicy | None = None
) -> transom.Windowed:
    """Windows over a policy, without drain: the watermark of the rows fires them."""
    stream = transom.stream(rows, time=clock or in_order(), order="number")
    return stream.key_by("key").window(window)


def policy(
    window: transom.Window, *, partitions: int = 0, over: Sequence[str] = ()
) -> Callable[[DataFrame], DataFrame]:
    """Windows over a policy with partitions or substreams."""

    def query(rows: DataFrame) -> DataFrame:
        clock = in_order(over=over, **(by_number(partitions) if partitions else {}))
        return counted(by_key(rows, window, clock))

    return query


def dead_letters(rows: DataFrame) -> DataFrame:
    """Windows with late rows and dead letters in side outputs. Each rule applies to some rows."""
    # The rows of an hour arrive at even times in this hour.
    arrival = F.expr("timestamp'2013-01-01 05:00' + make_dt_interval(0, 0, 0, 90 * number)")
    clock = transom.TimePolicy(
        "time",
        arrival=arrival,
        early=transom.Drop("30 minutes"),
        late=transom.Adjust("45 minutes"),
        out_of_order=transom.Accept("5 minutes"),
    )
    windowed = by_key(rows, HOPPING, clock).with_late_rows(partly=True).with_dead_letters()
    return windowed.agg(*sums())


def idle(rows: DataFrame) -> DataFrame:
    """Windows and partitions that the wall clock would close after a day."""
    clock = in_order(idle_partition="1 day", **by_number(3))
    return counted(by_key(rows, HOPPING, clock).idle_timeout("1 day"))


def lateness(rows: DataFrame) -> DataFrame:
    """Windows that fire once, when late rows come no more."""
    windowed = by_key(rows, HOPPING).allowed_lateness("1 hour")
    return counted(windowed.trigger(transom.AfterLateness()))


def trigger(rows: DataFrame) -> DataFrame:
    """The last results of windows that a trigger also fires before their end."""
    early = transom.AfterWatermark(early=transom.AfterCount(3))
    results = counted(by_key(rows, HALF_HOUR).trigger(early).with_pane(), "pane")
    return results.where("pane.is_last").drop("pane")


def evictor(rows: DataFrame) -> DataFrame:
    """Windows of which the last rows count."""
    return counted(by_key(rows, HALF_HOUR).evictor(transom.KeepLast(5)))


def chain(rows: DataFrame) -> DataFrame:
    """Windows over the results of windows, which follow the watermark of the policy."""
    return summed(half_hours(by_key(rows, transom.Tumbling("10 minutes"))))


def punctuated(rows: DataFrame) -> DataFrame:
    """Windows whose watermark only punctuation moves. It follows each eighth row."""
    # Some rows break the promise of a punctuation. They move to its time, so their windows show
    # which punctuation came before them.
    row = F.expr("struct(false AS is_punctuation, time)")
    after = F.expr("struct(true AS is_punctuation, time - interval 20 minutes AS time)")
    sent = F.when(F.expr("number % 8 = 7"), F.array(row, after)).otherwise(F.array(row))
    mixed = rows.withColumn("sent", F.explode(sent)).select("number", "key", "value", "sent.*")
    clock = transom.TimePolicy(
        "time",
        arrival=F.timestamp_seconds("number"),
        out_of_order=transom.Adjust("0 seconds"),
        advance=transom.Punctuated("is_punctuation", at="time"),
    )
    stream = transom.stream(mixed, time=clock, order=["number", "is_punctuation"])
    return counted(stream.key_by("key").window(HOPPING))


def stamped(rows: DataFrame) -> DataFrame:
    """Rows and their times, without windows."""
    clock = transom.TimePolicy("time", out_of_order=transom.Adjust("5 minutes"), over=["key"])
    rows = transom.stream(rows, time=clock, order="number").stamped()
    at = F.col("stamp.time").alias("at")
    return rows.select("key", at, F.lit(1).alias("rows"), F.col("value").alias("total"))
