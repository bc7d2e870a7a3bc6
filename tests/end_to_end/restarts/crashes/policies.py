"""The queries that crash over a `TimePolicy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.restarts.crashes.queries import HOPPING, counted


def policy(
    window: transom.Window, *, partitions: int = 0, over: Sequence[str] = ()
) -> Callable[[DataFrame], DataFrame]:
    """Windows over a policy, without drain: the watermark of the rows fires them."""

    def query(rows: DataFrame) -> DataFrame:
        settings: dict[str, Any] = {"over": over}
        if partitions:
            settings["partition"] = F.expr(f"number % {partitions}")
            settings["partitions"] = [str(partition) for partition in range(partitions)]
        clock = transom.TimePolicy(
            "time",
            arrival=F.timestamp_seconds("number"),
            out_of_order=transom.Accept("5 minutes"),
            **settings,
        )
        keyed = transom.stream(rows, time=clock, order="number").key_by("key")
        return counted(keyed.window(window))

    return query


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
