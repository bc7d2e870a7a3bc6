"""Turns the settings of Flink's vectors into windows, triggers, evictors and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

import transom
from tests.end_to_end.conformance.outcomes import UnsupportedError

Vector = dict[str, Any]

# Longer than the time of any vector. Flink's last watermark is moved here. A control row is this
# far ahead of the watermark that it sets, so that records move no watermark.
FAR_MS = 400 * 86_400_000
LAST_MS = 9_223_372_036_854_775_807


# Kinds of vectors that only the engine runs.
ENGINE_KINDS = {
    "assigner",
    "intersects",
    "invalid_parameters",
    "merge",
    "merge_guard",
    "merging_set",
    "panes",
    "side_output",
    "slices",
    "slices_dst",
    "state_accounting",
    "trigger",
    "trigger_map",
    "window_start",
}


@dataclass(frozen=True)
class Aggregate:
    """The aggregate of a query that computes the values of a vector's window function.

    Attributes
    ----------
    column : callable
        Returns the aggregate, which the query calls ``value``.
    outputs : callable
        Returns the outputs of the vector for a value of the aggregate.
    by_order : bool
        Whether the aggregate depends on the order of rows.
    """

    column: Callable[[], Column]
    outputs: Callable[[Any], Iterable[Any]] = lambda value: [value]
    by_order: bool = False


def _of_pairs(name: Callable[[str], Column], number: Column) -> Aggregate:
    return Aggregate(
        lambda: F.struct(name("name").alias("name"), number.alias("number")),
        lambda value: [list(value)],
        by_order=True,
    )


def _faster(one: Column, other: Column) -> Column:
    return F.when(other["speed"] > one["speed"], other).otherwise(one)


_EVEN_MINUS_ODD = "sum(if(value % 2 = 0, 1, -1))"


def aggregates() -> dict[str, Aggregate]:
    """The aggregates of vectors, by name. Making them needs a session."""
    return {
        "sum": Aggregate(lambda: F.sum("value")),
        "count": Aggregate(lambda: F.count("*")),
        "sum_count": Aggregate(
            lambda: F.struct(F.sum("value").alias("sum"), F.count("*").alias("count")),
            lambda value: [value.asDict()],
        ),
        "list_each": Aggregate(lambda: F.collect_list("value"), list, by_order=True),
        "even_minus_odd": Aggregate(lambda: F.expr(_EVEN_MINUS_ODD)),
        "first_key_sum": _of_pairs(F.first, F.sum("value")),
        "last_key_sum": _of_pairs(F.last, F.sum("value")),
        "max_by_speed": Aggregate(
            lambda: transom.reduce("car", _faster),
            lambda value: [value.asDict()],
            by_order=True,
        ),
        "last_key_even_minus_odd": _of_pairs(F.last, F.expr(_EVEN_MINUS_ODD)),
    }


def milliseconds(number: int) -> timedelta:
    return timedelta(milliseconds=number)


def check(vector: Vector) -> None:
    """Raise `UnsupportedError` if no query expresses the vector."""
    kind = vector["kind"]
    if kind != "operator":
        if kind not in ENGINE_KINDS:
            raise ValueError(f"kind is {kind}")
        raise UnsupportedError(f"{kind}: no query expresses it, the engine runs what it can")
    window_of(vector)
    trigger_of(vector["trigger"])
    evictor_of(vector)
    if vector["aggregate"] not in aggregates():
        raise UnsupportedError(f"the aggregate {vector['aggregate']}")
    for step in vector["steps"]:
        if is_on_clock(vector):
            continue
        if step["op"] == "element" and step["ts"] is None and has_time(vector):
            raise UnsupportedError("records without a time")
        windows = step.get("windows", [[0, 1]])
        if not windows or any(start >= end for start, end in windows):
            raise UnsupportedError(
                "records of no window, which Flink calls late, or of an empty one"
            )
        if step["op"] == "element" and not -FAR_MS < (step["ts"] or 0) - first_ms(vector) < FAR_MS:
            raise UnsupportedError("times beyond what Spark's timestamps hold")


def first_ms(vector: Vector) -> int:
    """The start of the vector's time: 0, or the first record if it is far from 0."""
    first = min(
        (step["ts"] for step in vector["steps"] if step["op"] == "element" and step["ts"]),
        default=0,
    )
    return first if FAR_MS < first < LAST_MS // 2 else 0


def is_on_clock(vector: Vector) -> bool:
    """Whether the windows are in processing time."""
    return bool(vector["windows"].get("time") == "processing")


def needs_clock(vector: Vector) -> bool:
    """Whether the windows or the trigger use the wall clock."""
    return is_on_clock(vector) or vector["trigger"]["type"] == "early_late"


