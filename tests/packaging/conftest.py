"""The files of ``make build``."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
long = pytest.mark.skipif(
    "TRANSOM_RELEASE" not in os.environ, reason="takes minutes: run by make release-check"
)


@pytest.fixture(scope="session")
def jar() -> Path:
    """The jar in the Python package."""
    return ROOT / "python/transom/jars/transom.jar"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The one wheel in dist."""
    (found,) = (ROOT / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist() -> Path:
    """The one sdist in dist."""
    (found,) = (ROOT / "dist").glob("*.tar.gz")
    return found
