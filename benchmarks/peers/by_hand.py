"""Hand-written versions of the queries, for windows that Spark lacks.

They are processors for PySpark's transformWithState, and functions for applyInPandas. Each returns
exactly the rows of the same query in transom.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

import transom
from benchmarks.peers.rolled_by_hand import Rolled
from benchmarks.queries.catalogue import Query, micros

RESULT = "k {key}, first long, end long, n long, s double"
NEVER = 2**62


class Windows(StatefulProcessor):
    """Hopping windows. Each window is emitted at its end."""

    def __init__(self, size: int, slide: int) -> None:
        self.size = size
        self.slide = slide

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: the open windows of a key, and their timer, in one value."""
        self.handle = handle
        window = "struct<start:long,n:long,s:double>"
        self.state = handle.getValueState("windows", f"windows array<{window}>, timer long")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Add the rows, and set a timer at the end of the first window."""
        windows, timer = self.load()
        for row in rows:
            at = row["at"]
            for start in range(at - at % self.slide, at - self.size, -self.slide):
                n, s = windows.get(start, (0, 0.0))
                windows[start] = (n + 1, s + row["v"])
        self.keep(windows, timer)
        yield from ()

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Emit the windows that have ended."""
        windows, _ = self.load()
        watermark = timerValues.getCurrentWatermarkInMs() * 1000
        for start in sorted(start for start in windows if start + self.size <= watermark):
            n, s = windows.pop(start)
            yield Row(k=key[0], first=start, end=start + self.size, n=n, s=s)
        self.keep(windows, None)

    def load(self) -> tuple[dict[int, tuple[int, float]], int | None]:
        """Read a key's windows and its timer."""
        value = self.state.get()
        if value is None:
            return {}, None
        return {start: (n, s) for start, n, s in value[0]}, value[1]

    def keep(self, windows: dict[int, tuple[int, float]], timer: int | None) -> None:
        """Write a key's windows, and move its timer to the end of the first window."""
        if not windows:
            self.state.clear()
            return
        first_end = (min(windows) + self.size) // 1000
        if timer != first_end:
            if timer is not None:
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(first_end)
        self.state.update(([(start, n, s) for start, (n, s) in windows.items()], first_end))


