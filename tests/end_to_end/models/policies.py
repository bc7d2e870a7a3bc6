"""Time policies and windows of transom, and the same ones of the reference model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

import transom
from tests.time_model import stamping, windows
from transom.spec.windows.assigners import Window

SECOND = 1_000_000
RULES: dict[str, type] = {
    "accept": transom.Accept,
    "drop": transom.Drop,
    "adjust": transom.Adjust,
}

# What has a watermark of its own. Windows follow the least watermark of the partitions, or the
# watermark of their substream.
Sources = Literal["all rows", "partitions", "substreams"]


@dataclass(frozen=True)
class Case:
    """A window of transom, and the same window of the model, in seconds."""

    ours: Window
    model: windows.Grid | windows.Session

    def __repr__(self) -> str:
        return repr(self.ours)


def seconds(count: int) -> timedelta:
    return timedelta(seconds=count)


def grid(size: int, slide: int, closed: Any = "left") -> Case:
    ours = transom.Hopping(size=seconds(size), slide=seconds(slide), closed=closed)
    return Case(ours, windows.Grid(size * SECOND, slide * SECOND, closed=closed))


def session(
    gap: int,
    *,
    inclusive: bool,
    late_start: Any = "open",
    closed: Any = "left",
    longest: int | None = None,
    check: Any = ">=",
) -> Case:
    ours = transom.Session(
        gap=seconds(gap),
        inclusive=inclusive,
        closed=closed,
        max_duration=None if longest is None else seconds(longest),
        max_check=check,
        late_start=late_start,
    )
    micros = None if longest is None else longest * SECOND
    model = windows.Session(gap * SECOND, inclusive, closed, late_start, micros, check)
    return Case(ours, model)


def policy_of(model: stamping.TimePolicy, sources: Sources) -> transom.TimePolicy:
    def rule(bound: stamping.Bound | None) -> Any:
        if bound is None:
            return None
        return RULES[bound.action](timedelta(microseconds=bound.beyond))

    return transom.TimePolicy(
        "at",
        arrival="known",
        partition="source" if sources == "partitions" else None,
        partitions=model.partitions if sources == "partitions" else (),
        over=["source"] if sources == "substreams" else (),
        early=rule(model.early),
        late=rule(model.late),
        out_of_order=rule(model.out_of_order),
        advance=transom.Periodic(model.rows),
    )


def punctuated(
    time: transom.TimePolicy, model: stamping.TimePolicy, when: str
) -> transom.TimePolicy:
    """The policy with punctuation that sets the watermark to its time."""
    beside = transom.Periodic(model.rows) if model.follows_rows else None
    return replace(time, advance=transom.Punctuated(when, at="at", beside=beside))