def has_time(vector: Vector) -> bool:
    """Whether the windows or the trigger use the time of records."""
    return not vector["windows"]["type"].startswith("count_")


def window_of(vector: Vector) -> transom.Window:
    """The windows of the vector as a `Window`."""
    windows = vector["windows"]
    kind = windows["type"]
    if kind == "global":
        return transom.Global()
    if kind == "count_tumbling":
        return transom.Count(size=windows["size"])
    if kind == "count_sliding":
        return transom.Count(size=windows["size"], slide=windows["slide"])
    if kind == "explicit":
        return transom.Custom(windows="windows")
    if kind == "session":
        if windows.get("allow_zero_gap"):
            raise UnsupportedError("a gap of zero")
        if windows["gap_ms"] == "per_element":
            return transom.Session(gap=F.col("gap"))
        return transom.Session(gap=milliseconds(windows["gap_ms"]))
    offset = milliseconds(windows.get("offset_ms", 0))
    if kind == "tumbling":
        return transom.Tumbling(size=milliseconds(windows["size_ms"]), offset=offset)
    if kind == "sliding":
        return transom.Hopping(
            size=milliseconds(windows["size_ms"]),
            slide=milliseconds(windows["slide_ms"]),
            offset=offset,
        )
    if kind == "cumulate":
        return transom.Cumulate(
            size=milliseconds(windows["max_size_ms"]),
            step=milliseconds(windows["step_ms"]),
            offset=offset,
        )
    raise UnsupportedError(f"{kind} windows")


def trigger_of(trigger: dict[str, Any]) -> transom.Trigger:
    """The trigger of the vector as a `Trigger`."""
    kind = trigger["type"]
    if kind == "event_time":
        return transom.AfterWatermark()
    if kind == "count":
        return transom.AfterCount(trigger["n"])
    if kind == "continuous_event_time":
        return transom.Every(milliseconds(trigger["interval_ms"]))
    if kind == "purging":
        return transom.Purging(trigger_of(trigger["nested"]))
    if kind == "end_of_stream":
        return transom.EndOfStream()
    if kind == "never":
        return transom.Never()
    if kind == "processing_time":
        return transom.AfterClock()
    if kind == "continuous_processing_time":
        return transom.Every(milliseconds(trigger["interval_ms"]), clock="processing")
    if kind == "early_late":
        early = transom.Every(
            milliseconds(trigger["early_every_ms"]), clock="processing", aligned=False
        )
        late = transom.AfterCount(1) if trigger["late"] == "every_element" else None
        return transom.AfterWatermark(early=early, late=late)
    if kind == "delta":
        return transom.AfterDelta(_difference(trigger), threshold=trigger["threshold"])
    if kind == "fire_on_element":
        return transom.When("true")
    raise UnsupportedError(f"the trigger {kind}")


def _difference(delta: dict[str, Any]) -> Callable[[Column, Column], Column]:
    """Distance function of two records: the difference of a field or of their values."""

    def number(row: Column) -> Column:
        return row["car"][delta["field"]] if "field" in delta else row["value"]

    return lambda older, newer: number(newer) - number(older)


def evictor_of(vector: Vector) -> transom.Evictor | None:
    """The evictor of the vector as an `Evictor`."""
    evictor = vector["evictor"]
    if evictor is None:
        return None
    if evictor["type"] == "count":
        return transom.KeepLast(evictor["max"], when=evictor["when"])
    if evictor["type"] == "time":
        return transom.KeepRecent(milliseconds(evictor["keep_ms"]), when=evictor["when"])
    if evictor["type"] == "delta":
        threshold = evictor["threshold"]
        return transom.KeepNear(_difference(evictor), threshold=threshold, when=evictor["when"])
    raise UnsupportedError(f"the evictor {evictor['type']}")


def columns_of(value: Any) -> tuple[str | None, int | None, tuple[Any, ...] | None]:
    """The name, value and car of a record. A record has one or two of them."""
    if isinstance(value, dict):
        return None, None, (value["speed"], value["distance"], value["time"])
    name, number = value if isinstance(value, list) else (None, value)
    return name, number, None


def key_of(keyed: dict[str, Any]) -> str | None:
    """The key of a record in the query."""
    return None if keyed["key"] is None else str(keyed["key"])


def is_plain(vector: Vector) -> bool:
    """Whether the slice log can run the vector."""
    return (
        vector["windows"]["type"] in ("tumbling", "sliding", "cumulate", "session")
        and vector["windows"].get("gap_ms") != "per_element"
        and vector["trigger"]["type"] == "event_time"
        and vector["evictor"] is None
        and vector["allowed_lateness_ms"] == 0
        and vector["output_mode"] == "append"
        and not aggregates()[vector["aggregate"]].by_order
    )
