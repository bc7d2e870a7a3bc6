"""Reads test vectors. Their instants become whole microseconds since 1970."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.time_model.windows import Grid

Json = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_WINDOW_TYPES = {"tumbling", "hopping", "session"}


def read(folder: Path) -> list[Json]:
    """The vectors below a folder that concern the model, by name."""
    found = (json.loads(path.read_text()) for path in sorted(folder.rglob("*.json")))
    return [in_micros(vector) for vector in found if "model" in vector and concerns(vector)]


def concerns(vector: Json) -> bool:
    """Whether the model has the windows and the kinds of events of a vector."""
    if vector["model"] == "si.advance_time":
        return True
    kinds = vector["windows"] if isinstance(vector["windows"], list) else [vector["windows"]]
    return (
        all(kind is None or kind.get("type", "session") in _WINDOW_TYPES for kind in kinds)
        and not {"stages", "having"} & {*vector, *vector["policy"]}
        and not any(event.get("kind") == "cti" or "end" in event for event in vector["events"])
    )


def in_micros(value: Any) -> Any:
    """Replace all instants by microseconds since 1970."""
    if isinstance(value, dict):
        return {name: in_micros(field) for name, field in value.items()}
    if isinstance(value, list):
        return [in_micros(item) for item in value]
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        return (datetime.fromisoformat(value) - _EPOCH) // timedelta(microseconds=1)
    return value


def micros(settings: Json, name: str, default: int | None = None) -> int | None:
    """A duration of the settings, which are in milliseconds."""
    millis = settings.get(name, default)
    return None if millis is None else millis * 1_000


def duration(settings: Json, name: str, default: int | None = None) -> int:
    """A duration that the settings must have, unless there is a default."""
    found = micros(settings, name, default)
    assert found is not None, f"{name} is missing"
    return found


def grid(settings: Json, *, aligned_ends: bool = False) -> Grid:
    """Tumbling or hopping windows. Azure aligns their ends, others their starts."""
    size, offset = duration(settings, "size_ms"), duration(settings, "offset_ms", 0)
    slide = duration(settings, "hop_ms", settings["size_ms"])
    return Grid(size, slide, offset - size, "right") if aligned_ends else Grid(size, slide, offset)


def column(event: Json, name: str) -> Any:
    """A value of an event. It is a field of the event or of its payload."""
    return event[name] if name in event else event["payload"][name]
