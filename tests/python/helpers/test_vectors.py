from typing import Any

import pytest

from tests.end_to_end.conformance import flink_vectors
from tests.end_to_end.conformance.outcomes import UnsupportedError


@pytest.mark.parametrize("vector", [{"id": "x"}, {"kind": "odd"}, {"kind": None}, [], "text"])
def test_a_vector_of_no_known_kind_is_a_failure(vector: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        flink_vectors.check(vector)


def test_what_only_the_engine_runs_is_skipped() -> None:
    with pytest.raises(UnsupportedError):
        flink_vectors.check({"kind": "merge"})
