"""A naive model of windows over lifetimes: it computes each window from all rows.

All times are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

import transom

SECOND = 1_000_000
# Earlier and later than all times of a test.
NEVER, EVER = -(2**62), 2**62


@dataclass(frozen=True)
class Lived:
    """A row with the watermark that it met. A row without end has the end ``EVER``."""

    n: int
    key: str | None
    start: int
    end: int
    met: int = NEVER

    @property
    def stops(self) -> tuple[int, ...]:
        return (self.start,) if self.end == EVER else (self.start, self.end)


@dataclass(frozen=True)
class Content:
    """The result of a window: its key, its bounds and the numbers of its rows."""

    key: str | None
    start: int
    end: int
    rows: frozenset[int]


class Windows:
    """What windows hold, and which rows miss them.

    Parameters
    ----------
    window : transom.Window
        The windows.
    rows : iterable of Lived
        All rows. Their ends do not count for windows that hold points in time.
    final : int
        The last watermark.
    drained : bool
        Whether the windows that are open at the end fire.
    """

    def __init__(
        self,
        window: transom.Window,
        rows: Iterable[Lived],
        final: int = NEVER,
        *,
        drained: bool = False,
    ) -> None:
        self.window, self.drained = window, drained
        # (s, e] holds t exactly if [s, e) holds t - 1.
        shift = 1 if getattr(window, "closed", "left") == "right" else 0
        self.final = final - shift
        self.rows = [
            replace(
                row,
                start=row.start - shift,
                end=row.end if row.end == EVER else row.end - shift,
                met=row.met - shift,
            )
            for row in rows
        ]
        if isinstance(window, transom.Rolling):
            size = _micros(window.size)
            self.rows = [replace(row, end=row.start + size) for row in self.rows]

    @property
    def late(self) -> set[int]:
        """The numbers of the rows that missed all of their windows."""
        return {row.n for row in self.rows if self._is_late(row)}

    @property
    def partly_late(self) -> set[int]:
        """The numbers of the rows that missed some of their windows."""
        if isinstance(self.window, transom.CountByStart):
            return set()
        return {row.n for row in self._counted() if self._is_behind(row)}

    @property
    def fired(self) -> set[Content]:
        """The results of the windows that are over."""
        counted = [replace(row, start=max(row.start, row.met)) for row in self._counted()]
        keys = {row.key for row in counted}
        results: set[Content] = set()
        for key in keys:
            own = [row for row in counted if row.key == key]
            results.update(result for result in self._of_key(key, own) if result.rows)
        return results

    def _counted(self) -> list[Lived]:
        late = self.late
        return [row for row in self.rows if row.n not in late and self._has_window(row)]

    def _has_window(self, row: Lived) -> bool:
        return not self._is_grid or any(True for _ in self._grid(row.start, row.end))

    def _is_late(self, row: Lived) -> bool:
        # A rule may have moved the start of a row behind its end.
        if row.end <= row.start:
            return True
        if isinstance(self.window, transom.CountByStart):
            return row.start < row.met
        if self._is_grid:
            last = max((end for _, end in self._grid(row.start, row.end)), default=EVER)
            return last <= row.met
        return row.end <= row.met

    def _is_behind(self, row: Lived) -> bool:
        if self._is_grid:
            return next(self._grid(row.start, row.end))[1] <= row.met
        return row.start < row.met

    def _of_key(self, key: str | None, rows: Sequence[Lived]) -> Iterator[Content]:
        stops = sorted({stop for row in rows for stop in row.stops})
        starts = sorted({row.start for row in rows})
        match self.window:
            case transom.Snapshot():
                for start, end in pairwise(stops):
                    if end <= self.final or self.drained:
                        yield Content(key, start, end, _live(rows, start))
            case transom.Rolling(size):
                for stop in stops:
                    if stop < self.final or self.drained:
                        yield Content(key, stop - _micros(size), stop, _live(rows, stop))
            case transom.CountByStart(size):
                for first, last in zip(starts, starts[size - 1 :], strict=False):
                    if last < self.final or self.drained:
                        held = {row.n for row in rows if first <= row.start <= last}
                        yield Content(key, first, last + 1, frozenset(held))
            case _:
                # At the end of the input, a row without end counts until the last start or end.
                last = max(row.start + 1 if row.end == EVER else row.end for row in rows)
                for start, end in self._grid(starts[0], max(last, self.final)):
                    if end <= self.final or (self.drained and start < last):
                        held = {row.n for row in rows if row.start < end and row.end > start}
                        yield Content(key, start, end, frozenset(held))

    @property
    def _is_grid(self) -> bool:
        return isinstance(self.window, transom.Tumbling | transom.Hopping)

    def _grid(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The windows that overlap ``[start, end)``. Those of rows without end are cut."""
        window = self.window
        assert isinstance(window, transom.Tumbling | transom.Hopping)
        size, offset = _micros(window.size), _micros(window.offset)
        slide = _micros(window.slide) if isinstance(window, transom.Hopping) else size
        if end == EVER:
            end = start + 200 * (size + slide)
        first = (start - size - offset) // slide + 1
        for k in range(first, (end - 1 - offset) // slide + 1):
            if k * slide + offset + size > start:
                yield k * slide + offset, k * slide + offset + size


def _live(rows: Sequence[Lived], time: int) -> frozenset[int]:
    return frozenset(row.n for row in rows if row.start <= time < row.end)


def _micros(duration: str | timedelta) -> int:
    assert isinstance(duration, timedelta)
    return duration // timedelta(microseconds=1)
