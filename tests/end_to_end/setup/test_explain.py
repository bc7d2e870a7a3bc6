"""`explain`: the description of the window operators of a DataFrame."""

import json

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom

SCHEMA = "key string, time timestamp, value int"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


@pytest.fixture
def hourly(rows: DataFrame) -> DataFrame:
    window = transom.Hopping(size="1 hour", slide="25 minutes", offset="-90 seconds")
    by_key = transom.stream(rows, time="time").key_by("key").window(window)
    return by_key.agg(F.count("*").alias("n"), F.avg("value"))


def test_the_text_tells_layout_and_settings(hourly: DataFrame) -> None:
    lines = transom.explain(hourly.where("n > 1")).splitlines()
    assert lines[0] == "window"
    said = {line[2:12].strip(): line[14:] for line in lines[1:]}
    assert said["window"] == (
        "hopping, size 1 hour, slide 25 minutes, offset -1 minute -30 seconds, time zone UTC"
    )
    assert said["keys"] == "key STRING"
    assert said["time"] == "time TIMESTAMP"
    assert said["trigger"] == "after watermark"
    assert said["aggregates"] == "count(1) BIGINT, avg(value) DOUBLE"
    assert said["key groups"] == "128"
    assert said["layout"].startswith("slices: ")
    assert "slice of 5 minutes" in said["state"]
    assert "in memory" in said["state"]


def test_operators_come_in_the_order_of_the_rows(spark: SparkSession) -> None:
    source = spark.readStream.format("rate").load().withWatermark("timestamp", "10 seconds")
    minutes = transom.stream(source, time="timestamp").window(transom.Tumbling(size="1 minute"))
    counts = minutes.agg(F.count("*").alias("n"))
    sessions = transom.stream(counts, time="window").window(transom.Session(gap="1 hour")).drain()
    text = transom.explain(sessions.agg(F.sum("n")))
    assert [part.splitlines()[0] for part in text.split("\n\n")] == ["window", "window_2"]
    assert "open windows wait for the next run" in text.split("\n\n")[0]
    assert "open windows fire when an availableNow run ends" in text.split("\n\n")[1]
    assert "keys        none" in text


def test_the_wall_clock_is_told(spark: SparkSession) -> None:
    source = spark.readStream.format("rate").load()
    minutes = transom.stream(source, time=transom.ProcessingTime()).window(
        transom.Tumbling(size="1 minute")
    )
    text = transom.explain(minutes.options(tick="5 seconds").agg(F.count("*")))
    assert "time        the wall clock; ticks every 5 seconds" in text
    assert "layout      keyed: needed for ProcessingTime()" in text


def test_a_single_result_after_the_lateness_is_told(rows: DataFrame) -> None:
    hours = transom.stream(rows, time="time").window(transom.Tumbling(size="1 hour"))
    final = hours.allowed_lateness("3 seconds").trigger(transom.AfterLateness())
    text = transom.explain(final.agg(F.count("*")))
    assert "trigger     after lateness" in text
    assert "late rows   counted; allowed lateness 3 seconds" in text
    assert "layout      keyed: needed for the trigger AfterLateness" in text


def test_the_json_is_the_message_and_its_columns(hourly: DataFrame) -> None:
    (operator,) = json.loads(transom.explain(hourly, mode="json"))
    assert operator["operator"] == "window"
    assert operator["layout"] == "slices"
    assert operator["spec"]["key_columns"] == [0]
    assert operator["spec"]["window"]["slide_us"] == 1_500_000_000
    assert operator["columns"][0] == {"sql": "key", "type": "STRING", "reads": {"key": "STRING"}}


def test_a_plan_without_operator_is_refused(rows: DataFrame) -> None:
    with pytest.raises(IllegalArgumentException) as caught:
        transom.explain(rows)
    assert caught.value.getCondition() == "TRANSOM_NOT_OURS"


def named(df: DataFrame, time: str, name: str | None) -> DataFrame:
    windowed = transom.stream(df, time=time).window(transom.Tumbling(size="1 hour"))
    return windowed.options(name=name).agg(F.count("*").alias("n"))


def names(df: DataFrame) -> list[str]:
    return [operator["operator"] for operator in json.loads(transom.explain(df, mode="json"))]


def test_an_operator_without_name_gets_one_of_its_own(rows: DataFrame) -> None:
    first = named(rows, "time", None)
    assert names(named(named(first, "window", None), "window", None)) == [
        "window",
        "window_2",
        "window_3",
    ]
    assert names(named(named(rows, "time", "window_2"), "window", None)) == ["window_2", "window_3"]


def test_a_name_is_given_once(rows: DataFrame) -> None:
    first = named(rows, "time", "hours")
    with pytest.raises(IllegalArgumentException, match="an earlier window operator") as caught:
        named(first, "window", "Hours")
    assert caught.value.getCondition() == "TRANSOM_NAME_TAKEN"


def test_it_tells_whether_the_rows_of_a_policy_stay_with_their_tasks(spark: SparkSession) -> None:
    def line(rows: DataFrame) -> str:
        policy = transom.TimePolicy("timestamp")
        windows = transom.stream(rows, time=policy).window(transom.Tumbling(size="1 minute"))
        text = transom.explain(windows.agg(F.count("*")))
        return next(line for line in text.splitlines() if line.startswith("  rows "))

    source = spark.readStream.format("rate").load()
    table = spark.range(3).withColumnRenamed("id", "value")
    stay = "  rows        stay with their tasks, and only their times go to one task"
    assert line(source.where("value > 1")) == stay
    assert line(source.join(F.broadcast(table), "value")) == stay
    travel = "  rows        go to one task: {} may bring them in another order when a task reads"
    assert line(source.repartition(4)) == travel.format("Repartition") + " them again"
    assert line(source.join(table, "value")) == travel.format("Join") + " them again"
