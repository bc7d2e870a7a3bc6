"""Times that Spark has and Python lacks, in functions of Python."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
# Microseconds since 1970 of the last and the first time of Python, and of a day in between.
END, START, DAY = 253_402_300_799_999_999, -62_135_596_800_000_000, 1_704_110_400_000_000
SCHEMA = "k string, us bigint"
ROWS = [("a", DAY), ("b", START), ("a", END)]
WINDOWS = {
    "days": transom.Tumbling("1 day"),
    "weeks": transom.Calendar("week", time_zone="UTC", first_day="sunday"),
}
# Start and end of each window in Python, by its kind.
BOUNDS = {
    "days": [
        (FIRST, datetime(1, 1, 2, tzinfo=UTC)),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)),
        (datetime(9999, 12, 31, tzinfo=UTC), LAST),
    ],
    "weeks": [
        (FIRST, datetime(1, 1, 7, tzinfo=UTC)),
        (datetime(2023, 12, 31, tzinfo=UTC), datetime(2024, 1, 7, tzinfo=UTC)),
        (datetime(9999, 12, 26, tzinfo=UTC), LAST),
    ],
}


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Set the time zone of the session."""
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def seen(rows: Any, context: transom.Context) -> Any:
    """Return what the function gets as texts."""
    assert context.clock is not None
    window = context.window
    assert window is not None
    values = {"n": [len(rows)], "start": [str(window.start)], "end": [str(window.end)]}
    values["key"] = [repr(tuple(context.key))]
    table = pa.table({name: pa.array(column) for name, column in values.items()})
    return table if isinstance(rows, pa.Table) else table.to_pandas()


SEEN = "n bigint, start string, end string, key string"


def timed(rows: DataFrame) -> DataFrame:
    at = rows.withColumn("at", F.timestamp_micros("us"))
    return at.withColumn("on", F.expr("date_from_unix_date(cast(us div 86400000000 as int))"))


def next_day() -> Column:
    """The next day: for the last time in the year 10000, which Python lacks."""
    return F.date_add("on", 1).alias("next")


def texts(name: str) -> list[tuple[str, str]]:
    return sorted((str(start), str(end)) for start, end in BOUNDS[name])


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("form", ["arrow", "pandas"])
@pytest.mark.parametrize("name", WINDOWS)
def test_the_bounds_of_windows_are_the_nearest_times_of_python(
    spark: SparkSession, name: str, form: Any
) -> None:
    rows = timed(spark.createDataFrame(ROWS, SCHEMA)).withColumn("next", next_day())
    later = F.timestamp_micros(F.col("us") + 86_400_000_000)
    rows = rows.withColumn("s", F.struct(later.alias("later"), F.array("next")))
    by_time = transom.stream(rows, time="at").key_by("k", F.struct("at", next_day()).alias("when"))
    found = by_time.window(WINDOWS[name]).apply(seen, SEEN, form=form).select("n", "start", "end")
    assert sorted((row["start"], row["end"]) for row in found.collect()) == texts(name)
    whole = by_time.window(WINDOWS[name]).apply(seen, SEEN, agg=[F.count("*").alias("m")])
    assert whole.count() == 3


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("zone")
def test_state_of_a_key_whose_times_python_lacks(spark: SparkSession, tmp_path: Path) -> None:
    def remember(rows: pa.Table, context: transom.Context) -> pa.Table:
        window = context.window
        assert window is not None
        context.key_state["last"] = window.end
        context.window_state["last"] = window.start
        return pa.table({"n": [rows.num_rows]})

    def pipeline(rows: DataFrame) -> DataFrame:
        stream = transom.stream(timed(rows), time=transom.TimePolicy("at"))
        keyed = stream.key_by("at", next_day(), F.struct("at").alias("s"))
        return (
            keyed.window(WINDOWS["days"])
            .drain()
            .apply(remember, "n bigint", key_state="last timestamp", window_state="last timestamp")
            .select("n")
        )

    batches = [[("b", START)], [("a", DAY)], [("a", END)]]
    outcome = run_stream(spark, pipeline, SCHEMA, batches, checkpoint=tmp_path)
    assert [row["n"] for row in outcome.results] == [1, 1, 1]


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("zone")
def test_an_error_of_the_function_is_shown_with_its_window(spark: SparkSession) -> None:
    def fail(rows: pa.Table) -> pa.Table:
        raise KeyError(f"what the user must see in {rows.num_rows} row")

    rows = timed(spark.createDataFrame(ROWS[2:], SCHEMA))
    windows = transom.stream(rows, time="at").key_by("k").window(WINDOWS["days"])
    with pytest.raises(Exception, match=r"TRANSOM_FUNCTION_FAILED[\s\S]*what the user must see"):
        windows.apply(fail, "n bigint").collect()


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("zone")
def test_scan_sees_the_first_and_the_last_time(spark: SparkSession) -> None:
    def note(rows: pa.Table, context: transom.Context) -> pa.Table:
        window = context.window
        assert window is not None
        context.key_state["at"] = window.start
        return pa.table({"at": [str(window.start)] * rows.num_rows})

    rows = timed(spark.createDataFrame(ROWS, SCHEMA))
    found = (
        transom.stream(rows, time="at").key_by("k").scan(note, "at string", state="at timestamp")
    )
    expected = [FIRST, datetime(2024, 1, 1, 12, tzinfo=UTC), LAST]
    assert sorted(row["at"] for row in found.collect()) == sorted(map(str, expected))
