"""A model of windows over stamped rows: grids and sessions that fire once, when no row can come.

All times are whole microseconds. A window fires when its end + the allowed lateness is reached, as
``AfterLateness`` does. Windows of a key follow the watermark of the key's substream.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.time_model.stamping import Row, Stamp, Tick

Bounds = tuple[int, int]
Closed = Literal["left", "right"]
Cause = Literal["watermark", "idle", "open"]
Owner = tuple[str | None, Hashable]
Timed = tuple[int, int]
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

    def joins(self, distance: int) -> bool:
        return distance < self.gap or (self.inclusive and distance == self.gap)

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
            if stamp.time is not None:
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


@dataclass
class _Open:
    """The rows of a key in open sessions, as (time, place), and the checks that cut its sessions.

    A cut is the instant of the check, and the last row before it.
    """

    rows: list[Timed] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)


class _Sessions:
    """Rows of open sessions, by key. The sessions follow from the rows."""

    idle_end: int | None = None

    def __init__(self, window: Session, lateness: int) -> None:
        self.window, self.lateness = window, lateness
        self.open: dict[Owner, _Open] = {}

    def pieces(self, live: _Open) -> Iterator[tuple[int, int, list[Timed]]]:
        """The start, the end and the rows of each session of a key."""
        rows = sorted(live.rows)
        while rows:
            length = next(
                (i for i in range(1, len(rows)) if not self.joins(rows[i - 1], rows[i])), len(rows)
            )
            cluster, rows = rows[:length], rows[length:]
            first = cluster[0][0]
            # A session that a check cut continues from the instant of the check.
            cuts = (c for c, last in live.cuts if c < first and self.window.joins(first - last))
            start = next(cuts, first)
            while cluster:
                check, end = self.window.check(start), cluster[-1][0] + self.window.gap
                if check is None or end <= check:
                    yield start, end, cluster
                    break
                head = [row for row in cluster if row[0] <= check]
                if head:
                    yield start, check, head
                start, cluster = check, cluster[len(head) :]

    def joins(self, before: Timed, row: Timed) -> bool:
        return self.window.joins(row[0] - before[0])

    def place(
        self, owner: Owner, at: int, time: int, met: int | None
    ) -> tuple[list[Bounds], list[Bounds]]:
        live = self.open.setdefault(owner, _Open())
        live.rows.append((time, at))
        start, end, rows = next(piece for piece in self.pieces(live) if (time, at) in piece[2])
        if self.window.late_start == "reject":
            late = met is not None and time < met and len(rows) == 1
        else:
            late = passed(self.window, end, self.lateness, met)
        if late:
            live.rows.remove((time, at))
        return ([], [(start, end)]) if late else ([(start, end)], [])

    def fire(self, marks: dict[str | None, int | None]) -> list[Full]:
        fired: list[Full] = []
        for owner, live in self.open.items():
            for start, end, rows in list(self.pieces(live)):
                if passed(self.window, end, self.lateness, marks.get(owner[0])):
                    fired.append((owner, (start, end), tuple(sorted(at for _, at in rows))))
                    live.rows = [row for row in live.rows if row not in rows]
                    if end < rows[-1][0] + self.window.gap:
                        live.cuts.append((end, rows[-1][0]))
        return fired

    def rest(self) -> list[Full]:
        return [
            (owner, (start, end), tuple(sorted(at for _, at in rows)))
            for owner, live in self.open.items()
            for start, end, rows in self.pieces(live)
        ]