class Sessions(StatefulProcessor):
    """Sessions. Each is emitted when it closes, and also at regular times if `every` is set."""

    def __init__(self, gap: int, every: int | None) -> None:
        self.gap = gap
        self.every = every

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: the open sessions of a key, and their timer, in one value."""
        self.handle = handle
        session = "struct<first:long,last:long,n:long,s:double,next_firing:long>"
        self.state = handle.getValueState("sessions", f"sessions array<{session}>, timer long")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Add the rows, then advance time."""
        sessions, timer = self.load()
        for row in rows:
            self.add(sessions, row["at"], row["v"])
        yield from self.advance(key[0], sessions, timer, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Advance time."""
        sessions, _ = self.load()
        yield from self.advance(key[0], sessions, None, timerValues)

    def load(self) -> tuple[list[list[Any]], int | None]:
        """Read a key's sessions and its timer."""
        value = self.state.get()
        if value is None:
            return [], None
        return [list(session) for session in value[0]], value[1]

    def advance(
        self, key: int, sessions: list[list[Any]], timer: int | None, time: TimerValues
    ) -> Iterator[Row]:
        """Emit results up to the watermark, keep open sessions, and set the next timer."""
        watermark = time.getCurrentWatermarkInMs() * 1000
        still_open = []
        for session in sorted(sessions):
            first, last, n, s, next_firing = session
            end = last + self.gap
            while next_firing < end and next_firing <= watermark:
                yield Row(k=key, first=first, end=end, n=n, s=s)
                next_firing = min(next_firing + (self.every or NEVER), end)
            if end <= watermark:
                yield Row(k=key, first=first, end=end, n=n, s=s)
            else:
                still_open.append((first, last, n, s, next_firing))
        next_timer = min((-(-min(s[4], s[1] + self.gap) // 1000) for s in still_open), default=None)
        if timer != next_timer:
            if timer is not None:
                self.handle.deleteTimer(timer)
            if next_timer is not None:
                self.handle.registerTimer(next_timer)
        if still_open:
            self.state.update((still_open, next_timer))
        else:
            self.state.clear()

    def add(self, sessions: list[list[Any]], at: int, v: float) -> None:
        """Add a row, and merge it with the sessions that it touches."""
        touched = [s for s in sessions if s[0] <= at + self.gap and at <= s[1] + self.gap]
        for session in touched:
            sessions.remove(session)
        # A session fires when the watermark has passed the time, a microsecond after it.
        next_firing = at - at % self.every + self.every + 1 if self.every else NEVER
        sessions.append(
            [
                min([at, *(s[0] for s in touched)]),
                max([at, *(s[1] for s in touched)]),
                1 + sum(s[2] for s in touched),
                v + sum(s[3] for s in touched),
                min((s[4] for s in touched), default=next_firing),
            ]
        )


class Counted(StatefulProcessor):
    """Totals of all rows of a key so far, emitted after each `rows` rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: the totals of a key, and its rows since the last result."""
        self.state = handle.getValueState("totals", "n long, s double, since int")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Add the rows, and emit a result after each `rows` rows."""
        n, s, since = self.state.get() or (0, 0.0, 0)
        for row in rows:
            n, s, since = n + 1, s + row["v"], since + 1
            if since == self.rows:
                yield Row(k=key[0], first=None, end=None, n=n, s=s)
                since = 0
        self.state.update((n, s, since))


def with_state(rows: DataFrame, query: Query) -> DataFrame:
    """Return a query of the catalogue, by PySpark's transformWithState."""
    window: Any = query.window  # of several kinds, with lengths of their own
    trigger: Any = query.trigger
    if isinstance(query.window, transom.Global):
        return _run(rows, Counted(trigger.rows), "None")
    if isinstance(query.window, transom.Session):
        every = trigger and micros(trigger.interval)
        return _run(rows, Sessions(micros(window.gap), every), "EventTime")
    size = micros(window.size)
    if isinstance(query.window, transom.Rolling):
        return _run(rows, Rolled(size), "EventTime")
    slide = micros(getattr(window, "slide", window.size))
    return _run(rows, Windows(size, slide), "EventTime")


def in_pandas(rows: DataFrame, query: Query) -> DataFrame:
    """Call a function with the rows of each closed session.

    Spark passes the rows of a session to no function. So the query collects the rows of a session,
    and expands them again.
    """

    def totals(key: Any, rows: pd.DataFrame) -> pd.DataFrame:
        k, start, end = key
        n, s = len(rows), rows["v"].sum()
        return pd.DataFrame({"k": [k], "start": [start], "end": [end], "n": [n], "s": [s]})

    window: Any = query.window
    session = F.session_window("ts", f"{micros(window.gap)} microseconds").alias("window")
    sessions = rows.groupBy("k", session).agg(F.collect_list("v").alias("values"))
    laid_out = sessions.select("k", "window.start", "window.end", F.explode("values").alias("v"))
    schema = "k long, start timestamp, end timestamp, n long, s double"
    results = laid_out.groupBy("k", "start", "end").applyInPandas(totals, schema)
    return results.select("k", F.struct("start", "end").alias("window"), "n", "s")


def _run(rows: DataFrame, processor: StatefulProcessor, time_mode: str) -> DataFrame:
    result = RESULT.format(key=rows.schema["k"].dataType.simpleString())
    keyed = rows.withColumn("at", F.unix_micros("ts")).groupBy("k")
    results = keyed.transformWithState(processor, result, "Append", time_mode)
    bounds = F.struct(
        F.timestamp_micros("first").alias("start"), F.timestamp_micros("end").alias("end")
    )
    window = F.when(F.col("first").isNotNull(), bounds)
    return results.select("k", window.alias("window"), "n", "s")
