"""What does not run in Real-Time Mode is refused by its name when a query starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.real_time import real_time

SCHEMA = "key string, time timestamp, arrival timestamp, value int"
TEN = transom.Tumbling("10 seconds")


def clocked(rows: DataFrame, **settings: Any) -> transom.Stream:
    clock = transom.EventTime("time", delay="1 second")
    return transom.stream(rows, time=clock, **settings).key_by("key")


def judged(rows: DataFrame) -> transom.Stream:
    return transom.stream(rows, time=transom.TimePolicy("time")).key_by("key")


def counted(windowed: transom.Windowed) -> DataFrame:
    return windowed.agg(n=F.count("*"))


def by_policy(policy: transom.TimePolicy) -> Callable[[DataFrame], DataFrame]:
    return lambda rows: counted(transom.stream(rows, time=policy).key_by("key").window(TEN))


def unchanged(rows: pa.Table) -> pa.Table:
    return rows.select(["value"])


def minutes_of_tens(rows: DataFrame) -> DataFrame:
    tens = counted(clocked(rows).window(TEN))
    minutes = transom.stream(tens, time="window").window(transom.Tumbling("1 minute"))
    return minutes.agg(n=F.sum("n"))


REFUSED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "stream(order=)": lambda rows: counted(clocked(rows, order="value").window(TEN)),
    "drain()": lambda rows: counted(clocked(rows).window(TEN).drain()),
    "layout='slices' of sessions": lambda rows: counted(
        clocked(rows).window(transom.Session("10 seconds")).options(layout="slices")
    ),
    "lifetime()": lambda rows: counted(clocked(rows, lifetime="arrival").window(TEN)),
    "Rolling()": lambda rows: counted(clocked(rows).window(transom.Rolling("10 seconds"))),
    "EveryBatch": lambda rows: counted(clocked(rows).window(TEN).trigger(transom.EveryBatch())),
    "apply()": lambda rows: clocked(rows).window(TEN).apply(unchanged, "value int"),
    "with_watermarks()": lambda rows: counted(judged(rows).window(TEN).with_watermarks()),
    "windows over windows": minutes_of_tens,
    "TimePolicy(over=) with late=": by_policy(
        transom.TimePolicy("time", arrival="arrival", over=["key"], late=transom.Drop("5 seconds"))
    ),
    "TimePolicy(partitions=)": by_policy(
        transom.TimePolicy("time", partition="key", partitions=["a", "b"])
    ),
    "TimePolicy(estimate_arrival=)": by_policy(
        transom.TimePolicy(
            "time", arrival="arrival", late=transom.Drop("5 seconds"), estimate_arrival=True
        )
    ),
    "Punctuated()": by_policy(
        transom.TimePolicy("time", advance=transom.Punctuated("value = 0", at="time"))
    ),
    "Periodic() of several rows": by_policy(
        transom.TimePolicy("time", advance=transom.Periodic(rows=5))
    ),
    "an early or late rule without TimePolicy(arrival=)": by_policy(
        transom.TimePolicy("time", early=transom.Drop("5 seconds"))
    ),
}


@pytest.mark.parametrize("part", REFUSED)
def test_a_query_is_refused_with_what_does_not_run(
    spark: SparkSession, tmp_path: Path, part: str
) -> None:
    with real_time(spark, REFUSED[part], SCHEMA, 1, tmp_path) as query:
        query.start()
        reason = f"TRANSOM_REAL_TIME.*{re.escape(part)} does not run"
        with pytest.raises(StreamingQueryException, match=reason):
            query.wait_for(1)


def test_spark_refuses_python_functions(spark: SparkSession, tmp_path: Path) -> None:
    @F.udf("int", useArrow=True)
    def doubled(value: int) -> int:
        return 2 * value

    def of_doubled(rows: DataFrame) -> DataFrame:
        return clocked(rows).window(TEN).agg(n=F.sum(doubled("value")))

    with real_time(spark, of_doubled, SCHEMA, 1, tmp_path) as query:
        query.start()
        with pytest.raises(StreamingQueryException, match="OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"):
            query.running.awaitTermination(120)
