"""A model of windows over stamped rows: grids and sessions that fire once, when no row can come.

All times are whole microseconds. A window fires when its end + the allowed lateness is reached, as
``AfterLateness`` does. Windows of a key follow the watermark of the key's substream.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.time_model.stamping import Row, Stamp, Tick

Bounds = tuple[int, int]
Closed = Literal["left", "right"]
Cause = Literal["watermark", "idle", "open"]
Owner = tuple[str | None, Hashable]
Full = tuple[Owner, Bounds, tuple[int, ...]]


@dataclass(frozen=True)
class Grid:
    """Windows that start at k * slide + offset."""

    size: int
    slide: int
    offset: int = 0
    closed: Closed = "left"

    def of(self, time: int) -> list[Bounds]:
        """The windows of a time, the earliest first. A time between two windows is in none."""
        # (s, e] holds t exactly if [s, e) holds t - 1.
        time = time - 1 if self.closed == "right" else time
        first = (time - self.size - self.offset) // self.slide + 1
        last = (time - self.offset) // self.slide
        starts = (k * self.slide + self.offset for k in range(first, last + 1))
        return [(start, start + self.size) for start in starts]


@dataclass(frozen=True)
class Session:
    """Rows that are at most a gap apart, cut at multiples of a maximum duration."""

    gap: int
    inclusive: bool = True
    closed: Closed = "left"
    late_start: Literal["open", "reject"] = "open"
    max_duration: int | None = None
    max_check: Literal[">=", ">"] = ">="

    def reaches(self, end: int, start: int) -> bool:
        """Whether a session that ends at ``end`` continues with a row at ``start``."""
        return start < end or (self.inclusive and start == end)

    def is_after(self, time: int, check: int) -> bool:
        """Whether a row comes after a check. A session that includes its end has rows at it."""
        return time > check if self.closed == "right" else time >= check

    def check(self, start: int) -> int | None:
        """The multiple of the maximum duration that finds a session from ``start`` too long."""
        if self.max_duration is None:
            return None
        reached = start + self.max_duration + (self.max_check == ">")
        return -(-reached // self.max_duration) * self.max_duration


@dataclass(frozen=True)
class Idle:
    """Windows with rows close when no row has come for a time of the wall clock."""

    after: int
    rule: Literal["after_window_end", "greater_of", "last_row"] = "after_window_end"

    def closes(self, end: int, last_row: int) -> int:
        if self.rule == "after_window_end":
            return max(last_row, end) + self.after
        return max(end if self.rule == "greater_of" else last_row, last_row + self.after)


@dataclass(frozen=True)
class Result:
    """A window, and the numbers of the events that are its rows.

    ``at`` is the number of the event that emits the window, None for a window that is still open.
    """

    key: Hashable
    bounds: Bounds
    rows: tuple[int, ...]
    at: int | None = None
    cause: Cause = "open"


@dataclass(frozen=True)
class Placed:
    """The windows that contain the row of an event, and the windows that it missed.

    ``watermark`` is the watermark of all sources after the event. A window that closes because no
    row comes raises the watermark to the window's end. ``idle_end`` is the latest such end.
    """

    taken: tuple[Bounds, ...] = ()
    missed: tuple[Bounds, ...] = ()
    watermark: int | None = None
    idle_end: int | None = None


def windows(
    stamped: Sequence[Stamp], window: Grid | Session, lateness: int = 0, idle: Idle | None = None
) -> tuple[list[Result], list[Placed]]:
    """All results, those still open at the end last, and the placement of each event."""
    state: _Grids | _Sessions
    state = _Grids(window, lateness) if isinstance(window, Grid) else _Sessions(window, lateness)
    results: list[Result] = []
    placed: list[Placed] = []
    last_row: int | None = None
    for at, stamp in enumerate(stamped):
        taken: list[Bounds] = []
        missed: list[Bounds] = []
        event = stamp.event
        if isinstance(event, Row):
            last_row = event.arrival if last_row is None else max(last_row, event.arrival)
            if stamp.time is not None and not event.punctuation:
                owner = (stamp.source[1], event.key)
                taken, missed = state.place(owner, at, stamp.time, stamp.met_merged)
        # A row is placed first. The watermark that it moves closes windows afterwards.
        results += [
            Result(owner[1], bounds, rows, at, "watermark")
            for owner, bounds, rows in sorted(state.fire(stamp.after.merged), key=_order)
        ]
        if idle and isinstance(event, Tick) and last_row is not None:
            assert isinstance(state, _Grids), "sessions have no idle timeout"
            results += [
                Result(owner[1], bounds, rows, at, "idle")
                for owner, bounds, rows in sorted(
                    state.close_idle(idle, last_row, event.at), key=_order
                )
            ]
        marks = [mark for mark in (stamp.after.overall, state.idle_end) if mark is not None]
        mark = max(marks, default=None)
        placed.append(Placed(tuple(taken), tuple(missed), mark, state.idle_end))
    rest = sorted(state.rest(), key=_order)
    return results + [Result(owner[1], bounds, rows) for owner, bounds, rows in rest], placed


def _order(full: Full) -> tuple[int, int, str]:
    owner, (start, end), _ = full
    return end, start, str(owner)


def passed(window: Grid | Session, end: int, lateness: int, mark: int | None) -> bool:
    """Whether a window is over: all rows that can still come are after it.

    A row at the watermark can still come. A window that includes its end waits for it.
    """
    if mark is None:
        return False
    return end + lateness < mark or (end + lateness == mark and window.closed == "left")


class _Grids:
    """Contents of the windows of a grid, by key."""

    def __init__(self, window: Grid, lateness: int) -> None:
        self.window, self.lateness = window, lateness
        self.contents: dict[tuple[Owner, Bounds], list[int]] = {}
        self.idle_end: int | None = None

    def place(
        self, owner: Owner, at: int, time: int, met: int | None
    ) -> tuple[list[Bounds], list[Bounds]]:
        taken: list[Bounds] = []
        missed: list[Bounds] = []
        for bounds in self.window.of(time):
            # Lateness does not reopen a window that closed because no row came.
            idle = self.idle_end is not None and bounds[1] <= self.idle_end
            if idle or passed(self.window, bounds[1], self.lateness, met):
                missed.append(bounds)
            else:
                taken.append(bounds)
                self.contents.setdefault((owner, bounds), []).append(at)
        return taken, missed

    def fire(self, marks: dict[str | None, int | None]) -> list[Full]:
        return self.take(
            [
                (owner, bounds)
                for owner, bounds in self.contents
                if passed(self.window, bounds[1], self.lateness, marks.get(owner[0]))
            ]
        )

    def close_idle(self, idle: Idle, last_row: int, now: int) -> list[Full]:
        due = [full for full in self.contents if idle.closes(full[1][1], last_row) <= now]
        ends = [bounds[1] for _, bounds in due]
        if ends:
            self.idle_end = max(ends) if self.idle_end is None else max(self.idle_end, *ends)
        return self.take(due)

    def take(self, due: list[tuple[Owner, Bounds]]) -> list[Full]:
        return [(*full, tuple(self.contents.pop(full))) for full in due]

    def rest(self) -> list[Full]:
        return self.take(list(self.contents))


@dataclass(frozen=True, order=True)
class _Open:
    """A row of an open session, from its time to a gap after it.

    ``at`` is None for a session without rows, from a check to a gap after the last row before it.
    """

    start: int
    end: int
    at: int | None


@dataclass(frozen=True)
class _Made:
    """A session by the rows so far. ``unchecked`` is its end if no check closes it."""

    start: int
    end: int
    unchecked: int
    parts: list[_Open]

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(sorted(part.at for part in self.parts if part.at is not None))


class _Sessions:
    """Rows of open sessions, by key. The sessions follow from the rows."""

    idle_end: int | None = None

    def __init__(self, window: Session, lateness: int) -> None:
        self.window, self.lateness = window, lateness
        self.open: dict[Owner, list[_Open]] = {}

    def sessions(self, live: list[_Open]) -> Iterator[_Made]:
        """The sessions of a key, in order of time."""
        left = sorted(live, key=lambda part: (part.start, part.at is not None))
        while left:
            check, unchecked, length = self.window.check(left[0].start), left[0].end, 1
            while (
                length < len(left)
                and self.window.reaches(unchecked, left[length].start)
                and (check is None or not self.window.is_after(left[length].start, check))
            ):
                unchecked = max(unchecked, left[length].end)
                length += 1
            end = unchecked if check is None else min(check, unchecked)
            yield _Made(left[0].start, end, unchecked, left[:length])
            left = left[length:]
            if left and end < unchecked and self.window.reaches(unchecked, left[0].start):
                left.insert(0, _Open(end, unchecked, None))

    def place(
        self, owner: Owner, at: int, time: int, met: int | None
    ) -> tuple[list[Bounds], list[Bounds]]:
        live = self.open.setdefault(owner, [])
        own = _Open(time, time + self.window.gap, at)
        is_alone = not any(
            self.window.reaches(part.end, own.start) and self.window.reaches(own.end, part.start)
            for part in live
        )
        made = next(made for made in self.sessions([*live, own]) if own in made.parts)
        bounds = made.start, made.end
        late = passed(self.window, made.end, self.lateness, met)
        if self.window.late_start == "reject" and is_alone and met is not None:
            late |= time < met
        if late:
            return [], [bounds]
        live.append(own)
        return [bounds], []

    def fire(self, marks: dict[str | None, int | None]) -> list[Full]:
        fired: list[Full] = []
        for owner, live in self.open.items():
            mark = marks.get(owner[0])
            while made := next(self.sessions(live), None):
                if not passed(self.window, made.end, self.lateness, mark):
                    break
                live[:] = [part for part in live if part not in made.parts]
                if made.end < made.unchecked:
                    live.append(_Open(made.end, made.unchecked, None))
                if made.rows:
                    fired.append((owner, (made.start, made.end), made.rows))
        return fired

    def rest(self) -> list[Full]:
        return [
            (owner, (made.start, made.end), made.rows)
            for owner, live in self.open.items()
            for made in self.sessions(live)
            if made.rows
        ]
