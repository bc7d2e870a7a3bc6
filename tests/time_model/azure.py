"""Runs the vectors of Azure Stream Analytics through the model, and StreamInsight's CTIs.

The results have the form of a vector's ``expected`` field.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.time_model.stamping import Bound, Event, Row, Stamp, Tick, TimePolicy, stamps
from tests.time_model.vectors import Json, column, duration, grid, micros
from tests.time_model.windows import Grid, Session, windows

# A watermark so far behind that no row is late: the stream of the vector is finished.
_FINISHED = TimePolicy(out_of_order=Bound("accept", 10**18))


def bound(settings: Json, rule: str) -> Bound | None:
    """The bound of one rule."""
    beyond = micros(settings, f"{rule}_tolerance_ms")
    return None if beyond is None else Bound(settings[f"{rule}_action"], beyond)


def policy_of(settings: Json) -> TimePolicy:
    """The time policy of a vector, without a floor."""
    return TimePolicy(
        out_of_order=bound(settings, "out_of_order") or Bound("accept", 0),
        early=bound(settings, "early"),
        late=bound(settings, "late"),
        uses_arrival=settings["clock"] == "arrival",
        by_substream="over" in settings,
        partitions=tuple(settings.get("partitions", ())),
    )


def events_of(vector: Json) -> tuple[list[int], list[Event]]:
    """The events of a vector, and the number of each.

    In a vector with ticks, a row arrives when the wall clock reads its arrival time. So a tick with
    the number of the row precedes the row, and moves the floors of all partitions.
    """
    policy, numbers, events = vector["policy"], list[int](), list[Event]()
    has_clock = any(event.get("kind") == "tick" for event in vector["events"])
    for event in vector["events"]:
        if event.get("kind") == "tick":
            numbers.append(event["seq"])
            events.append(Tick(event["wall_time"]))
            continue
        substream = column(event, policy["over"]) if "over" in policy else None
        arrival, partition = event["arrival_time"], event.get("partition", "")
        row = Row(event["event_time"], arrival, partition, substream, key_of(vector, event))
        due: list[Event] = [Tick(arrival), row] if has_clock else [row]
        numbers += [event["seq"]] * len(due)
        events += due
    return numbers, events


def key_of(vector: Json, event: Json) -> tuple[Any, ...]:
    """The key of an event's windows."""
    return tuple(column(event, name) for name in vector["policy"].get("group_by", ()))


def time_policy(vector: Json) -> Json:
    """Stamp the events of a vector, once without and once with a floor."""
    policy = policy_of(vector["policy"])
    numbers, events = events_of(vector)
    plain = dict(zip(numbers, stamps(events, policy), strict=True))
    floor = replace(policy, floor="estimate") if policy.late else policy
    raised = dict(zip(numbers, stamps(events, floor), strict=True))
    described = [described_event(floor, seq, plain[seq], raised[seq]) for seq in plain]
    return {"per_event": described, "metrics": metrics(list(plain.values()))}


def described_event(policy: TimePolicy, seq: int, plain: Stamp, raised: Stamp) -> Json:
    """The fields of one event."""
    row: Json = {}
    if isinstance(plain.event, Row):
        row = {"system_timestamp": plain.time, "disposition": "accepted"}
        if plain.disposition == "dropped":
            row["disposition"] = f"dropped_{plain.reason}".removesuffix("_arrival")
        elif plain.rules:
            row["adjusted_by"] = [rule.removesuffix("_arrival") for rule in plain.rules]
        if policy.by_substream:
            row["substream"] = plain.event.substream
    # While the wall clock moves, the only source is the whole input.
    source = plain.source if isinstance(plain.event, Row) else ("", "")
    row |= {"seq": seq, "watermark": plain.after.own.get(source)}
    own = raised.after.own
    if not policy.partitions:
        return row | {"watermark_with_idle_floor": own.get(source, own.get(("", None)))}
    return row | {
        # A partition without a row has a floor only.
        "watermark_by_partition": {p: own.get((p, ""), own[p, None]) for p in policy.partitions},
        "combined_watermark": raised.after.overall,
    }


def metrics(stamped: list[Stamp]) -> Json:
    """Count the rows to which each rule applied, the adjusted rows, and the dropped rows."""
    rules = [rule for stamp in stamped for rule in stamp.rules]
    dispositions = [stamp.disposition for stamp in stamped]
    return {
        "early": rules.count("early"),
        "late": rules.count("late_arrival"),
        "out_of_order": rules.count("out_of_order"),
        "adjusted": dispositions.count("adjusted"),
        "dropped": dispositions.count("dropped"),
    }


