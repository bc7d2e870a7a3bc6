"""What users write today where Spark has no window.

Processors of PySpark's transformWithState, and functions for applyInPandas. They do what the
queries of transom beside them do, to the row.
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
from benchmarks.queries.catalogue import Query, micros

RESULT = "k {key}, first long, end long, n long, s double"
NEVER = 2**62


class Windows(StatefulProcessor):
    """Windows of one size that start one slide after another, each reported when it ends."""

    def __init__(self, size: int, slide: int) -> None:
        self.size = size
        self.slide = slide

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Keep the open windows of a key in one value, and the timer that stands for them."""
        self.handle = handle
        window = "struct<start:long,n:long,s:double>"
        self.state = handle.getValueState("windows", f"windows array<{window}>, timer long")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Take the rows in, and stand a timer where the first window ends."""
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
        """Report what has ended."""
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
        """Write a key's windows back, and have its timer where the first one ends."""
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
    """Sessions, reported when they close, and on request every so often while they are open."""

    def __init__(self, gap: int, every: int | None) -> None:
        self.gap = gap
        self.every = every

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Keep the open sessions of a key in one value, and the timer that stands for them."""
        self.handle = handle
        session = "struct<first:long,last:long,n:long,s:double,due:long>"
        self.state = handle.getValueState("sessions", f"sessions array<{session}>, timer long")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Take the rows in, then move time."""
        sessions, timer = self.load()
        for row in rows:
            self.add(sessions, row["at"], row["v"])
        yield from self.advance(key[0], sessions, timer, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Move time."""
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
        """Report what is due, keep what is open, and stand a timer where the next is due."""
        watermark = time.getCurrentWatermarkInMs() * 1000
        still_open = []
        for session in sorted(sessions):
            first, last, n, s, due = session
            end = last + self.gap
            while due < end and due <= watermark:
                yield Row(k=key, first=first, end=end, n=n, s=s)
                due = min(due + (self.every or NEVER), end)
            if end <= watermark:
                yield Row(k=key, first=first, end=end, n=n, s=s)
            else:
                still_open.append((first, last, n, s, due))
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
        """Add a row to the sessions that it touches, which become one."""
        touched = [s for s in sessions if s[0] <= at + self.gap and at <= s[1] + self.gap]
        for session in touched:
            sessions.remove(session)
        # A microsecond past the second: the watermark has then passed it.
        due = at - at % self.every + self.every + 1 if self.every else NEVER
        sessions.append(
            [
                min([at, *(s[0] for s in touched)]),
                max([at, *(s[1] for s in touched)]),
                1 + sum(s[2] for s in touched),
                v + sum(s[3] for s in touched),
                min((s[4] for s in touched), default=due),
            ]
        )


class Counted(StatefulProcessor):
    """A report after every so many rows of a key, of all its rows so far."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Keep the totals of a key, and its rows since the last report."""
        self.state = handle.getValueState("totals", "n long, s double, since int")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Take the rows in, reporting in between."""
        n, s, since = self.state.get() or (0, 0.0, 0)
        for row in rows:
            n, s, since = n + 1, s + row["v"], since + 1
            if since == self.rows:
                yield Row(k=key[0], first=None, end=None, n=n, s=s)
                since = 0
        self.state.update((n, s, since))


def with_state(rows: DataFrame, query: Query) -> DataFrame:
    """A query of the catalogue, by PySpark's transformWithState."""
    window: Any = query.window  # of several kinds, with lengths of their own
    trigger: Any = query.trigger
    if isinstance(query.window, transom.Global):
        return _run(rows, Counted(trigger.rows), "None")
    if isinstance(query.window, transom.Session):
        every = trigger and micros(trigger.interval)
        return _run(rows, Sessions(micros(window.gap), every), "EventTime")
    size = micros(window.size)
    slide = micros(getattr(window, "slide", window.size))
    return _run(rows, Windows(size, slide), "EventTime")


def in_pandas(rows: DataFrame, query: Query) -> DataFrame:
    """The rows of each session, once it is closed, handed to a function.

    Spark gives rows of a session to no function: they are collected, and laid out again.
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
