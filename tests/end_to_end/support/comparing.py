"""Compares rows without regard to their order, and floating numbers with a relative tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Row

# Relative to the larger of two numbers: an absolute tolerance would hide errors of small numbers.
# Vectors hold numbers of single precision, which have seven digits.
_TOLERANCE = 1e-6


def near(left: Any, right: Any) -> bool:
    """Whether two values are equal, up to rounding of floating-point sums."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=_TOLERANCE)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(near, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(near(left[k], right[k]) for k in left)
    return bool(left == right)


def by_key(rows: Iterable[Row], *keys: str) -> dict[str, Row]:
    """The rows by their key columns. Fails if two rows have the same key."""
    found: dict[str, Row] = {}
    for row in rows:
        key = repr([row[name] for name in keys])
        assert key not in found, f"two rows have {', '.join(keys)} = {key}"
        found[key] = row
    return found


def assert_same(ours: Iterable[Row], expected: Iterable[Row], *keys: str) -> None:
    """Fail with the differences unless both have the same keys with nearly equal values."""
    left, right = by_key(ours, *keys), by_key(expected, *keys)
    assert left.keys() - right.keys() == set(), "rows too many"
    assert right.keys() - left.keys() == set(), "rows too few"
    # This is a list because values may not be hashable.
    differing = [
        (name, left[key][name], right[key][name])
        for key in left
        for name in left[key].__fields__
        if not near(left[key][name], right[key][name])
    ]
    assert not differing, f"(column, got, expected): {sorted(differing, key=repr)[:10]}"