def finished(vector: Json) -> Json:
    """The windows of a finished stream."""
    rows = [Row(e["event_time"], 0, key=key_of(vector, e)) for e in vector["events"]]
    numbers = [event["seq"] for event in vector["events"]]
    kinds = vector["windows"] if isinstance(vector["windows"], list) else [vector["windows"]]
    outputs = []
    for kind in kinds:
        stamped = stamps(rows, _FINISHED)
        for output, _ in outputs_of(vector, window_of(kind), numbers, stamped):
            outputs.append(output | ({"window_id": kind["id"]} if "id" in kind else {}))
    return {"outputs": outputs}


def window_of(kind: Json) -> Grid | Session:
    """Azure's windows include their end, and its sessions rows that are exactly a timeout away."""
    if kind["type"] != "session":
        return grid(kind, aligned_ends=True)
    check: Json = {"max_check": ">" if kind.get("max_duration_check") == "gt" else ">="}
    gap, longest = duration(kind, "timeout_ms"), micros(kind, "max_duration_ms")
    return Session(gap, closed="right", max_duration=longest, **check)


def outputs_of(
    vector: Json, window: Grid | Session, numbers: list[int], stamped: list[Stamp]
) -> list[tuple[Json, int | None]]:
    """The results of a vector, each with the number of the event that emits it."""
    events = {event["seq"]: event for event in vector["events"]}
    found = []
    for result in windows(stamped, window)[0]:
        assert isinstance(result.key, tuple)
        places = sorted(result.rows, key=lambda place: (stamped[place].time, place))
        rows = [events[numbers[place]] for place in places]
        output: Json = {"window_start": result.bounds[0], "window_end": result.bounds[1]}
        output |= dict(zip(vector["policy"].get("group_by", ()), result.key, strict=True))
        output |= {each["as"]: aggregate(each, rows) for each in vector["policy"]["aggregates"]}
        found.append((output, None if result.at is None else numbers[result.at]))
    return found


def aggregate(settings: Json, rows: list[Json]) -> Any:
    """One aggregate over the rows of a window."""
    kind = settings["fn"]
    if kind == "count":
        return len(rows)
    values = [column(row, settings["field"]) for row in rows]
    if kind == "ids":
        return values
    if kind == "top_one":
        return rows[values.index(max(values))]["payload"]
    simple: dict[str, Callable[[list[Any]], Any]] = {
        "sum": sum,
        "avg": lambda numbers: sum(numbers) / len(numbers),
        "min": min,
        "max": max,
        "count_distinct": lambda numbers: len(set(numbers)),
    }
    return simple[kind](values)


def pipeline(vector: Json) -> Json:
    """Stamp the events, then window them: without a floor, and with one."""
    policy, window = policy_of(vector["policy"]), window_of(vector["windows"])
    floor = replace(policy, floor="estimate") if policy.late else policy
    numbers, events = events_of(vector)
    plain = outputs_of(vector, window, numbers, stamps(events, policy))
    raised = outputs_of(vector, window, numbers, stamps(events, floor))
    later = {json.dumps(output, sort_keys=True): at for output, at in raised}
    outputs = [
        output
        | {
            "emitted_after_seq": at,
            "emitted_after_seq_with_idle_floor": later[json.dumps(output, sort_keys=True)],
        }
        for output, at in plain
    ]
    return time_policy(vector) | {"outputs": outputs}


def advance_time(vector: Json) -> Json:
    """StreamInsight's CTIs, given as punctuation or made from the rows.

    The tick of the vectors is a millisecond, so a point lasts a millisecond.
    """
    settings = vector["policy"].get("generate", {"every_events": 1, "delay_ms": 0})
    rows = [
        Row(
            event["start"],
            0,
            end=event.get("end", event["start"] + 1_000),
            punctuation=event.get("kind") == "cti",
        )
        for event in vector["events"]
    ]
    policy = TimePolicy(
        out_of_order=Bound(vector["policy"]["violation"], duration(settings, "delay_ms")),
        rows=settings["every_events"],
        follows_rows="generate" in vector["policy"],
    )
    per_event = []
    for event, row, stamp in zip(vector["events"], rows, stamps(rows, policy), strict=True):
        kind = "cti" if stamp.disposition == "punctuation" else stamp.disposition
        shown = {"seq": event["seq"], "disposition": kind, "cti": stamp.after.overall}
        is_alive = stamp.time is not None and not row.punctuation
        per_event.append(shown | ({"lifetime": [stamp.time, row.end]} if is_alive else {}))
    return {"per_event": per_event}
