"""The worked examples of StreamInsight, and of Azure's windows, as queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.seeds import SEEDS, instant, vector

AZURE = {"asa-22", "asa-22x", "asa-23", "asa-25", "asa-30", "asa-31", "asa-36", "asa-37"}
# Aggregates of functions that see lifetimes, which transom does not have yet.
OF_LIFETIMES = {"clipped", "twa"}

AGGREGATES: Mapping[str, Callable[[Column], Column]] = {
    "sum": lambda c: F.coalesce(F.sum(c), F.lit(0)),
    "avg": F.avg,
    "min": F.min,
    "max": F.max,
    "ids": lambda c: F.sort_array(F.collect_list(c)),
}


def names() -> list[str]:
    found = [json.loads(path.read_text("utf-8")) for path in sorted(SEEDS.glob("*.json"))]
    # An event without end is in all windows until the last punctuation, which a static DataFrame
    # does not have.
    return [
        v["id"]
        for v in found
        if "final_cti" not in v["policy"]
        if v["model"] == "si.window" or "-".join(v["id"].split("-")[:2]) in AZURE
    ]


def rows_of(spark: SparkSession, example: dict[str, Any]) -> DataFrame:
    """The events, with their columns, a time and the end of their lifetime."""
    start = "start" if example["system"] == "streaminsight" else "event_time"
    extended = example["policy"].get("alter_duration_ms")
    rows = []
    for event in example["events"]:
        at = instant(event[start])
        end = event.get("end")
        until = None if end in (None, "+inf") else instant(end)
        if end is None:
            until = at + timedelta(milliseconds=extended or 1)
        known = {name: event[name] for name in ("id", "seq") if name in event}
        rows.append((json.dumps(known | event["payload"]), at, until))
    read = spark.createDataFrame(rows, "columns string, time timestamp, until timestamp")
    parsed = json.loads(rows[0][0])
    kinds = {
        name: "string" if isinstance(value, str) else "bigint" for name, value in parsed.items()
    }
    schema = ", ".join(f"`{name}` {kind}" for name, kind in kinds.items())
    return read.select(F.from_json("columns", schema).alias("c"), "time", "until").select(
        "c.*", "time", "until"
    )


def window_of(spec: Any, *, closed: Any) -> transom.Window:
    if isinstance(spec, list):
        return transom.Windows({one["id"]: window_of(one, closed=closed) for one in spec})

    def length(name: str) -> timedelta:
        return timedelta(milliseconds=spec[name])

    def offset(period: timedelta) -> timedelta:
        alignment = spec.get("alignment")
        return (instant(alignment) - datetime(1970, 1, 1)) % period if alignment else timedelta()

    match spec["type"]:
        case "snapshot":
            return transom.Snapshot(closed=closed)
        case "sliding":
            return transom.Rolling(length("size_ms"))
        case "count":
            return transom.CountByStart(spec["n"])
        case "tumbling":
            size = length("size_ms")
            return transom.Tumbling(size=size, offset=offset(size), closed=closed)
        case "hopping":
            size, slide = length("size_ms"), length("hop_ms")
            return transom.Hopping(size=size, slide=slide, offset=offset(slide), closed=closed)
    raise AssertionError(spec)


def stage(rows: DataFrame, spec: dict[str, Any], *, lifetimes: bool, closed: Any) -> DataFrame:
    """One step of an example: its windows and aggregates."""
    window = window_of(spec["windows"], closed=closed)
    life = "until" if lifetimes and not isinstance(window, transom.Rolling) else None
    stream = transom.stream(rows, time="time", lifetime=life).key_by(*spec.get("group_by", ()))
    if top := spec.get("top_k"):
        return stream.window(window).top(top["k"], F.desc(top["field"]))
    named = [
        (F.count("*") if a["fn"] == "count" else AGGREGATES[a["fn"]](F.col(a["field"]))).alias(
            a["as"]
        )
        for a in spec["aggregates"]
        if a["fn"] not in OF_LIFETIMES
    ]
    results = stream.window(window).agg(*named)
    if having := spec.get("having"):
        results = results.where(f"{having['field']} {having['op']} {having['value']}")
    return results


def shown(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(value)
    return float(value) if isinstance(value, int | float) else value


@pytest.mark.parametrize("name", names())
def test_the_results_are_those_of_the_example(spark: SparkSession, name: str) -> None:
    example = vector(name)
    is_azure = example["system"] == "asa"
    closed = "right" if is_azure else "left"
    rows = rows_of(spark, example)
    spec = example["policy"] | {"windows": example["windows"]}
    results = rows
    for step in example.get("stages") or [spec]:
        lifetimes = not is_azure
        results = stage(results, step, lifetimes=lifetimes, closed=closed)
        results = results.withColumn("time", F.col("window.end"))
    columns = {
        column
        for output in example["expected"]["outputs"]
        for column, value in output.items()
        if column not in ("why", "start", "end", "clipped", "twa", "window_start", "window_end")
    }
    # A tick is a millisecond in the examples, and a microsecond here.
    windows = spec["windows"]
    is_count = isinstance(windows, dict) and windows["type"] == "count"
    tick, ours = timedelta(milliseconds=is_count), timedelta(microseconds=is_count)
    is_point = is_azure and "snapshot" in json.dumps(
        (example.get("stages") or [spec])[-1]["windows"]
    )
    want = [
        (
            instant(o["window_end"]) - tick,
            instant(o["window_start"]),
            {c: shown(o[c]) for c in columns},
        )
        for o in example["expected"]["outputs"]
    ]
    got = [
        (
            r["window"]["end"] - ours,
            r["window"]["end"] if is_point else r["window"]["start"],
            {c: shown(r[c]) for c in columns},
        )
        for r in results.collect()
    ]
    assert sorted(got, key=repr) == sorted(want, key=repr)
    assert want
