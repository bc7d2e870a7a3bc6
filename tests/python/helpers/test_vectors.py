from typing import Any

import pytest

from tests.end_to_end.support import vectors


@pytest.mark.parametrize("vector", [{"id": "x"}, {"kind": "odd"}, {"kind": None}, [], "text"])
def test_a_vector_of_no_known_kind_is_a_failure(vector: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        vectors.check(vector)


@pytest.mark.parametrize("vector", [{"kind": "merge"}, {"system": "asa"}])
def test_what_only_the_engine_runs_is_skipped(vector: Any) -> None:
    with pytest.raises(vectors.UnsupportedError):
        vectors.check(vector)
