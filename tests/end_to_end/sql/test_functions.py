"""The functions of SQL: each has an example that runs, and a description."""

import re
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from tests.end_to_end.sql.calls import EXAMPLES, TABLE, parameters_of
from tests.end_to_end.sql.flights import flights, live_flights


def test_each_function_has_an_example_with_a_call() -> None:
    assert set(EXAMPLES) == set(TABLE["functions"])
    for name, example in EXAMPLES.items():
        assert f"{name}(" in example


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_has_rows(spark: SparkSession, tmp_path: Path, name: str) -> None:
    example = EXAMPLES[name]
    is_stream = "FROM STREAM flights" in example
    rows = live_flights(spark, tmp_path / "in", batches=1) if is_stream else flights(spark)
    rows.createOrReplaceTempView("flights")
    results = spark.sql(example)
    assert results.isStreaming == is_stream
    if not is_stream:
        assert results.take(1)
        return
    writer = results.writeStream.format("memory").queryName("example")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        while spark.table("example").isEmpty():
            query.awaitTermination(1)
    finally:
        query.stop()
        spark.catalog.dropTempView("example")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_description_has_each_argument_and_the_example(spark: SparkSession, name: str) -> None:
    function = TABLE["functions"][name]
    rows: list[Row] = spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()
    text = "\n".join(row[0] for row in rows)
    assert text.startswith(f"Function: {name}\n")
    assert f") - {function['usage']}" in text
    for parameter in parameters_of(name):
        assert f"* {parameter['name']} - {parameter['about']}\n" in text
        given = f"{parameter['name']} => ..." if parameter["by_name"] else parameter["name"]
        assert (given if parameter.get("required") else f"[{given}]") in text
    assert f"> {EXAMPLES[name]};" in text


def test_descriptions_have_the_names_of_sql() -> None:
    for name, function in TABLE["functions"].items():
        for text in (function["usage"], *(given["about"] for given in parameters_of(name))):
            assert text.endswith(".")
            # Double backticks, classes and constants of Python.
            known = text.replace("`Stream.stamped` of Python", "")
            assert not re.search(r"``|`[A-Z][a-z]|\bNone\b|\bFalse\b", known), text


def test_docstrings_become_texts_of_sql() -> None:
    time_policy = TABLE["functions"]["transom_time_policy"]
    abouts = {given["name"]: given["about"] for given in time_policy["parameters"]}
    assert "A duration means `transom_accept(duration)`." in abouts["out_of_order"]
    assert abouts["time"].endswith("NULL uses the arrival time.")
    options = {given["name"]: given["about"] for given in TABLE["options"]}
    assert options["tick"].endswith("The default is '1 second'.")
    assert "`transom_time_policy(idle_partition => ...)`" in options["tick"]
