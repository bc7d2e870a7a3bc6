"""A naive model of edges: it matches starts and ends, and computes each window from all rows.

All times are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import transom
from tests.end_to_end.models.lifetimes import EVER, NEVER, Content, Windows


@dataclass(frozen=True)
class Edge:
    """A row that starts or ends a lifetime, with the watermark that it met.

    ``start`` and ``end`` are the row's own. ``time`` is the time in force: the start or the end,
    unless a rule has moved it.
    """

    n: int
    key: str | None
    id: str | None
    start: int
    end: int | None
    time: int
    met: int = NEVER


class Life:
    """A lifetime that has started."""

    def __init__(self, edge: Edge, until: int) -> None:
        self.edge, self.until = edge, until
        self.start = edge.time
        # From where on the lifetime counts.
        self.counts_from = max(edge.time, edge.met)
        self.ended_by: Edge | None = None

    @property
    def end(self) -> int:
        return self.until if self.ended_by is None else self.ended_by.time

    @property
    def met_at_end(self) -> int:
        return EVER if self.ended_by is None else self.ended_by.met


class Edges:
    """What windows hold, and why rows are in a side output.

    Parameters
    ----------
    window : transom.Window
        A snapshot or grid window.
    edges : iterable of Edge
        All rows, in order of arrival.
    timeout : int, optional
        How long a row waits for its end.
    final : int
        The last watermark.
    drained : bool
        Whether the windows that are open at the end fire.
    """

    def __init__(
        self,
        window: transom.Window,
        edges: Iterable[Edge],
        *,
        timeout: int | None,
        final: int = NEVER,
        drained: bool = False,
    ) -> None:
        self.window, self.timeout, self.drained = window, timeout, drained
        self.final = final
        # Lists the windows of a grid.
        self.grid = Windows(window, [], final)
        self.reasons: dict[int, str] = {}
        self.ends: set[int] = set()
        self.lives: list[Life] = []
        for edge in edges:
            self._take(edge)

    @property
    def open(self) -> int:
        """The number of rows that wait for their end at the last watermark."""
        return sum(life.ended_by is None and life.until > self.final for life in self.lives)

    @property
    def fired(self) -> set[Content]:
        """The results of the windows that are over."""
        keys = {life.edge.key for life in self.lives}
        return {
            content
            for key in keys
            for content in self._of_key(key, [life for life in self.lives if life.edge.key == key])
            if content.rows
        }

    def _take(self, edge: Edge) -> None:
        name = (edge.key, edge.id, edge.start)
        waiting = [
            life
            for life in self.lives
            if (life.edge.key, life.edge.id, life.edge.start) == name
            and life.ended_by is None
            and life.until > edge.met
        ]
        if edge.end is None and not waiting:
            self._start(edge)
        elif edge.end is not None and waiting and edge.time <= waiting[0].until:
            self._end(edge, waiting[0])
        else:
            self.reasons[edge.n] = "bad_lifetime"

    def _start(self, edge: Edge) -> None:
        until = EVER if self.timeout is None else edge.time + self.timeout
        windows = self._windows(edge.time, until)
        if windows and windows[-1][1] <= edge.met:
            self.reasons[edge.n] = "late"
            return
        behind = windows and windows[0][1] <= edge.met if self._is_grid else edge.time < edge.met
        if behind:
            self.reasons[edge.n] = "late_partly"
        self.lives.append(Life(edge, until))

    def _end(self, edge: Edge, life: Life) -> None:
        self.ends.add(edge.n)
        life.ended_by = edge
        if self._is_grid:
            over = any(
                start >= edge.time and end <= edge.met
                for start, end in self._windows(life.counts_from, edge.met)
            )
        else:
            over = max(edge.time, life.counts_from) < edge.met
        if over:
            self.reasons[edge.n] = "late_partly"

    @property
    def _is_grid(self) -> bool:
        return not isinstance(self.window, transom.Snapshot)

    def _windows(self, start: int, end: int) -> list[tuple[int, int]]:
        if not self._is_grid:
            return [(start, end)]
        return list(self.grid._grid(start, end)) if start < end else []

    def _of_key(self, key: str | None, lives: list[Life]) -> Iterator[Content]:
        if self._is_grid:
            yield from self._on_grid(key, lives)
            return

        def end(life: Life) -> int:
            is_open = life.ended_by is None
            return life.until if is_open else max(life.end, life.met_at_end)

        # A rule may have moved an end before its start. The watermark has not reached this start.
        held = [
            life
            for life in lives
            if life.ended_by is None
            or end(life) > life.start
            or life.met_at_end >= life.counts_from
        ]
        stops = sorted({stop for life in held for stop in (life.counts_from, end(life))} - {EVER})
        for start, stop in pairwise(stops):
            if stop <= self.final or self.drained:
                rows = {life.edge.n for life in held if life.counts_from <= start < end(life)}
                yield Content(key, start, stop, frozenset(rows))

    def _on_grid(self, key: str | None, lives: list[Life]) -> Iterator[Content]:
        last = max(life.start + 1 if life.end == EVER else life.end for life in lives)
        first = min(life.counts_from for life in lives)
        for start, end in self._windows(first, max(last, self.final)):
            if end <= self.final or (self.drained and start < last):
                rows = {
                    life.edge.n
                    for life in lives
                    if life.counts_from < end
                    and (
                        life.until > start
                        # The window had fired when the end came.
                        if end <= life.met_at_end
                        else life.end > max(start, life.start)
                    )
                }
                yield Content(key, start, end, frozenset(rows))
