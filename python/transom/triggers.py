"""Triggers: frozen values that say when a window gives results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Trigger:
    """When a window fires; the classes of this module are all there are."""

    __slots__ = ()

    def to_wire(self) -> dict[str, Any]:
        """The trigger as it stands in the message to the JVM."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class EndOfStream(Trigger):
    """Fires once, when the input ends: a static DataFrame is over, or a stream was drained.

    Examples
    --------
    >>> EndOfStream().to_wire()
    {'kind': 'end_of_stream'}
    """

    def to_wire(self) -> dict[str, Any]:
        """The trigger as it stands in the message to the JVM."""
        return {"kind": "end_of_stream"}


# What windows of event time do by themselves: fire at the end, and again for each late row that an
# allowed lateness lets in (flink.md 5.1).
AFTER_WATERMARK: dict[str, Any] = {
    "kind": "after_watermark",
    "early": None,
    "late": {"kind": "after_count", "rows": 1},
}
