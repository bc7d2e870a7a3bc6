"""`to_topics`: results and side outputs as records of Kafka, each with its topic."""

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.python.conditions import raises

EPOCH = "1970-01-01T00:00:"


@pytest.fixture(scope="module")
def tagged(spark: SparkSession) -> DataFrame:
    rows = spark.createDataFrame([("a", 1), ("a", 2), (None, 3), ("b", None)], "key string, s int")
    time = F.timestamp_seconds("s")
    windows = transom.stream(rows, time=time).key_by("key").window(transom.Tumbling("10 seconds"))
    return windows.with_late_rows().with_dead_letters().agg(F.count("*").alias("n"))


TOPICS: Any = {"results": "counts", "late": "late-rows", "dead_letters": "bad.rows"}


def collected(records: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in records.collect()), key=str)


def test_each_row_is_a_record_for_the_topic_of_its_tag(tagged: DataFrame) -> None:
    records = transom.to_topics(tagged, **TOPICS)
    assert records.columns == ["topic", "value"]
    found = [(row["topic"], json.loads(row["value"])) for row in collected(records)]
    ((_, dead),) = [one for one in found if one[0] == "bad.rows"]
    assert (dead["row"], dead["reason"]) == ({"key": "b"}, "no_time")
    window = {"start": f"{EPOCH}00.000000Z", "end": f"{EPOCH}10.000000Z"}
    assert [one for one in found if one[0] != "bad.rows"] == [
        ("counts", {"key": "a", "window": window, "n": 2}),
        ("counts", {"window": window, "n": 1}),
    ]


def test_results_have_keys_and_other_rows_have_none(tagged: DataFrame) -> None:
    records = transom.to_topics(tagged, **TOPICS, key=["key", "window"])
    assert records.columns == ["topic", "key", "value"]
    keys = [(row["topic"], row["key"] and json.loads(row["key"])) for row in collected(records)]
    window = {"start": f"{EPOCH}00.000000Z", "end": f"{EPOCH}10.000000Z"}
    assert keys == [
        ("bad.rows", None),
        ("counts", {"key": "a", "window": window}),
        ("counts", {"window": window}),
    ]


def test_a_function_writes_the_values(tagged: DataFrame) -> None:
    records = transom.to_topics(tagged, **TOPICS, value=lambda row: F.to_csv(row))
    values = [row["value"] for row in collected(records) if row["topic"] == "counts"]
    assert [value[0] for value in values] == [",", "a"]


def test_each_tag_needs_a_topic_and_each_topic_a_tag(tagged: DataFrame) -> None:
    with raises("TOPIC_MISSING", "dead_letters"):
        transom.to_topics(tagged, results="counts", late="late")
    with raises("TOPIC_MISSING", "results"):
        transom.to_topics(tagged, late="late", dead_letters="dead")
    with raises("UNKNOWN_TAG", "to_topics"):
        transom.to_topics(tagged, **TOPICS, odd="odd")
    with raises("NOT_TAGGED", "tagged"):
        transom.to_topics(transom.untag(tagged, "results"), results="counts")


def test_arguments_of_other_types_are_named(tagged: DataFrame) -> None:
    with raises("BAD_TYPE", "late"):
        transom.to_topics(tagged, results="counts", late=print)  # type: ignore[arg-type]
    with raises("BAD_TYPE", "key"):
        transom.to_topics(tagged, **TOPICS, key="key")
    with raises("BAD_TYPE", "value"):
        transom.to_topics(tagged, **TOPICS, value="json")  # type: ignore[arg-type]
