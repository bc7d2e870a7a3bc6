"""A model of time policies: the time in force of each row, and the watermarks it meets.

All times are whole microseconds. Events come in arrival order: rows, and ticks of the wall clock.
The rules are those of Atlas Stream Processing and Azure Stream Analytics.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Source = tuple[str, str | None]
Disposition = Literal["accepted", "adjusted", "dropped", "punctuation", "tick"]


@dataclass(frozen=True)
class Row:
    """A row.

    ``failure`` is the reason why an earlier step rejected the row, if it did. ``end`` is the end of
    its lifetime, if it has one. The time of a row that is ``punctuation`` is the watermark that it
    sets.
    """

    time: int | None
    arrival: int
    partition: str = ""
    substream: str | None = None
    key: Hashable = None
    failure: str | None = None
    end: int | None = None
    punctuation: bool = False


@dataclass(frozen=True)
class Tick:
    """The wall clock reaches an instant, and no row comes."""

    at: int


Event = Row | Tick


@dataclass(frozen=True)
class Bound:
    """The treatment of rows whose time is further than ``beyond`` from a reference."""

    action: Literal["accept", "drop", "adjust"]
    beyond: int


@dataclass(frozen=True)
class TimePolicy:
    """The settings of a time policy.

    ``uses_arrival`` puts the arrival time in force and switches the other rules off.
    ``every`` replaces ``rows``: the watermark moves when it can move by at least that much.
    ``follows_rows`` is false if only punctuation moves it.
    ``floor`` selects the arrivals that raise a watermark to arrival - late. It is no
    arrival, each row of the partition, or also the arrival that ticks of the wall clock estimate.
    """

    out_of_order: Bound = Bound("accept", 0)
    early: Bound | None = None
    late: Bound | None = None
    uses_arrival: bool = False
    rows: int = 1
    every: int | None = None
    follows_rows: bool = True
    by_substream: bool = False
    partitions: tuple[str, ...] = ()
    idle_partition: int | None = None
    floor: Literal["none", "arrival", "estimate"] = "none"


@dataclass(frozen=True)
class Watermarks:
    """The watermarks after an event.

    ``own`` has each substream of each partition, and each partition itself under None. ``merged``
    has each substream: the minimum over the partitions that had a row of it. ``overall`` is the
    minimum of all. Without substreams, all rows are in the substream "".
    """

    own: dict[Source, int | None]
    merged: dict[str | None, int | None]
    overall: int | None


@dataclass(frozen=True)
class Stamp:
    """The time in force of an event, the rules that applied, and the watermarks around it.

    ``time`` is None for ticks and for dropped rows. ``rules`` are the rules that applied, in order.
    ``met`` and ``met_merged`` are the watermarks before the row: of its source, which is its
    partition and substream, and of the windows of its key.
    """

    event: Event
    after: Watermarks
    source: Source = ("", "")
    time: int | None = None
    disposition: Disposition = "tick"
    rules: tuple[str, ...] = ()
    reason: str | None = None
    met: int | None = None
    met_merged: int | None = None


def merged_order(batches: Iterable[Sequence[Row] | Tick]) -> list[Event]:
    """The rows of each batch by the largest arrival so far of their partition, then by partition.

    Ticks stand between batches.
    """
    events: list[Event] = []
    reached: dict[str, int] = {}
    for batch in batches:
        if isinstance(batch, Tick):
            events.append(batch)
            continue
        ordered = []
        for place, row in enumerate(batch):
            reached[row.partition] = max(row.arrival, reached.get(row.partition, row.arrival))
            ordered.append((reached[row.partition], row.partition, place))
        events += [batch[place] for _, _, place in sorted(ordered)]
    return events


def stamps(events: Iterable[Event], policy: TimePolicy) -> list[Stamp]:
    """Stamp all events, in order."""
    state = _State(policy)
    return [state.tick(e) if isinstance(e, Tick) else state.row(e) for e in events]


def judged(row: Row, policy: TimePolicy, met: int | None) -> tuple[int | None, list[str], str]:
    """The time in force, the rules that applied, and the reason of a drop or an empty text.

    Early comes first, then late, then out of order. Bounds are inclusive. A row is dropped if a
    rule moves it to its end or behind it.
    """
    time = row.arrival if policy.uses_arrival else row.time
    if row.failure:
        return None, [], row.failure
    if policy.by_substream and row.substream is None:
        return None, [], "no_substream"
    if time is None:
        return None, [], "no_time"
    rules: list[str] = []
    early, late = (None, None) if policy.uses_arrival else (policy.early, policy.late)
    if early and time > row.arrival + early.beyond:
        rules.append("early")
        if early.action == "drop":
            return None, rules, "early"
        time = row.arrival + early.beyond
    if late and time < row.arrival - late.beyond:
        rules.append("late_arrival")
        time = row.arrival - late.beyond
        if late.action == "drop" or is_over(row, time):
            return None, rules, "late_arrival"
    if policy.out_of_order.action != "accept" and met is not None and time < met:
        rules.append("out_of_order")
        if policy.out_of_order.action == "drop" or is_over(row, met):
            return None, rules, "out_of_order"
        time = met
    return time, rules, ""


def is_over(row: Row, moved: int) -> bool:
    """Whether a row ends at or before the time to which a rule moves it."""
    return row.end is not None and row.end <= moved


class _State:
    """The numbers of each partition and substream, while events are stamped."""

    def __init__(self, policy: TimePolicy) -> None:
        self.policy = policy
        self.now: int | None = None
        # The tick that was current when a partition last had a row, or the first one after it.
        self.heard: dict[str, int] = {}
        self.arrival: dict[str, int] = {}
        self.floors: dict[str, int] = {}
        self.largest: dict[Source, int] = {}
        self.moved: dict[Source, int] = {}
        self.waiting: dict[Source, int] = {}
        self.merged: dict[str | None, int | None] = {}
        self.overall: int | None = None

    def row(self, row: Row) -> Stamp:
        source = (row.partition, row.substream if self.policy.by_substream else "")
        met, met_merged = self.own(source), self.merged.get(source[1])
        if row.punctuation:
            assert row.time is not None
            self.arrive(row)
            self.moved[source] = max(row.time, self.moved.get(source, row.time))
            after = self.after()
            return Stamp(row, after, source, row.time, "punctuation", (), None, met, met_merged)
        time, rules, reason = judged(row, self.policy, met)
        # A dropped row has arrived too: it moves the floor, and nothing else.
        self.arrive(row)
        if time is not None:
            self.accept(source, time)
        disposition: Disposition = "adjusted" if rules else "accepted"
        if time is None:
            disposition = "dropped"
        after, why = self.after(), reason or None
        return Stamp(row, after, source, time, disposition, tuple(rules), why, met, met_merged)

    def tick(self, tick: Tick) -> Stamp:
        self.now = tick.at
        for partition in self.known():
            since = self.heard.setdefault(partition, tick.at)
            if self.policy.floor == "estimate":
                # A partition without a row has no last arrival to count from.
                last = self.arrival.get(partition)
                self.raise_floor(partition, tick.at if last is None else last + tick.at - since)
        return Stamp(tick, self.after())

    def arrive(self, row: Row) -> None:
        partition = row.partition
        self.arrival[partition] = max(row.arrival, self.arrival.get(partition, row.arrival))
        self.heard.pop(partition, None)
        if self.now is not None:
            self.heard[partition] = self.now
        if self.policy.floor != "none":
            self.raise_floor(partition, self.arrival[partition])

    def raise_floor(self, partition: str, arrival: int) -> None:
        late = self.policy.late
        assert late is not None, "a floor needs a bound for late rows"
        floor = arrival - late.beyond
        self.floors[partition] = max(floor, self.floors.get(partition, floor))

    def accept(self, source: Source, time: int) -> None:
        """Move the watermark to the largest time in force - out_of_order."""
        policy = self.policy
        self.largest[source] = max(time, self.largest.get(source, time))
        self.waiting[source] = self.waiting.get(source, 0) + 1
        reached, before = self.largest[source] - policy.out_of_order.beyond, self.moved.get(source)
        if not policy.follows_rows:
            due = False
        elif policy.every is None:
            due = self.waiting[source] >= policy.rows
        else:
            due = before is None or reached - before >= policy.every
        if due:
            self.waiting[source] = 0
            self.moved[source] = reached if before is None else max(reached, before)

    def known(self) -> set[str]:
        return {*self.policy.partitions, *self.arrival}

    def sources(self) -> set[Source]:
        """The sources that have had an accepted row or punctuation."""
        return {*self.largest, *self.moved}

    def idle(self, partition: str) -> bool:
        limit, since = self.policy.idle_partition, self.heard.get(partition)
        if limit is None or since is None or self.now is None:
            return False
        return self.now - since >= limit

    def own(self, source: Source) -> int | None:
        marks = (self.moved.get(source), self.floors.get(source[0]))
        return max((mark for mark in marks if mark is not None), default=None)

    def minimum(self, substreams: set[str | None]) -> int | None:
        """The smallest watermark of the partitions that count, None if one has none yet."""
        marks: list[int | None] = []
        for partition in self.known():
            if self.idle(partition):
                continue
            sources = [source for source in self.sources() if source[0] == partition]
            if not sources:
                marks.append(self.own((partition, None)))
            marks += [self.own(source) for source in sources if source[1] in substreams]
        known = [mark for mark in marks if mark is not None]
        return min(known) if known and len(known) == len(marks) else None

    def after(self) -> Watermarks:
        by_substream = self.policy.by_substream
        substreams: set[str | None] = {s[1] for s in self.sources()} if by_substream else {""}
        for substream in substreams:
            self.merged[substream] = _later(self.merged.get(substream), self.minimum({substream}))
        self.overall = _later(self.overall, self.minimum(substreams))
        own = {s: self.own(s) for s in {*self.sources(), *((p, None) for p in self.known())}}
        return Watermarks(own, dict(self.merged), self.overall)


def _later(before: int | None, mark: int | None) -> int | None:
    """A merged watermark never falls, even when a partition joins or comes back."""
    return max((each for each in (before, mark) if each is not None), default=None)
