"""A session with another Spark, or another jar, is refused."""

from datetime import datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.sessions import Reason, skip_in_connect
from tests.python.conditions import raises
from transom import _supported
from transom._bridge import classic

HOUR = transom.Tumbling(size="1 hour")


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a", datetime(2024, 1, 1), 1)], "k string, t timestamp, v int")


@pytest.mark.parametrize(
    ("name", "value", "condition"),
    [
        ("__version__", "9.9.9", "JAR_VERSION"),
        ("_ENTRY", "transom.spark.OfAnotherJar$", "JAR_BROKEN"),
    ],
)
def test_a_jar_of_another_version_or_without_our_classes_is_refused(
    rows: DataFrame, monkeypatch: pytest.MonkeyPatch, name: str, value: str, condition: str
) -> None:
    skip_in_connect(Reason.PY4J)
    monkeypatch.setattr(classic, name, value)
    with raises(condition):
        transom.stream(rows, time="t").window(HOUR).agg(F.sum("v"))


def test_another_spark_is_refused(rows: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_in_connect(Reason.PY4J)
    monkeypatch.setattr(_supported, "SUPPORTED_SPARK", ("3.5", "5.0"))
    with raises("SPARK_VERSION"):
        transom.stream(rows, time="t").window(HOUR).agg(F.sum("v"))
