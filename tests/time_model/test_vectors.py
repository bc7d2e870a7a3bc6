"""The model against test vectors, field by field.

``make test-python VECTORS=folder`` reads another folder than the project's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.time_model import atlas, azure, vectors
from tests.time_model.vectors import Json

OWN = Path(__file__).parents[1] / "conformance"
FOLDER = Path(os.environ.get("VECTORS") or OWN)
MODELS: dict[str, Callable[[Json], Json]] = {
    "asa.time_policy": azure.time_policy,
    "asa.window": azure.finished,
    "asa.pipeline": azure.pipeline,
    "si.advance_time": azure.advance_time,
    "atlas.fixed": atlas.fixed,
    "atlas.session": atlas.session,
}
# Fields that a vector leaves out where they would be empty.
OMITTED_IF_EMPTY = {"adjusted_by", "missed_windows", "closed_windows"}


def read() -> list[Json]:
    return [vector for vector in vectors.read(FOLDER) if vector["model"] in MODELS]


def differences(path: str, expected: Any, got: Any) -> list[str]:
    """The fields in which two values differ. Fields that only the model has do not count."""
    if isinstance(expected, dict) and isinstance(got, dict):
        fields = {*expected, *(OMITTED_IF_EMPTY & {*got})} - {"why"}
        return [
            found
            for name in sorted(fields)
            for found in differences(f"{path}.{name}", expected.get(name), got.get(name))
        ]
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [
            found
            for number, (want, have) in enumerate(zip(expected, got, strict=True))
            for found in differences(f"{path}[{number}]", want, have)
        ]
    return [] if expected == got else [f"{path}: expected {expected}, got {got}"]


def in_one_order(outputs: list[Json]) -> list[Json]:
    """Results in an order that does not depend on when they are emitted."""
    names = ("window_end", "window_start")
    bare = [{name: field for name, field in each.items() if name != "why"} for each in outputs]
    return sorted(
        bare,
        key=lambda each: (*(each[name] for name in names), json.dumps(each, sort_keys=True)),
    )


@pytest.mark.parametrize("vector", read(), ids=lambda vector: vector["id"])
def test_the_model_gives_what_the_vector_expects(vector: Json) -> None:
    expected, got = vector["expected"], MODELS[vector["model"]](vector)
    if "outputs" in expected:
        expected = expected | {"outputs": in_one_order(expected["outputs"])}
        got = got | {"outputs": in_one_order(got["outputs"])}
    assert not differences("expected", expected, got)


def test_the_projects_own_vectors_cover_each_kind() -> None:
    found = {vector["model"] for vector in vectors.read(OWN)}
    assert {*MODELS} <= found
