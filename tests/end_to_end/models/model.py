"""A plain model of windows, independent of the implementation.

All times are whole milliseconds. A stream is a list of micro-batches, each a list of (key, time,
value). Batch N uses the watermark of batch N - 1 to find late rows, and its own watermark to fire
windows. Its own watermark follows from the rows of all batches before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from zoneinfo import ZoneInfo

Row = tuple[str | None, int | None, int]
Window = tuple[int, int]
Result = tuple[str | None, int, int, int, int]
Assign = Callable[[int], list[Window]]


def tumbling(size: int, offset: int = 0) -> Assign:
    """Windows of one size without gaps or overlap (flink.md 1.2, 1.3)."""
    return hopping(size, size, offset)


def hopping(size: int, slide: int, offset: int = 0) -> Assign:
    """Windows of one size that start at k * slide + offset (flink.md 1.4)."""

    def assign(time: int) -> list[Window]:
        first = (time - size - offset) // slide
        starts = (k * slide + offset for k in range(first, first + size // slide + 3))
        return [(start, start + size) for start in starts if start <= time < start + size]

    return assign


def cumulate(size: int, step: int) -> Assign:
    """Windows that share a start and grow by step up to size (flink.md 1.9)."""

    def assign(time: int) -> list[Window]:
        start = time // size * size
        ends = range(start + step, start + size + 1, step)
        return [(start, end) for end in ends if time < end]

    return assign


def calendar(unit: str, zone: str) -> Assign:
    """Days, weeks from Monday, months or years of a time zone."""
    place = ZoneInfo(zone)

    def midnight(day: date) -> int:
        return int(datetime.combine(day, time_of_day(), place).timestamp()) * 1_000

    def first(day: date) -> date:
        if unit == "week":
            return day - timedelta(days=day.weekday())
        return {"day": day, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[unit]

    longest = {"day": 1, "week": 7, "month": 31, "year": 366}[unit]

    def assign(time: int) -> list[Window]:
        day = first(datetime.fromtimestamp(time // 1_000, UTC).astimezone(place).date())
        following = first(day + timedelta(days=longest))
        return [(midnight(day), midnight(following))]

    return assign


def watermarks(batches: Sequence[Sequence[Row]], delay: int) -> list[int | None]:
    """The watermark of each batch, and of the batch without data after the last."""
    marks: list[int | None] = [None]
    for batch in batches:
        times = [time for _, time, _ in batch if time is not None]
        before = marks[-1]
        reached = max(times, default=0) - delay
        moved = reached if times and reached > max(before or 0, 0) else before
        marks.append(moved)
    return marks


def judged(
    batches: Sequence[Sequence[Row]], delay: int
) -> Iterator[tuple[int | None, Sequence[Row], int | None]]:
    """Each batch, between its late watermark and its event watermark."""
    marks = watermarks(batches, delay)
    yield None, batches[0], marks[0]
    for number in range(1, len(batches) + 1):
        batch = batches[number] if number < len(batches) else []
        yield marks[number - 1], batch, marks[number]


def grid(
    batches: Sequence[Sequence[Row]], delay: int, assign: Assign, *, tick: int = 0
) -> tuple[list[Result], list[Row]]:
    """Fired windows as (key, start, end, rows, sum), and the rows that missed all of theirs.

    ``tick`` is 1 for windows that include their end and not their start.
    """
    contents: dict[tuple[str | None, Window], list[int]] = defaultdict(list)
    late: list[Row] = []
    final: int | None = None
    for judge, batch, fire in judged(batches, delay):
        for row in batch:
            key, time, value = row
            if time is None:
                continue
            windows = assign(time - tick)
            closed = [w for w in windows if judge is not None and w[1] + tick <= judge]
            if windows and len(closed) == len(windows):
                late.append(row)
            for window in windows:
                if window not in closed:
                    contents[key, window].append(value)
        final = fire
    fired = [
        (key, start, end, len(values), sum(values))
        for (key, (start, end)), values in contents.items()
        if final is not None and end + tick <= final
    ]
    return fired, late


def sessions(
    batches: Sequence[Sequence[Row]], delay: int, gap: int, *, inclusive: bool
) -> tuple[list[Result], list[Row]]:
    """Sessions of each key, and late rows that touched no open session (flink.md 6).

    Within a batch, rows on time come first. Then come rows behind the watermark, the newest first.
    """
    open_sessions: dict[str | None, list[list[int]]] = defaultdict(list)
    fired: list[Result] = []
    late: list[Row] = []
    reach = gap if inclusive else gap - 1
    for judge, batch, fire in judged(batches, delay):
        rows = [row for row in batch if row[1] is not None]
        behind = [r for r in rows if judge is not None and (r[1] or 0) + gap <= judge]
        on_time = [r for r in rows if r not in behind]
        for row in on_time + sorted(behind, key=lambda r: -(r[1] or 0)):
            key, time, value = row
            assert time is not None
            touched = [
                s for s in open_sessions[key] if s[0] <= time + reach and time <= s[1] + reach
            ]
            if row in behind and not touched:
                late.append(row)
                continue
            rest = [s for s in open_sessions[key] if s not in touched]
            merged = [
                min([time, *(s[0] for s in touched)]),
                max([time, *(s[1] for s in touched)]),
                1 + sum(s[2] for s in touched),
                value + sum(s[3] for s in touched),
            ]
            open_sessions[key] = [*rest, merged]
        for key, live in open_sessions.items():
            closed = [s for s in live if fire is not None and s[1] + gap <= fire]
            fired += [(key, s[0], s[1] + gap, s[2], s[3]) for s in closed]
            open_sessions[key] = [s for s in live if s not in closed]
    return fired, late
