"""Errors of steps that call other steps: each names what the user wrote."""

from collections.abc import Callable
from datetime import datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.python.conditions import raises

HOUR = transom.Tumbling(size="1 hour")


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a", datetime(2024, 1, 1), 1)], "k string, t timestamp, v int")


def test_the_results_of_tagged_rows_are_named(rows: DataFrame) -> None:
    tagged = transom.stream(rows, time="t").window(HOUR).with_late_rows().agg(n=F.count("*"))
    with raises("UNKNOWN_COLUMN", "time") as caught:
        transom.stream(tagged, time="window")
    assert str(caught.value).endswith("their results are untag(df, 'results').")
    with raises("UNKNOWN_TAG", "tag") as caught:
        transom.untag(tagged, "dead_letters")
    assert str(caught.value).endswith("The step with_dead_letters() adds it.")


def test_scan_names_its_own_arguments(rows: DataFrame) -> None:
    by_key = transom.stream(rows, time="t").key_by("k")
    with raises("BAD_SCHEMA", "state"):
        by_key.scan(lambda rows, _: rows, "v int", state="calls")
    with raises("BAD_FUNCTION", "fn") as caught:
        by_key.scan(lambda rows: rows, "v int", state="calls long")
    assert "2 arguments because of state" in str(caught.value)
    with raises("NO_CLOCK") as caught:
        transom.stream(rows).scan(lambda rows: rows, "v int")
    assert "scan() needs the event time" in str(caught.value)


def test_presets_name_their_own_arguments(rows: DataFrame) -> None:
    mistakes: list[tuple[Callable[[], object], str, str]] = [
        (lambda: transom.atlas.stream(rows, timeField="w"), "UNKNOWN_COLUMN", "timeField"),
        (lambda: transom.atlas.stream(rows, timeField="k"), "NOT_A_TIMESTAMP", "timeField"),
        (lambda: transom.azure.stream(rows, arrival="k"), "NOT_A_TIMESTAMP", "arrival"),
        (
            lambda: transom.azure.stream(rows, arrival="t", timestampBy="k"),
            "NOT_A_TIMESTAMP",
            "timestampBy",
        ),
        (lambda: transom.streaminsight.stream(rows, start="k"), "NOT_A_TIMESTAMP", "start"),
        (
            lambda: transom.streaminsight.stream(rows, start="t", end="k"),
            "NOT_A_TIMESTAMP",
            "end",
        ),
    ]
    for mistake, condition, argument in mistakes:
        with raises(condition, argument):
            mistake()


def test_a_step_that_a_preset_has_taken_is_shown(rows: DataFrame) -> None:
    stream = transom.atlas.stream(rows, timeField="t")
    minutes = transom.atlas.tumblingWindow(stream, interval={"size": 1, "unit": "minute"})
    with raises("SET_TWICE", "trigger") as caught:
        minutes.trigger(transom.AfterCount(1))
    assert "as trigger(AfterLateness()), by an earlier step or by a preset" in str(caught.value)
