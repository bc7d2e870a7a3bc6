"""The files that ``make build`` made."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def jar() -> Path:
    """The jar, where the Python package has it."""
    return ROOT / "python/transom/jars/transom.jar"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The one wheel in dist."""
    (found,) = (ROOT / "dist").glob("*.whl")
    return found
