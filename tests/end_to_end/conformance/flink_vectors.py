"""Turns the settings of Flink's vectors into windows, triggers, evictors and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
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
    text : str
        The aggregate in SQL, which the query calls ``value``.
    outputs : callable
        Returns the outputs of the vector for a value of the aggregate.
    by_order : bool
        Whether the aggregate depends on the order of rows.
    reduced : callable or None
        Returns the aggregate as Python has it, by `transom.reduce`, which SQL lacks. Making it
        needs a session. None if the text is for both languages.
    """

    text: str
    outputs: Callable[[Any], Iterable[Any]] = lambda value: [value]
    by_order: bool = False
    reduced: Callable[[], Column] | None = None


def _of_pairs(name: str, number: str) -> Aggregate:
    return Aggregate(
        f"struct({name} AS name, {number} AS number)",
        lambda value: [list(value)],
        by_order=True,
    )


def _faster(one: Column, other: Column) -> Column:
    return F.when(other["speed"] > one["speed"], other).otherwise(one)


_EVEN_MINUS_ODD = "sum(if(value % 2 = 0, 1, -1))"


# The aggregates of vectors, by name.
AGGREGATES: dict[str, Aggregate] = {
    "sum": Aggregate("sum(value)"),
    "count": Aggregate("count(*)"),
    "sum_count": Aggregate(
        "struct(sum(value) AS sum, count(*) AS count)", lambda value: [value.asDict()]
    ),
    "list_each": Aggregate("collect_list(value)", list, by_order=True),
    "even_minus_odd": Aggregate(_EVEN_MINUS_ODD),
    "first_key_sum": _of_pairs("first(name)", "sum(value)"),
    "last_key_sum": _of_pairs("last(name)", "sum(value)"),
    # The times of a car grow, so the first car with the highest speed has the smallest time.
    "max_by_speed": Aggregate(
        "max_by(car, struct(car.speed, -car.time))",
        lambda value: [value.asDict()],
        by_order=True,
        reduced=lambda: transom.reduce("car", _faster),
    ),
    "last_key_even_minus_odd": _of_pairs("last(name)", _EVEN_MINUS_ODD),
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
    if vector["aggregate"] not in AGGREGATES:
        raise UnsupportedError(f"the aggregate {vector['aggregate']}")
    if is_on_clock(vector) and vector["allowed_lateness_ms"]:
        raise UnsupportedError("lateness in processing time")
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
    by_clock = ("early_late", "processing_timeout")
    return is_on_clock(vector) or vector["trigger"]["type"] in by_clock


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
    if kind == "processing_timeout":
        return transom.ProcessingTimeout(
            trigger_of(trigger["nested"]),
            after=milliseconds(trigger["timeout_ms"]),
            reset=trigger["reset_on_new_record"],
            clear=trigger["clear_on_timeout"],
        )
    if kind == "delta":
        return transom.AfterDelta(Difference.of(trigger), threshold=trigger["threshold"])
    if kind == "fire_on_element":
        return transom.When("true")
    raise UnsupportedError(f"the trigger {kind}")


@dataclass(frozen=True)
class Difference:
    """Distance function of two records: the difference of a number.

    Attributes
    ----------
    number : str
        The path of the number in a record.
    """

    number: str

    @classmethod
    def of(cls, delta: dict[str, Any]) -> Difference:
        """The distance of a trigger or an evictor: by a field of cars, or by the value."""
        return cls(f"car.{delta['field']}" if "field" in delta else "value")

    def __call__(self, older: Column, newer: Column) -> Column:
        """The distance as Python has it."""
        return self._number_of(newer) - self._number_of(older)

    @property
    def sql(self) -> str:
        """The distance as SQL has it."""
        return f"(older, newer) -> newer.{self.number} - older.{self.number}"

    def _number_of(self, record: Column) -> Column:
        return reduce(Column.getField, self.number.split("."), record)


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
        return transom.KeepNear(Difference.of(evictor), threshold=threshold, when=evictor["when"])
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
        and not AGGREGATES[vector["aggregate"]].by_order
    )
