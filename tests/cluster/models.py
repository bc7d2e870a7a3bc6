"""What models of windows expect of the queries that `make check` disturbs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import Row

from tests.cluster.runs import FILES_OF_A_BATCH
from tests.end_to_end.models import model
from tests.time_model import stamping, windows

# The rows of all outputs in order, and the counts that are not 0.
Expected = tuple[list[str], dict[str, int]]

# In milliseconds, as in the model.
_MINUTE = 60_000
_DELAY, _GAP = 5 * _MINUTE, 4 * _MINUTE
_SIZE, _SLIDE = 30 * _MINUTE, 10 * _MINUTE
# The models of policies count in microseconds.
_MICROS = 1_000
# Fires all windows before it, as the end of a query does. It is open itself.
_LAST: model.Row = ("", 4_000_000_000_000, 0)


def late_rows(folder: Path) -> Expected:
    """The windows and the late rows of `queries.late_rows`."""
    batches = _batches(folder)
    hopping = model.hopping(_SIZE, _SLIDE)
    fired, late = model.grid([*batches, [_LAST]], _DELAY, hopping)
    results = [
        str(Row(key=key, window=_window(start, end), rows=rows, total=total))
        for key, start, end, rows, total in fired
    ]
    # Late rows are the tuples of the input themselves.
    missed = {id(row): hopping(row[1] or 0) for row in late}
    for number, row in enumerate(row for batch in batches for row in batch):
        if id(row) in missed:
            key, at, value = row
            shown = Row(number=number, key=key, time=_instant(at or 0), value=value)
            results.append(f"late {[shown, [_window(*bounds) for bounds in missed[id(row)]]]}")
    return sorted(results), _counts(batches, late=len(late), fired=len(fired))


def sessions(folder: Path) -> Expected:
    """The windows of sessions with drain."""
    batches = _batches(folder)
    fired, late = model.sessions([*batches, [_LAST]], _DELAY, _GAP, inclusive=True)
    results = [_result(key, start, rows, total) for key, start, _, rows, total in fired]
    return sorted(results), _counts(batches, late=len(late), fired=len(fired))


def policy(folder: Path) -> Expected:
    """The windows of a policy whose rows may be out of order by a delay."""
    batches = _batches(folder)
    rows = [row for batch in batches for row in batch]
    # A row arrives each second.
    events = [
        stamping.Row((at or 0) * _MICROS, number * 1_000 * _MICROS, key=key)
        for number, (key, at, _) in enumerate(rows)
    ]
    rule = stamping.TimePolicy(out_of_order=stamping.Bound("accept", _DELAY * _MICROS))
    stamped = stamping.stamps(events, rule)
    found, placed = windows.windows(stamped, windows.Grid(_SIZE * _MICROS, _SLIDE * _MICROS))
    fired = [result for result in found if result.cause == "watermark"]
    results = [
        _result(
            str(result.key),
            result.bounds[0] // _MICROS,
            len(result.rows),
            sum(rows[number][2] for number in result.rows),
        )
        for result in fired
    ]
    late = sum(bool(place.missed) and not place.taken for place in placed)
    counts = _counts(batches, late=late, fired=len(fired))
    # Rows that the rule leaves as they are count too.
    behind = sum(
        stamp.time is not None and stamp.met is not None and stamp.time < stamp.met
        for stamp in stamped
    )
    return sorted(results), counts | {"window.transom_rows_out_of_order": behind}


MODELS: dict[str, Callable[[Path], Expected]] = {
    "late-rows": late_rows,
    "sessions": sessions,
    "policy": policy,
}


def _batches(folder: Path) -> list[list[model.Row]]:
    """The rows of each batch in the order of their numbers."""
    batches: list[list[model.Row]] = []
    for number, file in enumerate(sorted(folder.iterdir())):
        if number % FILES_OF_A_BATCH == 0:
            batches.append([])
        for row in pq.read_table(file).to_pylist():
            batches[-1].append((row["key"], _millis(row["time"]), row["value"]))
    return batches


def _counts(batches: list[list[model.Row]], *, late: int, fired: int) -> dict[str, int]:
    counts = {"rows_in": sum(map(len, batches)), "rows_late": late, "windows_fired": fired}
    return {f"window.transom_{name}": count for name, count in counts.items()}


def _result(key: str | None, start: int, rows: int, total: int) -> str:
    return str(Row(key=key, at=_instant(start), rows=rows, total=total))


def _window(start: int, end: int) -> Row:
    return Row(start=_instant(start), end=_instant(end))


def _millis(at: datetime) -> int:
    return (at - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


def _instant(millis: int) -> datetime:
    return datetime.fromtimestamp(millis // 1_000, UTC).replace(tzinfo=None)
