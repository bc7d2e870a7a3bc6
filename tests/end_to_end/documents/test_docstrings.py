import doctest

import pytest
from pyspark.sql import SparkSession

from tests.docstrings import check, examples

EXAMPLES = examples(in_session=True)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 3


@pytest.mark.sampled(5)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_examples_of_a_docstring_hold(example: doctest.DocTest, spark: SparkSession) -> None:
    check(example, spark=spark)
