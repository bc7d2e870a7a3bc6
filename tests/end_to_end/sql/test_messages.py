"""A window in SQL sends the message that Python sends for the same query."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from spec.sql import ROLES
from tests.end_to_end.sql.calls import TABLE, Writer, parameters_of
from tests.end_to_end.sql.flights import SCHEMA
from transom._base.expressions import Delta
from transom.spec.window_spec import WindowSpec

pytestmark = pytest.mark.filterwarnings("ignore::transom.TransomWarning")


def distance(old: Column, new: Column) -> Column:
    return F.abs(new["delay"] - old["delay"])


DISTANCES: dict[Delta, str] = {distance: "(old, new) -> abs(new.delay - old.delay)"}


@pytest.fixture
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """The table ``flights``, without rows. Its plans are made and do not run."""
    yield table_of(spark.createDataFrame([], SCHEMA))
    spark.catalog.dropTempView("flights")


def table_of(rows: DataFrame) -> DataFrame:
    """Return rows with columns for gaps and windows, as the table ``flights``."""
    flights = rows.selectExpr(
        "*",
        "make_dt_interval(0, 0, delay) AS gap",
        "array(named_struct('start', departed, 'end', landed)) AS shifts",
    )
    flights.createOrReplaceTempView("flights")
    return flights


def of_time(rows: DataFrame, window: Any, time: Any = "departed", **more: Any) -> transom.Windowed:
    return transom.stream(rows, time=time, **more).key_by("origin").window(window)


def hours(rows: DataFrame, time: Any = "departed", **more: Any) -> transom.Windowed:
    return of_time(rows, transom.Tumbling("1 hour"), time, **more)


def for_all(rows: DataFrame, trigger: Any) -> transom.Windowed:
    return of_time(rows, transom.Global()).trigger(trigger)


WINDOWS: dict[str, Any] = {
    "tumbling": transom.Tumbling("1 hour"),
    "tumbling with all": transom.Tumbling(
        "1 hour", offset="-15 minutes", closed="right", time_zone="Europe/Rome"
    ),
    "tumbling with stagger": transom.Tumbling("1 hour", stagger="natural"),
    "hopping": transom.Hopping("1 hour", "20 minutes"),
    "hopping with all": transom.Hopping(
        "1 hour", "20 minutes", offset="5 minutes", closed="right", time_zone="Asia/Kolkata"
    ),
    "cumulate": transom.Cumulate("1 day", "1 hour"),
    "cumulate with all": transom.Cumulate(
        "1 day", "1 hour", offset="90 minutes", closed="right", time_zone="America/New_York"
    ),
    "calendar": transom.Calendar("month", time_zone="UTC"),
    "calendar with all": transom.Calendar(
        "week",
        time_zone="Europe/Rome",
        every=2,
        first_day="sunday",
        offset="1 hour",
        closed="right",
    ),
    "count": transom.Count(3),
    "count with a slide": transom.Count(3, slide=2),
    "count with all": transom.Count(4, slide=2, partial=True),
    "custom": transom.Custom("shifts"),
    "custom with all": transom.Custom("shifts", merging=True),
    "session": transom.Session("10 minutes"),
    "session with all": transom.Session(
        "10 minutes", inclusive=False, closed="right", late_start="reject"
    ),
    "session with a duration": transom.Session(
        "10 minutes", max_duration="1 hour", max_check=">", closed="right"
    ),
    "rolling": transom.Rolling("0.5 seconds"),
    "count by start": transom.CountByStart(3),
    "windows": transom.Windows([transom.Tumbling("1 hour"), transom.Session("1 minute")]),
    "windows with ids": transom.Windows(
        {"a": transom.Hopping("1 hour", "20 minutes"), "it": transom.Rolling("1 minute")}
    ),
}
TRIGGERS: dict[str, Any] = {
    "after watermark": transom.AfterWatermark(early=transom.AfterCount(2)),
    "after watermark without late": transom.AfterWatermark(late=None),
    "after watermark with never": transom.AfterWatermark(late=transom.Never()),
    "after clock": transom.AfterClock(),
    "after lateness": transom.AfterLateness(),
    "every": transom.Every("10 minutes"),
    "every with all": transom.Every("10 minutes", clock="processing", aligned=False),
    "every batch": transom.EveryBatch(),
    "timeout": transom.ProcessingTimeout(transom.AfterCount(2), after="1 minute"),
    "timeout with all": transom.ProcessingTimeout(
        transom.AfterWatermark(early=transom.Every("1 minute")),
        after="1 minute",
        reset=True,
        clear=False,
    ),
}
TRIGGERS_OF_GLOBAL: dict[str, Any] = {
    "after count": transom.AfterCount(2),
    "after delta": transom.AfterDelta(distance, threshold=1.5),
    "when": transom.When("delay > 10 AND sum(delay) > 60"),
    "end of stream": transom.EndOfStream(),
    "never": transom.Never(),
    "purging": transom.Purging(transom.AfterCount(2)),
}
EVICTORS: dict[str, Any] = {
    "keep last": transom.KeepLast(2),
    "keep last with all": transom.KeepLast(2, when="after"),
    "keep recent": transom.KeepRecent("10 minutes"),
    "keep recent with all": transom.KeepRecent("10 minutes", when="after"),
    "keep near": transom.KeepNear(distance, threshold=30),
    "keep near with all": transom.KeepNear(distance, threshold=-0.5, when="after"),
    "keep where": transom.KeepWhere("delay >= avg(delay)"),
    "keep where with all": transom.KeepWhere("delay >= avg(delay)", when="after"),
}
TIMES: dict[str, Any] = {
    "event time": transom.EventTime("departed"),
    "event time with all": transom.EventTime("departed", delay="10 minutes"),
    "policy": transom.TimePolicy("departed"),
    "policy of arrivals": transom.TimePolicy(None, arrival="known"),
    "policy with partitions": transom.TimePolicy(
        "departed",
        arrival="known",
        partition="tail",
        partitions=["N1", "N2"],
        early=transom.Drop("1 minute"),
        late=transom.Adjust("2 minutes"),
        out_of_order=transom.Drop("3 minutes"),
        advance=transom.Periodic(rows=2, every="1 minute"),
        idle_partition="1 hour",
    ),
    "policy with substreams": transom.TimePolicy(
        "departed", arrival="known", over=["origin"], late=transom.Drop("1 minute")
    ),
    "policy with an estimate": transom.TimePolicy(
        "departed",
        arrival="known",
        late=transom.Drop("1 minute"),
        out_of_order="10 minutes",
        estimate_arrival=True,
    ),
    "policy with punctuation": transom.TimePolicy(
        "departed", advance=transom.Punctuated("delay IS NULL", at="known")
    ),
    "policy with both": transom.TimePolicy(
        "departed",
        advance=transom.Punctuated("delay IS NULL", at="known", beside=transom.Periodic()),
    ),
}
LIFETIMES: dict[str, Any] = {
    "end": transom.Lifetime("landed"),
    "duration": transom.Lifetime(duration="1 hour"),
    "end of another row": transom.Lifetime("landed", id=["tail"], timeout="1 hour"),
    "end of another row of two columns": transom.Lifetime("landed", id=["tail", "known"]),
}
Query = Callable[[DataFrame], transom.Windowed]


def each(
    kind: str, values: Mapping[str, Any], query: Callable[[DataFrame, Any], transom.Windowed]
) -> dict[str, Query]:
    """Return a query for each value, by the names of the kind and of the value."""

    def of(value: Any) -> Query:
        return lambda rows: query(rows, value)

    return {f"{kind}: {name}": of(value) for name, value in values.items()}


QUERIES: dict[str, Query] = {
    **each("window", WINDOWS, of_time),
    **each("trigger", TRIGGERS, lambda rows, trigger: hours(rows).trigger(trigger)),
    **each("trigger", TRIGGERS_OF_GLOBAL, for_all),
    **each("evictor", EVICTORS, lambda rows, evictor: hours(rows).evictor(evictor)),
    **each("time", TIMES, hours),
    **each("lifetime", LIFETIMES, lambda rows, lifetime: hours(rows, lifetime=lifetime)),
    "window: snapshot": lambda rows: of_time(rows, transom.Snapshot(), lifetime="landed"),
    "window: snapshot with all": lambda rows: of_time(
        rows, transom.Snapshot(closed="right"), lifetime="landed"
    ),
    "window: session with gaps": lambda rows: of_time(rows, transom.Session(F.col("gap"))),
    "lifetime: duration of a row": lambda rows: hours(
        rows, lifetime=transom.Lifetime(duration=F.col("gap"))
    ),
    "window: count without time": lambda rows: of_time(rows, transom.Count(2), None),
    "idle timeout": lambda rows: hours(rows, transom.TimePolicy("departed")).idle_timeout("1 day"),
    "idle timeout with all": lambda rows: hours(rows, transom.TimePolicy("departed")).idle_timeout(
        "1 day", rule="last_row"
    ),
    "order": lambda rows: hours(rows, order="known"),
    "order of two columns": lambda rows: hours(rows, order=["known", "delay"]),
    "options": lambda rows: (
        hours(rows, transom.TimePolicy("departed"))
        .allowed_lateness("1 hour")
        .first_output(datetime(2013, 1, 1, 6, 30, 0, 250))
        .drain()
        .with_pane()
        .retract()
        .options(name="hours", key_groups=7, layout="keyed", tick="2 seconds", row_log=0)
    ),
    "changes only": lambda rows: of_time(
        rows, transom.Hopping("1 hour", "1 minute"), lifetime="landed"
    ).changes_only(),
    "output policy": lambda rows: hours(rows).output_policy("clip_to_window_end"),
}


@pytest.mark.parametrize("is_full", [False, True], ids=["short", "full"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_sql_sends_the_message_of_python(
    spark: SparkSession,
    rows: DataFrame,
    query: Query,
    is_full: bool,  # noqa: FBT001
) -> None:
    check(spark, query(rows), is_full=is_full)


def test_sql_sends_the_wall_clock_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    rows = table_of(spark.readStream.schema(SCHEMA).parquet(str(tmp_path)))
    for is_full in (False, True):
        check(spark, hours(rows, transom.ProcessingTime()), is_full=is_full)


def check(spark: SparkSession, windowed: transom.Windowed, *, is_full: bool) -> None:
    call = Writer(DISTANCES.__getitem__, is_full).window(windowed._spec)
    found = spark.sql(f"SELECT origin, sum(delay) FROM flights GROUP BY origin, {call}")
    assert message_of(found) == message_of(windowed.agg(F.sum("delay")))


def message_of(results: DataFrame) -> Any:
    """Return the spec of the only window operator, as the checkpoint stores it."""
    (operator,) = json.loads(transom.explain(results, mode="json"))
    return operator


def test_the_queries_give_each_argument_of_each_function(rows: DataFrame) -> None:
    short, full = (Writer(DISTANCES.__getitem__, is_full) for is_full in (False, True))
    specs: list[WindowSpec] = [query(rows)._spec for query in QUERIES.values()]
    for writer in (short, full):
        for spec in specs:
            writer.window(spec)
    given = {
        (name, parameter["name"])
        for name, function in TABLE["functions"].items()
        if function["role"] in ROLES
        for parameter in parameters_of(name)
        if parameter in function["parameters"]
    }
    assert given - full.written == set()
    # Here the time is a column, and the delay an option of the window.
    times = {("transom_event_time", "time"), ("transom_event_time", "delay")}
    assert given - short.written == times | {("transom_time_policy", "time")}
    options = {option["name"] for option in TABLE["options"]}
    assert options - {argument for _, argument in short.written} == set()
