"""Expects an error of transom, by its condition and the argument that it names."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException


@contextmanager
def raises(
    condition: str, argument: str | None = None, kind: type[PySparkException] = PySparkException
) -> Iterator[pytest.ExceptionInfo[PySparkException]]:
    """Expect the condition ``TRANSOM_<condition>``, and the argument among its parameters."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert error.getCondition() == f"TRANSOM_{condition}"
    assert str(error).startswith(f"[TRANSOM_{condition}] ")
    if argument is not None:
        assert (error.getMessageParameters() or {})["argument"] == argument
