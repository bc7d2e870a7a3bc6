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

GAP = 2_000_000
EARLY = 1_000_000
COUNT = 100
RESULT = "k long, first long, end long, n long, s double"


class EarlySessions(StatefulProcessor):
    """Sessions that report each second of event time while they are open, and when they close."""

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
            add(sessions, row["at"], row["v"])
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
            end = last + GAP
            while due < end and due <= watermark:
                yield Row(k=key, first=first, end=end, n=n, s=s)
                due = min(due + EARLY, end)
            if end <= watermark:
                yield Row(k=key, first=first, end=end, n=n, s=s)
            else:
                still_open.append((first, last, n, s, due))
        next_timer = min((-(-min(s[4], s[1] + GAP) // 1000) for s in still_open), default=None)
        if timer != next_timer:
            if timer is not None:
                self.handle.deleteTimer(timer)
            if next_timer is not None:
                self.handle.registerTimer(next_timer)
        if still_open:
            self.state.update((still_open, next_timer))
        else:
            self.state.clear()


def add(sessions: list[list[Any]], at: int, v: float) -> None:
    """Add a row to the sessions that it touches, which become one."""
    touched = [s for s in sessions if s[0] <= at + GAP and at <= s[1] + GAP]
    for session in touched:
        sessions.remove(session)
    sessions.append(
        [
            min([at, *(s[0] for s in touched)]),
            max([at, *(s[1] for s in touched)]),
            1 + sum(s[2] for s in touched),
            v + sum(s[3] for s in touched),
            # A microsecond past the second: the watermark has then passed it.
            min((s[4] for s in touched), default=at - at % EARLY + EARLY + 1),
        ]
    )


class Counted(StatefulProcessor):
    """A report after each hundred rows of a key, of all its rows so far."""

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
            if since == COUNT:
                yield Row(k=key[0], first=None, end=None, n=n, s=s)
                since = 0
        self.state.update((n, s, since))


def early_sessions(rows: DataFrame) -> DataFrame:
    """Sessions with early results."""
    return _run(rows, EarlySessions(), "EventTime")


def counted(rows: DataFrame) -> DataFrame:
    """A result every hundred rows."""
    return _run(rows, Counted(), "None")


def totals_in_pandas(rows: DataFrame) -> DataFrame:
    """The rows of each session, once it is closed, handed to a function.

    Spark gives rows of a session to no function: they are collected, and laid out again.
    """

    def totals(key: Any, rows: pd.DataFrame) -> pd.DataFrame:
        k, start, end = key
        n, s = len(rows), rows["v"].sum()
        return pd.DataFrame({"k": [k], "start": [start], "end": [end], "n": [n], "s": [s]})

    session = F.session_window("ts", "2 seconds").alias("window")
    sessions = rows.groupBy("k", session).agg(F.collect_list("v").alias("values"))
    laid_out = sessions.select("k", "window.start", "window.end", F.explode("values").alias("v"))
    schema = "k long, start timestamp, end timestamp, n long, s double"
    results = laid_out.groupBy("k", "start", "end").applyInPandas(totals, schema)
    return results.select("k", F.struct("start", "end").alias("window"), "n", "s")


def _run(rows: DataFrame, processor: StatefulProcessor, time_mode: str) -> DataFrame:
    keyed = rows.withColumn("at", F.unix_micros("ts")).groupBy("k")
    results = keyed.transformWithState(processor, RESULT, "Append", time_mode)
    bounds = F.struct(
        F.timestamp_micros("first").alias("start"), F.timestamp_micros("end").alias("end")
    )
    window = F.when(F.col("first").isNotNull(), bounds)
    return results.select("k", window.alias("window"), "n", "s")
