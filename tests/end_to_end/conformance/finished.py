"""Runs the worked examples of windows over a finished input: `asa.window` and `si.window`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import transom
from tests.end_to_end.conformance.events import Json, Table, columns, instant, milliseconds, table
from tests.end_to_end.conformance.languages import Language
from tests.end_to_end.conformance.outcomes import UnsupportedError, difference
from tests.end_to_end.support.queries import run_stream
from transom._base.columns import quoted
from transom.spec.window_spec import OutputPolicy

# A point of a vector lasts a millisecond. A point of transom lasts a microsecond.
TICK = timedelta(milliseconds=1)
OUR_TICK = timedelta(microseconds=1)
# Aggregates of a function that sees the lifetimes of rows.
OF_LIFETIMES = {"clipped", "twa"}
# Aggregates in SQL, where a field is in braces.
AGGREGATES = {
    "sum": "sum({})",
    "avg": "avg({})",
    "min": "min({})",
    "max": "max({})",
    "count_distinct": "count(DISTINCT {})",
    "ids": "sort_array(collect_list({}))",
}
MAX_CHECKS: Mapping[str, Literal[">=", ">"]] = {"ge": ">=", "gt": ">"}
# Output policies: the name in StreamInsight, and the name in transom.
POLICIES: Mapping[str, OutputPolicy] = {
    "PointAlignToWindowEnd": "point_align_to_window_end",
    "ClipToWindowEnd": "clip_to_window_end",
}


def problem(spark: SparkSession, vector: Json, language: Language) -> str | None:
    """Run a vector in all ways. Returns the first difference to the expected output, or None."""
    rows = table_of(vector)
    disorder = disorder_of(vector)
    supported = [view for view in views(vector) if language.has_functions or is_plain(view)]
    if not supported:
        raise UnsupportedError("functions over windows, which SQL does not have")
    for view in supported:
        expected = [expected_of(view, output) for output in vector["expected"]["outputs"]]

        def pipeline(read: DataFrame, view: Json = view) -> DataFrame:
            return results_of(view, read, disorder, language)

        for way, batches in rows.cuts(vector["id"]).items():
            results = run_stream(spark, pipeline, rows.schema, batches).results
            got = [got_of(view, row.asDict(recursive=True)) for row in results]
            if found := difference(f"results {way}", expected, got):
                return found
        # Only a stream has a last punctuation.
        if "final_cti" not in vector["policy"]:
            static = pipeline(spark.createDataFrame(rows.rows, rows.schema)).collect()
            got = [got_of(view, row.asDict(recursive=True)) for row in static]
            if found := difference("results of a static DataFrame", expected, got):
                return found
    return None


def views(vector: Json) -> Iterator[Json]:
    """The queries of a vector: one for Spark's aggregates, and one for functions of lifetimes."""
    aggregates = last_stage(vector).get("aggregates")
    if aggregates is None:
        yield vector
        return
    of_lifetimes = [each for each in aggregates if each["fn"] in OF_LIFETIMES]
    for chosen in (of_lifetimes, [each for each in aggregates if each not in of_lifetimes]):
        if len(chosen) == len(aggregates):
            yield vector
        elif chosen:
            names = [each["as"] for each in aggregates if each not in chosen]
            policy = vector["policy"] | {"aggregates": chosen}
            yield vector | {"policy": policy, "left_out": names}


def is_plain(view: Json) -> bool:
    """Whether a query needs no function over windows."""
    return all(each["fn"] not in OF_LIFETIMES for each in last_stage(view).get("aggregates", ()))


def stages_of(vector: Json) -> list[Json]:
    return vector.get("stages") or [vector["policy"] | {"windows": vector["windows"]}]


def last_stage(vector: Json) -> Json:
    return stages_of(vector)[-1]


def table_of(vector: Json) -> Table:
    """The rows of a vector.

    Those of StreamInsight have the end of their lifetime. A last punctuation is a row too.
    """
    policy, events = vector["policy"], []
    has_lifetimes = vector["system"] == "streaminsight"
    for event in vector["events"]:
        is_point = has_lifetimes and "end" not in event
        end = {"end": (instant(event["start"]) + TICK).isoformat()} if is_point else {}
        events.append(event | end)
    if "final_cti" in policy:
        events.append({"start": policy["final_cti"], "cti": True})
    return table(events, **({"end": "timestamp"} if has_lifetimes else {}))


