"""The page of errors: its wrong code raises the error of its entry, and its right code does not."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import transom
from tests.end_to_end.documents.pages import blocks

ROOT = Path(__file__).parents[3]
TOPICS = json.loads((ROOT / "spec/error-examples.json").read_text("utf-8"))
EXAMPLES = {
    name: example
    for topic in TOPICS.values()
    for name, example in topic.items()
    if "wrong" in example
}


@pytest.fixture(scope="module")
def variables(spark: SparkSession) -> dict[str, Any]:
    (block,) = blocks(ROOT / "docs/errors.md")
    names: dict[str, Any] = {"spark": spark}
    exec(block.code, names)
    return names


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_raises_its_error_and_its_correction_does_not(
    name: str, variables: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", transom.TransomWarning)
        with pytest.raises((PySparkException, transom.TransomWarning)) as raised:
            exec(EXAMPLES[name]["wrong"], dict(variables))
        exec(EXAMPLES[name]["right"], dict(variables))
    if isinstance(raised.value, PySparkException):
        assert raised.value.getCondition() == name
    else:
        assert str(raised.value).startswith(f"[{name}] ")


def test_each_condition_has_an_entry() -> None:
    conditions = json.loads((ROOT / "spec/error-conditions.json").read_text("utf-8"))
    assert sorted(name for topic in TOPICS.values() for name in topic) == sorted(conditions)
