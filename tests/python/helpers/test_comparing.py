"""The comparison of rows in the end-to-end tests finds wrong values of any size."""

import math

import pytest
from pyspark.sql import Row

from tests.end_to_end.support.comparing import assert_same, near


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e12])
def test_numbers_differ_by_a_part_of_their_size(size: float) -> None:
    assert near(size, size * (1 + 1e-7))
    assert not near(size, size * (1 + 1e-5))
    assert not near(size, 0.0)
    assert not near([{"v": size}], [{"v": 2 * size}])


def test_nan_and_the_infinities_equal_themselves_only() -> None:
    assert near(math.nan, math.nan)
    assert near(math.inf, math.inf)
    assert not near(math.nan, 0.0)
    assert not near(math.inf, 1e300)


def test_a_small_value_that_is_wrong_is_named() -> None:
    with pytest.raises(AssertionError, match="rate"):
        assert_same([Row(key="a", rate=2e-7)], [Row(key="a", rate=1e-7)], "key")
    with pytest.raises(AssertionError, match="rates"):
        assert_same([Row(key="a", rates=[2e-7])], [Row(key="a", rates=[1e-7])], "key")
