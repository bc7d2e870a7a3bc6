"""Reads the worked examples in tests/conformance/seeds."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

SEEDS = Path(__file__).parents[2] / "conformance" / "seeds"


def vector(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SEEDS / f"{name}.json").read_text("utf-8"))
    return found


def instant(text: str) -> datetime:
    """An instant of a vector, in UTC without a time zone."""
    return datetime.fromisoformat(text).replace(tzinfo=None)