def disorder_of(vector: Json) -> timedelta:
    """How far an event is behind the largest time before it, at most."""
    times = [instant(event[time_of(vector)]) for event in vector["events"]]
    return max(max(times[: place + 1]) - own for place, own in enumerate(times))


def time_of(vector: Json) -> str:
    return "event_time" if vector["system"] == "asa" else "start"


def results_of(
    vector: Json,
    rows: DataFrame,
    disorder: timedelta,
    language: Language,
    *,
    in_real_time: bool = False,
) -> DataFrame:
    """The results of a vector's query. No row is late.

    In Real-Time Mode the query does not drain, and points are rows without a lifetime.
    """
    time = time_of(vector)
    policy: transom.TimePolicy | str = transom.TimePolicy(
        time, out_of_order=transom.Accept(disorder)
    )
    if "final_cti" in vector["policy"]:
        policy = transom.TimePolicy(time, advance=transom.Punctuated("cti", at=time))
    are_points = in_real_time and not any("end" in event for event in vector["events"])
    lifetime: Any = "end" if vector["system"] == "streaminsight" and not are_points else None
    if "alter_duration_ms" in vector["policy"]:
        lifetime = transom.Lifetime(duration=milliseconds(vector["policy"], "alter_duration"))
    results, order = rows, [] if in_real_time else ["place"]
    for stage in stages_of(vector):
        stream = transom.stream(results, time=policy, lifetime=lifetime, order=order)
        keyed = stream.key_by(*stage.get("group_by", ()))
        results = stage_of(vector, stage, keyed, language, drains=not in_real_time)
        policy, lifetime = "window", None
        order = [] if in_real_time else ["window.end"]
    return results


def stage_of(
    vector: Json, stage: Json, stream: transom.Stream, language: Language, *, drains: bool
) -> DataFrame:
    """One stage of a query: its windows and its aggregates."""
    closed = "right" if vector["system"] == "asa" else "left"
    windows = stream.window(window_of(stage["windows"], closed=closed))
    if drains and "final_cti" not in stage:
        windows = windows.drain()
    if vector["system"] == "streaminsight":
        windows = windows.output_policy(POLICIES[output_policy_of(stage)])
    if top := stage.get("top_k"):
        return language.top(windows, top["k"], top["field"], descending=top["desc"])
    aggregates = stage["aggregates"]
    if any(each["fn"] in OF_LIFETIMES for each in aggregates):
        return windows.apply(function_of(aggregates), schema_of(aggregates))
    named = {each["as"]: aggregate(vector, each) for each in aggregates}
    results = language.agg(windows, **named)
    if having := stage.get("having"):
        results = results.where(f"`{having['field']}` {having['op']} {having['value']}")
    return results


def output_policy_of(stage: Json) -> str:
    """The output policy of a stage."""
    default = "Clip" if stage["windows"]["type"] == "snapshot" else "PointAlign"
    return str(stage.get("output_policy", f"{default}ToWindowEnd"))


def window_of(settings: Any, *, closed: Any) -> transom.Window:
    """The windows of a vector."""
    if isinstance(settings, list):
        named = [(one.get("id"), window_of(one, closed=closed)) for one in settings]
        if all(name is None for name, _ in named):
            return transom.Windows([window for _, window in named])
        return transom.Windows({str(name): window for name, window in named})
    period = "hop" if settings["type"] == "hopping" else "size"
    offset = timedelta()
    if "alignment" in settings:
        aligned = instant(settings["alignment"]) - instant("1970-01-01")
        offset = aligned % milliseconds(settings, period)
    elif "offset_ms" in settings:
        offset = milliseconds(settings, "offset")
    match settings["type"]:
        case "snapshot":
            return transom.Snapshot(closed=closed)
        case "sliding":
            return transom.Rolling(milliseconds(settings, "size"))
        case "count":
            return transom.CountByStart(settings["n"])
        case "tumbling":
            size = milliseconds(settings, "size")
            return transom.Tumbling(size, offset=offset, closed=closed)
        case "hopping":
            size, hop = milliseconds(settings, "size"), milliseconds(settings, "hop")
            return transom.Hopping(size, hop, offset=offset, closed=closed)
        case "session":
            return transom.Session(
                milliseconds(settings, "timeout"),
                closed=closed,
                max_duration=milliseconds(settings, "max_duration"),
                max_check=MAX_CHECKS[settings.get("max_duration_check", "ge")],
            )
    raise ValueError(f"the type of windows is {settings['type']}")


