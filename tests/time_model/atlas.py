"""Runs the vectors of Atlas Stream Processing through the model."""

from __future__ import annotations

from tests.time_model.stamping import Bound, Row, Stamp, Tick, TimePolicy, stamps
from tests.time_model.vectors import Json, duration, grid, micros
from tests.time_model.windows import Grid, Idle, Placed, Result, Session, passed, windows

# In event time, the watermark is the largest time so far. In processing time, it is the wall
# clock.
_EVENT_TIME = TimePolicy()
_PROCESSING_TIME = TimePolicy(uses_arrival=True, late=Bound("adjust", 0), floor="estimate")


def fixed(vector: Json) -> Json:
    """Tumbling and hopping windows."""
    policy, window = vector["policy"], grid(vector["windows"])
    on_clock = policy.get("boundary") == "processingTime"
    lateness = 0 if on_clock else duration(policy, "allowed_lateness_ms", 3_000)
    after = micros(policy, "idle_timeout_ms")
    idle = None if after is None else Idle(after, policy["idle_rule"])
    stamped = stamped_events(vector, _PROCESSING_TIME if on_clock else _EVENT_TIME)
    results, placed = windows(stamped, window, lateness, idle)
    numbers = [event["seq"] for event in vector["events"]]
    per_event = []
    for at, number in enumerate(numbers):
        row: Json = {"seq": number}
        if isinstance(stamped[at].event, Row):
            row |= taken(placed[at])
        mark = placed[at].watermark
        if not on_clock and mark is not None:
            row |= {"watermark": mark, "effective_time": mark - lateness}
            if "processor_start" in policy:
                row["open_windows"] = open_windows(
                    window, lateness, placed[at], policy["processor_start"]
                )
        closed = [list(result.bounds) for result in results if result.at == at]
        per_event.append(row | ({"closed_windows": closed} if closed else {}))
    causes = {"watermark": "clock" if on_clock else "watermark", "idle": "idle"}
    return {
        "per_event": per_event,
        "outputs": [
            output(result, numbers) | {"closed_by": causes[result.cause]}
            for result in results
            if result.at is not None
        ],
        "dlq": [
            {
                "seq": number,
                "reason": "late",
                "missed_window_starts": [start for start, _ in placed[at].missed],
            }
            for at, number in enumerate(numbers)
            if placed[at].missed
        ],
        "open_at_end": [
            {"window": list(result.bounds), "seqs": [numbers[place] for place in result.rows]}
            for result in results
            if result.at is None
        ],
    }


def stamped_events(vector: Json, policy: TimePolicy) -> list[Stamp]:
    """Stamp the events of a vector. The wall clock is constant where no rule uses it."""
    return stamps(
        [
            Tick(event["processing_time"])
            if event.get("kind") == "tick"
            else Row(
                event["event_time"],
                event.get("processing_time", 0),
                key=event.get("key"),
                failure="key_failed" if event.get("partition_error") else None,
            )
            for event in vector["events"]
        ],
        policy,
    )


def taken(placed: Placed) -> Json:
    """Where a row went."""
    kinds = {(True, False): "accepted", (True, True): "partial", (False, True): "dlq"}
    row: Json = {
        "disposition": kinds.get((bool(placed.taken), bool(placed.missed)), "no_window"),
        "assigned_windows": [list(bounds) for bounds in placed.taken],
    }
    missed = [list(bounds) for bounds in placed.missed]
    return row | ({"missed_windows": missed} if missed else {})


def open_windows(window: Grid, lateness: int, placed: Placed, start: int) -> list[list[int]]:
    """The windows that the watermark has reached and that did not close, even empty ones."""
    mark = placed.watermark
    assert mark is not None
    times = range(mark - lateness - window.size, mark + window.slide, window.slide)
    reached = {bounds for time in times for bounds in window.of(time) if bounds[0] <= mark}
    return [
        list(bounds)
        for bounds in sorted(reached)
        if bounds[1] > start
        and not passed(window, bounds[1], lateness, mark)
        and (placed.idle_end is None or bounds[1] > placed.idle_end)
    ]


def output(result: Result, numbers: list[int]) -> Json:
    """A window that was emitted."""
    assert result.at is not None
    return {
        "window_start": result.bounds[0],
        "window_end": result.bounds[1],
        "count": len(result.rows),
        "seqs": [numbers[place] for place in result.rows],
        "at_row": numbers[result.at],
    }


def session(vector: Json) -> Json:
    """Session windows."""
    gap = duration(vector["windows"], "gap_ms")
    lateness = duration(vector["policy"], "allowed_lateness_ms", 3_000)
    stamped = stamped_events(vector, _EVENT_TIME)
    window = Session(gap, inclusive=False, late_start="reject")
    results, placed = windows(stamped, window, lateness)
    numbers = [event["seq"] for event in vector["events"]]
    per_event: list[Json] = []
    dead: list[Json] = []
    for at, number in enumerate(numbers):
        row: Json = {"seq": number, "watermark": placed[at].watermark, "disposition": "accepted"}
        if placed[at].taken:
            row["session"] = list(placed[at].taken[0])
        else:
            row["disposition"] = "dlq"
            failed = stamped[at].reason == "key_failed"
            reason = "partitionBy_failed" if failed else "late_no_open_session"
            dead.append({"seq": number, "reason": reason})
        per_event.append(row)
    return {
        "per_event": per_event,
        "outputs": [
            output(result, numbers) | {"partition": result.key}
            for result in results
            if result.at is not None
        ],
        "dlq": dead,
        "open_at_end": [
            {
                "partition": result.key,
                "session": list(result.bounds),
                "seqs": [numbers[place] for place in result.rows],
                "closes_when_watermark_reaches": result.bounds[1] + lateness,
            }
            for result in results
            if result.at is None
        ],
    }
