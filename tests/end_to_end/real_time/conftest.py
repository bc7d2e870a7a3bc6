"""Skips the tests of this folder where Spark's Real-Time Mode has no windows."""

import pytest

from tests.end_to_end.support.real_time import IS_SUPPORTED, REASON
from tests.end_to_end.support.sessions import Reason, skip_in_connect


@pytest.fixture(autouse=True)
def _real_time_mode() -> None:
    skip_in_connect(Reason.JVM)
    if not IS_SUPPORTED:
        pytest.skip(REASON)
