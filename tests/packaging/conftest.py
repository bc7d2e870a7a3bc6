"""The files of ``make build``."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def jar() -> Path:
    """The jar in the Python package."""
    return ROOT / "python/transom/jars/transom.jar"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The one wheel in dist."""
    (found,) = (ROOT / "dist").glob("*.whl")
    return found
