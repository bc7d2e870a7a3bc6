"""Drained streams, and their expected results."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import Outcome

SCHEMA = "key string not null, time timestamp, value int"
Input = list[tuple[str, datetime, int]]


def at(second: float) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def some_rows() -> Input:
    chosen = random.Random(3)
    seconds = sorted(chosen.randrange(300) for _ in range(60))
    return [(chosen.choice("abc"), at(second), chosen.randrange(10)) for second in seconds]


def batches(rows: Input, size: int = 15) -> list[Input]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def drained(window: transom.Window) -> Callable[[DataFrame], DataFrame]:
    def pipeline(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="5 seconds") if rows.isStreaming else "time"
        windowed = transom.stream(rows, time=clock).key_by("key").window(window).drain()
        if isinstance(window, transom.Global):
            windowed = windowed.trigger(transom.EndOfStream())
        return windowed.agg(F.count("*").alias("rows"), F.sum("value").alias("total"))

    return pipeline


def static(
    spark: SparkSession, pipeline: Callable[[DataFrame], DataFrame], rows: Input
) -> list[Row]:
    return in_order(pipeline(spark.createDataFrame(rows, SCHEMA)).collect())


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=str)


def phases(outcome: Outcome) -> list[str | None]:
    ends = [json.loads(progress.sources[-1].endOffset) for progress in outcome.progress]
    return [end and end["phase"] for end in ends]


WINDOWS = {
    "tumbling": transom.Tumbling(size="10 seconds"),
    "end included": transom.Tumbling(size="10 seconds", closed="right"),
    "hopping": transom.Hopping(size="10 seconds", slide="3 seconds"),
    "months": transom.Calendar(unit="month", time_zone="America/New_York"),
    "session": transom.Session(gap="7 seconds"),
    "global": transom.Global(),
}
