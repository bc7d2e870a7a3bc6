"""What running a vector gives: nothing, a difference, or the reason why no query expresses it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any


class UnsupportedError(Exception):
    """A vector that no query expresses, with the reason."""


def difference(what: str, expected: Iterable[Any], got: Iterable[Any]) -> str | None:
    """Compare values in any order. Returns what is missing and what should not be there."""
    want, have = (Counter(map(shown, values)) for values in (expected, got))
    if want == have:
        return None
    missing, surplus = sorted((want - have).elements()), sorted((have - want).elements())
    return f"{what}: missing {missing}, unexpected {surplus}"


def shown(value: Any) -> str:
    """A value as text. Times are in ISO format."""
    return json.dumps(value, sort_keys=True, default=lambda time: time.isoformat())
