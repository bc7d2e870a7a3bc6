"""Columns whose names need quotes, are long, or resemble ours, in every part of a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import run_stream
from tests.python.conditions import raises

START = datetime(2024, 1, 1)
ROLES = ("key", "time", "order", "arrival", "partition", "over", "value")
TYPES = ("string", "timestamp", "int", "timestamp", "string", "string", "int")
NAMES = [
    "back`tick",
    "quo\"te and 'quote'",
    "do.t",
    "x" * 200,
    "ключ 🔑 \u0301",
    " ",
    "transom_time",
    "window.start",
    "tag",
    "row",
    "group",
    "results",
    "line\nbreak, comma; {brace} \\",
    "watermark",
    "window_gone",
    "time",
]
Named = dict[str, str]
Rows = list[tuple[Any, ...]]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def data(*, late: bool = False) -> Rows:
    """Rows in the order of `ROLES`. The last one may be two minutes behind the others."""
    rows: Rows = []
    for n in range(12):
        time = START + timedelta(seconds=10 * n)
        rows.append((f"k{n % 2}", time, n, time, f"p{n % 2}", f"s{n % 2}", 2**n))
    if late:
        rows.append(("k0", START, 12, START + timedelta(seconds=120), "p0", "s0", 2**12))
    return rows


def frame(spark: SparkSession, named: Named, rows: Rows) -> DataFrame:
    plain = spark.createDataFrame(rows, [*ROLES])
    columns = [
        F.col(role).cast(kind).alias(named[role]) for role, kind in zip(ROLES, TYPES, strict=True)
    ]
    return plain.select(*columns)


def stream(rows: DataFrame, named: Named) -> transom.Stream:
    time: Any = quoted(named["time"])
    if rows.isStreaming:
        time = transom.EventTime(time, delay="0 seconds")
    return transom.stream(rows, time=time, order=[quoted(named["order"])]).key_by(
        quoted(named["key"])
    )


def total(named: Named) -> Column:
    return F.sum(quoted(named["value"])).alias("total")


def aggregated(windowed: transom.Windowed, named: Named) -> DataFrame:
    return windowed.agg(total(named), F.last(quoted(named["order"])).alias(named["value"]))


def applied(windowed: transom.Windowed, named: Named) -> DataFrame:
    name, order = named["value"], named["order"]

    def summed(rows: pa.Table) -> pa.Table:
        return pa.table({"total": [sum(rows[name].to_pylist())], "o": [rows[order][-1].as_py()]})

    return windowed.apply(summed, "total long, o int")


def ranked(windowed: transom.Windowed, named: Named) -> DataFrame:
    return windowed.top(1, F.desc(quoted(named["value"])))


PROGRAMS: dict[str, Callable[[transom.Windowed, Named], DataFrame]] = {
    "agg": aggregated,
    "apply": applied,
    "top": ranked,
}
MINUTE = transom.Tumbling("1 minute")


def rotations() -> list[Named]:
    """Each name in each role."""
    names = len(NAMES)
    return [
        {role: NAMES[(first + 2 * n) % names] for n, role in enumerate(ROLES)}
        for first in range(names)
    ]


PLAIN = {role: role for role in ROLES}
# Each pair differs only in upper and lower case. `top` returns the value beside its twin, the key.
TWINS = dict(zip(ROLES, ("a", "b", "B", "c", "C", "d", "A"), strict=True))


@pytest.fixture
def _case_sensitive(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def shown(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_name_of_a_column_changes_a_static_result(spark: SparkSession, program: str) -> None:
    def run(named: Named) -> tuple[list[str], Counter[tuple[Any, ...]]]:
        rows = frame(spark, named, data()).coalesce(1)
        windowed = stream(rows, named).window(MINUTE)
        found = PROGRAMS[program](windowed, named)
        return found.columns, shown(found.collect())

    _, expected = run(PLAIN)
    assert expected.total() == 4
    # Without TRANSOM_LONG, the programs share the names out.
    part = slice(None) if LONG else slice([*PROGRAMS].index(program), None, len(PROGRAMS))
    for named in rotations()[part]:
        columns, found = run(named)
        assert found == expected, named
        assert columns[0] == named["key"]


def test_no_name_of_a_column_changes_a_scan(spark: SparkSession) -> None:
    def run(named: Named) -> Counter[tuple[Any, ...]]:
        name = named["value"]

        def summed(rows: pa.Table) -> pa.Table:
            return pa.table({"total": [sum(rows[name].to_pylist())]})

        rows = frame(spark, named, data()).coalesce(1)
        return shown(stream(rows, named).scan(summed, "total long").collect())

    expected = run(PLAIN)
    for named in rotations()[:: 1 if LONG else 4]:
        assert run(named) == expected, named


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_name_of_a_column_changes_a_stream(spark: SparkSession, program: str) -> None:
    def run(named: Named) -> dict[str, Counter[tuple[Any, ...]]]:
        def pipeline(rows: DataFrame) -> DataFrame:
            renamed = rows.select(
                *[F.col(role).alias(named[role]) for role in ROLES],
                F.lit(None).cast("string").alias("other"),
            )
            windowed = stream(renamed, named).window(MINUTE)
            windowed = windowed.with_late_rows().with_dead_letters()
            return PROGRAMS[program](windowed, named)

        sides = {tag: Kept() for tag in ("results", "late", "dead_letters")}
        schema = ", ".join(f"{role} {kind}" for role, kind in zip(ROLES, TYPES, strict=True))
        dead = ("k0", None, 13, START, "p0", "s0", 1)
        # Late rows are found with the watermark of the batch before.
        batches = [data()[:6], data()[6:], data()[-1:], [data(late=True)[-1], dead]]
        run_stream(spark, pipeline, schema, batches, writer=transom.route(**sides))
        assert sides["late"].rows
        assert list(sides["late"].rows[0]["row"].asDict())[: len(ROLES)] == [*named.values()]
        return {
            tag: shown(
                kept.rows
                if tag == "results"
                else [(*row["row"], row["reason"]) for row in kept.rows]
            )
            for tag, kept in sides.items()
        }

    expected = run(PLAIN)
    assert all(found.total() for found in expected.values())
    named = rotations()
    for each in named if LONG else [named[len(program)]]:
        assert run(each) == expected, each


def policy_over(named: Named, part: str) -> transom.TimePolicy:
    """A policy whose watermarks are those of the column with the role `part`."""
    parts: Any = {"partition": quoted(named["partition"])}
    if part == "over":
        parts = {"over": [quoted(named["over"])]}
    return transom.TimePolicy(
        quoted(named["time"]),
        arrival=quoted(named["arrival"]),
        late=transom.Adjust("30 seconds"),
        **parts,
    )


def judged(rows: DataFrame, named: Named, part: str) -> DataFrame:
    policy = policy_over(named, part)
    # The rows with an odd number come a minute later, which the policy adjusts.
    arrived = quoted(named["arrival"])
    later = F.col(arrived) + F.make_dt_interval(mins=F.col(quoted(named["order"])) % 2)
    delayed = rows.select(
        *[later.alias(named[r]) if r == "arrival" else quoted(named[r]) for r in ROLES]
    )
    timed = transom.stream(delayed, time=policy, order=[quoted(named["order"])])
    keys = [quoted(named["key"]), *([quoted(named["over"])] if part == "over" else [])]
    windowed = timed.key_by(*keys).window(MINUTE)
    return windowed.with_late_rows().with_dead_letters().agg(total(named))


@pytest.mark.parametrize("part", ["partition", "over"])
def test_no_name_of_a_column_changes_a_policy(spark: SparkSession, part: str) -> None:
    def run(named: Named) -> Counter[str]:
        rows = judged(frame(spark, named, data()).coalesce(1), named, part)
        stamps = transom.stream(
            frame(spark, named, data()), time=policy_over(named, part), order=quoted(named["order"])
        ).stamped()
        assert stamps.columns == [*named.values(), "stamp"]
        results = [row["results"] or () for row in rows.collect()]
        return Counter(repr(tuple(row)) for row in [*results, *stamps.collect()])

    expected = run(PLAIN)
    assert expected.total() > 12
    for named in rotations() if LONG else rotations()[:2]:
        assert run(named) == expected, named


@pytest.mark.usefixtures("_case_sensitive")
@pytest.mark.parametrize("program", PROGRAMS)
def test_names_that_differ_in_case_are_columns_of_their_own(
    spark: SparkSession, program: str
) -> None:
    def run(named: Named) -> Counter[tuple[Any, ...]]:
        rows = frame(spark, named, data()).coalesce(1)
        found = PROGRAMS[program](stream(rows, named).window(MINUTE), named)
        if program == "top":
            others = [named[role] for role in ROLES[1:]]
            assert found.columns == [named["key"], "window", *others, "rank"]
        return shown(found.collect())

    expected = run(PLAIN)
    assert expected.total() == 4
    assert run(TWINS) == expected


@pytest.mark.usefixtures("_case_sensitive")
def test_keys_and_results_may_differ_in_case(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [("x", "y", 1, 2), ("x", "z", 3, 4)], "k string, K string, v int, V int"
    )
    whole = transom.stream(df).key_by("k", "K").window(transom.Global())
    windowed = whole.trigger(transom.EndOfStream())
    summed = windowed.agg(F.sum("v").alias("v"), F.sum("V").alias("V"))
    assert summed.columns == ["k", "K", "window", "v", "V"]
    assert shown(summed.collect()) == shown([("x", "y", None, 1, 2), ("x", "z", None, 3, 4)])
    with raises("DUPLICATE_NAME", "aggregates"):
        windowed.agg(F.sum("v").alias("k"))

    def counted(rows: pa.Table) -> pa.Table:
        return pa.table({"v": [rows.num_rows]})

    assert shown(windowed.apply(counted, "v int").collect()) == shown(
        [("x", "y", None, 1), ("x", "z", None, 1)]
    )


@pytest.mark.usefixtures("_case_sensitive")
def test_names_that_differ_in_case_in_a_policy(spark: SparkSession) -> None:
    def run(named: Named, part: str) -> Counter[tuple[Any, ...]]:
        rows = judged(frame(spark, named, data()).coalesce(1), named, part)
        return shown(row["results"] or () for row in rows.collect())

    for part in ("partition", "over"):
        assert run(TWINS, part) == run(PLAIN, part)


def test_names_that_differ_in_case_are_one_column_by_default(spark: SparkSession) -> None:
    df = spark.createDataFrame([("x", 1)], "k string, v int")
    whole = transom.stream(df).key_by("K").window(transom.Global())
    windowed = whole.trigger(transom.EndOfStream())
    assert windowed.top(1, "V").columns == ["K", "window", "v", "rank"]
    with raises("DUPLICATE_NAME", "aggregates"):
        windowed.agg(F.sum("v").alias("k"))
