"""A plain model of windows in Real-Time Mode, independent of the implementation.

All times are whole milliseconds. Each source has a watermark: its largest time so far, less the
delay. A row is late for the windows that end by the watermark of its source before the row. The
watermark of the windows is the least of all sources. So batches, and the order in which rows of
several sources come, have no effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.end_to_end.models.model import Assign, Result, Row, Window


def judged(rows: Sequence[Row], delay: int) -> Iterator[tuple[Row, int | None]]:
    """The rows of a source that have a time, each with the watermark that the row meets."""
    latest: int | None = None
    for row in rows:
        time = row[1]
        if time is not None:
            yield row, None if latest is None else latest - delay
            latest = time if latest is None else max(latest, time)


def watermark(sources: Sequence[Sequence[Row]], delay: int) -> int | None:
    """The watermark of the windows after all rows. None if a source has had no time yet."""
    latest = [
        max((time for _, time, _ in rows if time is not None), default=None) for rows in sources
    ]
    known = [time - delay for time in latest if time is not None]
    return min(known) if len(known) == len(sources) else None


def grid(
    sources: Sequence[Sequence[Row]], delay: int, assign: Assign, *, tick: int = 0
) -> tuple[list[Result], list[Row]]:
    """Fired windows as (key, start, end, rows, sum), and the rows that missed all of theirs.

    ``tick`` is 1 for windows that include their end and not their start.
    """
    contents: dict[tuple[str | None, Window], list[int]] = defaultdict(list)
    late: list[Row] = []
    for rows in sources:
        for row, met in judged(rows, delay):
            key, time, value = row
            assert time is not None
            windows = assign(time - tick)
            open_ = [w for w in windows if met is None or w[1] + tick > met]
            if windows and not open_:
                late.append(row)
            for window in open_:
                contents[key, window].append(value)
    final = watermark(sources, delay)
    fired = [
        (key, start, end, len(values), sum(values))
        for (key, (start, end)), values in contents.items()
        if final is not None and end + tick <= final
    ]
    return fired, late


def sessions(
    sources: Sequence[Sequence[Row]], delay: int, gap: int, *, inclusive: bool
) -> list[Result]:
    """Sessions of each key, if no row is behind the watermark of its source."""
    by_key: dict[str | None, list[tuple[int, int]]] = defaultdict(list)
    for rows in sources:
        for (key, time, value), met in judged(rows, delay):
            assert time is not None
            assert met is None or time >= met
            by_key[key].append((time, value))
    final = watermark(sources, delay)
    fired: list[Result] = []
    for key, members in by_key.items():
        session: list[tuple[int, int]] = []
        for time, value in [*sorted(members), (None, 0)]:
            reach = gap if inclusive else gap - 1
            if session and (time is None or time > session[-1][0] + reach):
                start, end = session[0][0], session[-1][0] + gap
                if final is not None and end <= final:
                    fired.append((key, start, end, len(session), sum(v for _, v in session)))
                session = []
            if time is not None:
                session.append((time, value))
    return fired