def aggregate(vector: Json, setting: Json) -> str:
    """An aggregate of a vector, in SQL."""
    if setting["fn"] == "count":
        return "count(*)"
    field = quoted(setting["field"])
    if setting["fn"] == "top_one":
        payload = ", ".join(map(quoted, vector["events"][0]["payload"]))
        return f"max_by(struct({payload}), {field})"
    found = AGGREGATES[setting["fn"]].format(field)
    # StreamInsight's sum of nulls is 0.
    is_zero = setting["fn"] == "sum" and vector["system"] == "streaminsight"
    return f"coalesce({found}, 0)" if is_zero else found


def schema_of(aggregates: list[Json]) -> str:
    """The schema of the results of `function_of`."""
    types = {"clipped": "array<struct<id string, start timestamp, end timestamp>>", "twa": "double"}
    return ", ".join(f"`{each['as']}` {types[each['fn']]}" for each in aggregates)


def function_of(aggregates: list[Json]) -> Callable[[pa.Table, transom.Context], pa.Table]:
    """A function that computes aggregates of the rows' lifetimes in a window."""

    def function(rows: pa.Table, context: transom.Context) -> pa.Table:
        found = rows.to_pylist()
        values: Json = {}
        for each in aggregates:
            if each["fn"] == "clipped":
                values[each["as"]] = [{"id": row["id"], **row["lifetime"]} for row in found]
            else:
                weighted = [
                    row[each["field"]] * (row["lifetime"]["end"] - row["lifetime"]["start"])
                    for row in found
                ]
                assert context.window is not None
                start, end = context.window
                values[each["as"]] = sum(weighted, timedelta()) / (end - start)
        return pa.Table.from_pylist([values])

    return function


def fields_of(vector: Json) -> set[str]:
    """The fields of a vector's results that its query computes."""
    fields = {name for output in vector["expected"]["outputs"] for name in output} - {"why"}
    return fields - set(vector.get("left_out", ()))


def expected_of(vector: Json, output: Json) -> Json:
    """A result as the vector has it. Points and count windows last our tick."""
    found = {name: normal(value) for name, value in output.items() if name in fields_of(vector)}
    for name in {"window_start", "window_end", "start", "end"} & {*found}:
        found[name] = instant(output[name])
    if kind_of(vector) == "count":
        found["window_end"] += OUR_TICK - TICK
    if "start" in found and found["end"] - found["start"] == TICK:
        found["end"] += OUR_TICK - TICK
    return found


def got_of(vector: Json, row: Json) -> Json:
    """A result of the query, in the same form."""
    bounds = row["window"]
    values = row | {"window_start": bounds["start"], "window_end": bounds["end"]}
    if vector["system"] == "asa" and kind_of(vector) == "snapshot":
        # Azure's snapshot is an instant. Ours starts a tick earlier.
        values["window_start"] += OUR_TICK
    if "lifetime" in row:
        values |= row["lifetime"]
    return {name: normal(values[name]) for name in fields_of(vector)}


def kind_of(vector: Json) -> str | None:
    windows = last_stage(vector)["windows"]
    return None if isinstance(windows, list) else windows["type"]


def normal(value: Any) -> Any:
    """A value without what does not matter: the type of a number, and the order of a list."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return int(value) if value == int(value) else float(f"{value:.12g}")
    if isinstance(value, dict):
        return {name: normal(field) for name, field in columns(value).items()}
    if isinstance(value, list):
        return sorted((normal(item) for item in value), key=repr)
    return value
