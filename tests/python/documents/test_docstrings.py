import doctest

import pytest

from tests.docstrings import check, examples

EXAMPLES = examples(in_session=False)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 10


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_examples_of_a_docstring_hold(example: doctest.DocTest) -> None:
    check(example)
