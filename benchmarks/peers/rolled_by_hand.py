"""Rolling windows, hand-written for PySpark's transformWithState."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

NEVER = 2**62
Timed = tuple[int, float]


class Rolled(StatefulProcessor):
    """The rows of the last `size`, emitted for each instant at which they change."""

    def __init__(self, size: int) -> None:
        self.size = size

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: the rows of a key, and their timer, in one value."""
        self.handle = handle
        rows = "array<struct<at:long,v:double>>"
        self.state = handle.getValueState("rows", f"waiting {rows}, live {rows}, timer long")

    def handleInputRows(
        self, key: Any, rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Add the rows, then advance time."""
        waiting, live, timer = self.load()
        waiting.extend((row["at"], row["v"]) for row in rows)
        yield from self.advance(key[0], waiting, live, timer, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Advance time."""
        waiting, live, _ = self.load()
        yield from self.advance(key[0], waiting, live, None, timerValues)

    def load(self) -> tuple[list[Timed], list[Timed], int | None]:
        """Read a key's rows that the watermark has not passed, its live rows, and its timer."""
        value = self.state.get()
        if value is None:
            return [], [], None
        return [tuple(row) for row in value[0]], [tuple(row) for row in value[1]], value[2]

    def advance(
        self,
        key: int,
        waiting: list[Timed],
        live: list[Timed],
        timer: int | None,
        time: TimerValues,
    ) -> Iterator[Row]:
        """Emit results before the watermark, and set a timer behind the next change."""
        watermark = time.getCurrentWatermarkInMs() * 1000
        arriving, leaving = deque(sorted(waiting)), deque(live)
        n, s = len(live), sum(v for _, v in live)
        while (stop := self.next_stop(arriving, leaving)) < watermark:
            while leaving and leaving[0][0] + self.size <= stop:
                n, s = n - 1, s - leaving.popleft()[1]
            while arriving and arriving[0][0] <= stop:
                leaving.append(arriving.popleft())
                n, s = n + 1, s + leaving[-1][1]
            if n:
                yield Row(k=key, first=stop - self.size, end=stop, n=n, s=s)
        if timer is not None:
            self.handle.deleteTimer(timer)
        if stop == NEVER:
            self.state.clear()
            return
        self.handle.registerTimer(stop // 1000 + 1)
        self.state.update((list(arriving), list(leaving), stop // 1000 + 1))

    def next_stop(self, arriving: deque[Timed], leaving: deque[Timed]) -> int:
        """Return the next instant at which a row arrives or leaves."""
        arrives = arriving[0][0] if arriving else NEVER
        return min(arrives, leaving[0][0] + self.size if leaving else NEVER)
