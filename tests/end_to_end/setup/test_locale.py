"""The locale of the JVM changes no option and no result."""

import json

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.programs import speaking_turkish
from tests.end_to_end.support.programs.run import run


@pytest.mark.skipif(not LONG, reason="starts a JVM: run by make check-long")
def test_a_turkish_jvm_gives_the_same_results(spark: SparkSession) -> None:
    printed = run("speaking_turkish")
    assert printed.returncode == 0, printed.stderr
    locale, found = printed.stdout.splitlines()
    assert locale == "tr_TR"
    assert json.loads(found) == speaking_turkish.results(spark)
