"""Tests that a Connect session cannot run, each with a reason."""

import os

import pytest


def is_connect() -> bool:
    """Whether the tests run in a Connect session."""
    return "SPARK_REMOTE" in os.environ


def skip_in_connect(reason: str) -> None:
    """Skip the running test in a Connect session. `docs/connect.md` lists the reasons."""
    if is_connect():
        pytest.skip(reason)
