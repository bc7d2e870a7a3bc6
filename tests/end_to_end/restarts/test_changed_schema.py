"""The columns of the source change between runs. Stored rows are read by name, or refused.

The model below follows the rules of ``docs/operations/changes.md``: a new column is null in
stored rows, a removed column is dropped, the order of columns does not matter, and a value is
cast if the cast is safe. A run with any other change is refused, and the error names the column.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

import transom
from tests.end_to_end.models.streams import LONG

Values = dict[str, Any]
Pipeline = Callable[[DataFrame], DataFrame]

START = datetime(2024, 1, 1)
INT, BIGINT, DOUBLE, STRING = IntegerType(), LongType(), DoubleType(), StringType()


# The source: a folder of JSON files, each a batch.


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def write(folder: Path, rows: Sequence[Values]) -> None:
    """Add a file with rows. Spark reads files by their time."""
    (folder / "input").mkdir(parents=True, exist_ok=True)
    number = len(list((folder / "input").iterdir()))
    file = folder / "input" / f"{number:04}.json"
    text = "".join(json.dumps(row, default=str) + "\n" for row in rows)
    hidden = folder / "writing"
    hidden.write_text(text)
    os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
    hidden.rename(file)


def run(
    spark: SparkSession,
    folder: Path,
    pipeline: Pipeline,
    schema: StructType,
    *batches: Sequence[Values],
    fails: bool = False,
) -> list[Row]:
    """Run a query over some more batches. Returns its results.

    With ``fails`` the first batch of the run fails in its sink, after its state is written.
    """
    for rows in batches:
        write(folder, rows)
    found = folder / f"found-{time.monotonic_ns()}"
    found.mkdir()

    def collect(rows: DataFrame, batch_id: int) -> None:
        collected = rows.collect()
        if fails:
            raise ArithmeticError("the sink fails")
        (found / str(batch_id)).write_bytes(pickle.dumps(collected))

    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    query = (
        pipeline(source.json(str(folder / "input")))
        .writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return [row for file in found.iterdir() for row in pickle.loads(file.read_bytes())]


def refused(column: str, before: str, after: str) -> Any:
    """Expect a run to be refused because of a column."""
    text = rf"TRANSOM_SPEC_CHANGED\] .* has column {column} = {after}, but .* = {before}\. "
    return pytest.raises(StreamingQueryException, match=text)


# The queries. Each window holds its rows until the last batch, which is at `FLUSH`.

FLUSH = START + timedelta(hours=9)
HOUR = transom.Tumbling("1 hour")
FIXED = struct(k=STRING, at=TimestampType(), v=INT, n=INT)


def clock() -> transom.EventTime:
    return transom.EventTime("at", delay="1 hour")


def stream(rows: DataFrame, **settings: Any) -> Any:
    return transom.stream(rows, **{"time": clock(), **settings}).key_by("k")


def listed(values: Sequence[Values]) -> str:
    return json.dumps(sorted(values, key=lambda row: row["n"]), default=str, sort_keys=True)


def listing(rows: pa.Table) -> pa.Table:
    values = rows.to_pylist()
    for row in values:
        row.pop("lifetime", None)
        row["at"] = row["at"].strftime("%H:%M")
    return pa.table({"n": pa.array([len(values)], pa.int32()), "rows": [listed(values)]})


RESULT = "n int, rows string"


def applied(windowed: Any) -> DataFrame:
    result: DataFrame = windowed.apply(listing, RESULT)
    return result


def in_pandas(rows: Any) -> Any:
    import pandas as pd

    names = ",".join(sorted(rows.columns))
    return pd.DataFrame({"n": [len(rows)], "rows": [f"{names}: {sum(rows['v'])}"]})


def policy(**settings: Any) -> transom.TimePolicy:
    return transom.TimePolicy(
        "at",
        arrival=F.timestamp_seconds("n"),
        out_of_order=transom.Accept("1 hour"),
        **settings,
    )


def aggregated(windowed: Any) -> DataFrame:
    result: DataFrame = windowed.agg(F.count("*").cast("int").alias("n"), F.sum("v").alias("rows"))
    return result


def first_rows(windowed: Any) -> DataFrame:
    """The rows of `top`, as a list like that of `listing`."""
    result: DataFrame = windowed.top(2, F.desc("v"), F.desc("n"))
    return result


def chained(rows: DataFrame) -> DataFrame:
    first = applied(stream(rows).window(HOUR))
    second = transom.stream(first, time="window").key_by("k").window(transom.Tumbling("2 hours"))
    result: DataFrame = second.agg(F.sum("n").cast("int").alias("n"), F.max("rows").alias("rows"))
    return result


@dataclass(frozen=True)
class Query:
    """A query, and what it makes of the rows of a window.

    Attributes
    ----------
    pipeline : callable
        The query.
    model : callable
        Maps the rows of a key to ``n`` and ``rows`` of its result.
    stores_rows : bool
        Whether the state has all columns of the rows.
    """

    pipeline: Pipeline
    model: Callable[[list[Values]], tuple[int, Any]]
    stores_rows: bool = True


def all_rows(rows: list[Values]) -> tuple[int, Any]:
    return len(rows), listed(rows)


def sums(rows: list[Values]) -> tuple[int, Any]:
    return len(rows), sum(row["v"] for row in rows)


def names_and_sum(rows: list[Values]) -> tuple[int, Any]:
    return len(rows), f"{','.join(sorted(rows[0]))}: {sum(row['v'] for row in rows)}"


def last_two(rows: list[Values]) -> tuple[int, Any]:
    return all_rows(sorted(rows, key=lambda row: row["n"])[-2:])


def best_two(rows: list[Values]) -> tuple[int, Any]:
    return all_rows(sorted(rows, key=lambda row: (row["v"], row["n"]))[-2:])


QUERIES = {
    "slices": Query(lambda r: aggregated(stream(r).window(HOUR)), sums, stores_rows=False),
    "keyed": Query(
        lambda r: aggregated(stream(r).window(HOUR).options(layout="keyed")),
        sums,
        stores_rows=False,
    ),
    "apply": Query(lambda r: applied(stream(r).window(HOUR)), all_rows),
    "pandas": Query(
        lambda r: stream(r).window(HOUR).apply(in_pandas, RESULT, form="pandas"), names_and_sum
    ),
    "scan": Query(lambda r: stream(r).scan(listing, RESULT), all_rows),
    "top": Query(lambda r: first_rows(stream(r).window(HOUR)), best_two),
    "keyed top": Query(
        lambda r: first_rows(stream(r, order="n").window(HOUR).options(layout="keyed")), best_two
    ),
    "evicted top": Query(
        lambda r: first_rows(stream(r, order="n").window(HOUR).evictor(transom.KeepLast(2))),
        last_two,
    ),
    "evictor": Query(
        lambda r: applied(stream(r, order="n").window(HOUR).evictor(transom.KeepLast(2))), last_two
    ),
    "late rows": Query(lambda r: applied(stream(r).window(HOUR).with_late_rows()), all_rows),
    "lifetimes": Query(
        lambda r: applied(stream(r, lifetime=transom.Lifetime(duration="1 second")).window(HOUR)),
        all_rows,
    ),
    "policy": Query(lambda r: applied(stream(r, time=policy(), order="n").window(HOUR)), all_rows),
    "substreams": Query(
        lambda r: applied(stream(r, time=policy(over="k"), order="n").window(HOUR)), all_rows
    ),
    "sessions": Query(lambda r: applied(stream(r).window(transom.Session("2 hours"))), all_rows),
    "limited sessions": Query(
        lambda r: applied(stream(r).window(transom.Session("2 hours", max_duration="5 hours"))),
        all_rows,
    ),
    "windows": Query(
        lambda r: applied(
            stream(r).window(transom.Windows({"hour": HOUR, "day": transom.Tumbling("2 hours")}))
        ),
        all_rows,
    ),
    "chain": Query(chained, all_rows),
}


def results_of(rows: Sequence[Row], schema: StructType) -> dict[str, tuple[int, Any]]:
    """The result of each key, except those of the last batch."""
    results = [row["results"] if "tag" in row else row for row in rows]
    found: dict[str, tuple[int, Any]] = {}
    tops: dict[str, list[Values]] = {}
    for row in results:
        if row["k"] == "flush":
            continue
        if "rank" in row:
            values = row.asDict(recursive=True)
            tops.setdefault(row["k"], []).append(plain(values, schema))
        else:
            found[row["k"]] = (row["n"], row["rows"])
    return {**found, **{key: all_rows(values) for key, values in tops.items()}}


# The model of the rules.

SAFE: dict[tuple[DataType, DataType], Callable[[Any], Any]] = {
    (INT, BIGINT): int,
    (INT, DOUBLE): float,
    (BIGINT, DOUBLE): float,
    (INT, STRING): str,
    (BIGINT, STRING): str,
    (DOUBLE, STRING): str,
}


def problem(before: DataType, after: DataType, path: str) -> str | None:
    """The first value that cannot be read; None if there is none."""
    if before == after or (before, after) in SAFE:
        return None
    if isinstance(before, StructType) and isinstance(after, StructType):
        dot = f"{path}." if path else ""
        return next(
            filter(
                None,
                (
                    problem(before[column.name].dataType, column.dataType, dot + column.name)
                    for column in after
                    if column.name in before.names
                ),
            ),
            None,
        )
    if isinstance(before, ArrayType) and isinstance(after, ArrayType):
        return problem(before.elementType, after.elementType, f"{path}.element")
    if isinstance(before, MapType) and isinstance(after, MapType):
        return problem(before.valueType, after.valueType, f"{path}.value")
    return path


def converted(value: Any, before: DataType, after: DataType) -> Any:
    """A value of a stored row in a run with another schema."""
    if value is None:
        return None
    if (before, after) in SAFE:
        return SAFE[before, after](value)
    if isinstance(after, StructType):
        assert isinstance(before, StructType)
        return {
            column.name: converted(
                value.get(column.name), before[column.name].dataType, column.dataType
            )
            if column.name in before.names
            else None
            for column in after
        }
    if isinstance(after, ArrayType):
        assert isinstance(before, ArrayType)
        return [converted(each, before.elementType, after.elementType) for each in value]
    if isinstance(after, MapType):
        assert isinstance(before, MapType)
        return {
            key: converted(each, before.valueType, after.valueType) for key, each in value.items()
        }
    return value


def plain(value: Any, kind: DataType) -> Any:
    """A value as Arrow returns it: maps are lists of pairs, here in the order of their keys."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        return {column.name: plain(value[column.name], column.dataType) for column in kind}
    if isinstance(kind, ArrayType):
        return [plain(each, kind.elementType) for each in value]
    if isinstance(kind, MapType):
        return [(key, plain(each, kind.valueType)) for key, each in sorted(value.items())]
    return value.strftime("%H:%M") if isinstance(value, datetime) else value


# Generated schemas, edits and rows.

ATOMS = [INT, BIGINT, DOUBLE, STRING]


def a_type(random: random.Random, depth: int = 2) -> DataType:
    kind = random.choice(["atom", "atom", "struct", "array", "map"] if depth else ["atom"])
    if kind == "struct":
        names = random.sample("xyz", random.randint(1, 3))
        return StructType([StructField(name, a_type(random, depth - 1)) for name in names])
    if kind == "array":
        return ArrayType(a_type(random, depth - 1))
    if kind == "map":
        return MapType(STRING, a_type(random, 0))
    return random.choice(ATOMS)


def edited(random: random.Random, kind: DataType, *, safe: bool) -> DataType:
    """Another type: one that stored values can be cast to, or any type."""
    if isinstance(kind, StructType):
        return StructType(edits(random, list(kind), "xyz", safe=safe) or [StructField("x", INT)])
    if isinstance(kind, ArrayType):
        return ArrayType(edited(random, kind.elementType, safe=safe))
    if isinstance(kind, MapType):
        return MapType(STRING, edited(random, kind.valueType, safe=safe))
    if not safe:
        return random.choice([*(atom for atom in ATOMS if atom != kind), struct(x=INT)])
    return random.choice([kind, *(after for before, after in SAFE if before == kind)])


def edits(
    random: random.Random, columns: list[StructField], names: str, *, safe: bool
) -> list[StructField]:
    """Add, remove, move and retype some columns."""
    columns = list(columns)
    for edit in random.sample(["add", "remove", "move", "retype"], random.randint(1, 3)):
        if edit == "add":
            free = [name for name in names if name not in {column.name for column in columns}]
            if free:
                column = StructField(random.choice(free), a_type(random, 1))
                columns.insert(random.randint(0, len(columns)), column)
        elif not columns:
            continue
        elif edit == "remove":
            columns.pop(random.randrange(len(columns)))
        elif edit == "move":
            random.shuffle(columns)
        else:
            i = random.randrange(len(columns))
            columns[i] = StructField(
                columns[i].name, edited(random, columns[i].dataType, safe=safe)
            )
    return columns


def mixed(random: random.Random, extra: list[StructField]) -> StructType:
    """The columns of the query among others, in any order."""
    columns = [*FIXED, *extra]
    random.shuffle(columns)
    return StructType(columns)


def a_value(random: random.Random, kind: DataType) -> Any:
    if random.random() < 0.2:
        return None
    if isinstance(kind, StructType):
        return {column.name: a_value(random, column.dataType) for column in kind}
    if isinstance(kind, ArrayType):
        return [a_value(random, kind.elementType) for _ in range(random.randint(0, 3))]
    if isinstance(kind, MapType):
        return {f"m{i}": a_value(random, kind.valueType) for i in range(random.randint(0, 2))}
    if kind == STRING:
        return random.choice(["", "é", "a text that is longer than a word of eight bytes"])
    if kind == DOUBLE:
        return random.randint(-40, 40) / 4
    return random.randint(-(2**40) if kind == BIGINT else -(2**31), 2**31 - 1)


@dataclass
class Story:
    """The runs of a query, with the schema and the rows of each."""

    runs: list[tuple[StructType, list[Values]]] = field(default_factory=list)


def a_story(random: random.Random) -> Story:
    story = Story()
    extra = [
        StructField(name, a_type(random)) for name in random.sample("abcdef", random.randint(1, 4))
    ]
    numbers: Iterator[int] = iter(range(1000))
    for i in range(random.choice([2, 2, 3])):
        if i:
            extra = edits(random, extra, "abcdef", safe=random.random() < 0.75)
        schema = mixed(random, extra)
        rows = []
        # A key may have no rows in a run. Its bytes then stay as they are.
        for key in random.sample(["p", "q", "r"], random.randint(1, 3)):
            for _ in range(random.randint(1, 3)):
                n = next(numbers)
                fixed = {"k": key, "at": START + timedelta(minutes=5), "v": n * 7 % 11, "n": n}
                rows.append(
                    {
                        c.name: fixed[c.name] if c.name in fixed else a_value(random, c.dataType)
                        for c in schema
                    }
                )
        story.runs.append((schema, rows))
    return story


PAIRS = 340 if LONG else 6


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(PAIRS))
def test_stored_rows_are_read_by_name_or_the_run_is_refused(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    names = list(QUERIES)
    query = QUERIES[names[seed % len(names)]]
    # Python's own generator, so that a seed has the same story everywhere.
    story = a_story(random.Random(seed))
    flush = {"k": "flush", "at": FLUSH, "v": 0, "n": 1000}
    stored: list[tuple[StructType, list[Values]]] = []
    for i, (schema, rows) in enumerate(story.runs):
        is_last = i == len(story.runs) - 1
        batches = [rows, [flush], [{**flush, "at": FLUSH + timedelta(hours=9)}]]
        problems = [problem(before, schema, "") for before, _ in stored]
        column = next(filter(None, problems), None) if query.stores_rows else None
        if column is not None:
            with pytest.raises(StreamingQueryException, match="TRANSOM_SPEC_CHANGED") as caught:
                run(spark, tmp_path, query.pipeline, schema, rows)
            assert f" column {column.split('.')[0]}" in str(caught.value)
            return
        found = run(spark, tmp_path, query.pipeline, schema, *(batches if is_last else [rows]))
        stored.append((schema, rows))
        if not is_last:
            assert found == []
    latest = story.runs[-1][0]
    by_key: dict[str, list[Values]] = {}
    for schema, rows in stored:
        for row in rows:
            value = plain(converted(row, schema, latest), latest)
            by_key.setdefault(row["k"], []).append(value)
    expected = {key: query.model(rows) for key, rows in by_key.items()}
    assert results_of(found, latest) == expected


# Worked examples.


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 {text}")


BEFORE = struct(k=STRING, at=TimestampType(), v=INT)
UNITS = {
    "in the middle": struct(k=STRING, at=TimestampType(), unit=STRING, v=INT),
    "in front of the time": struct(k=STRING, unit=STRING, at=TimestampType(), v=INT),
}
FIRST = {"k": "a", "at": at("05:10"), "v": 1}
SECOND = {"k": "a", "at": at("05:20"), "unit": "C", "v": 2}
LAST = {"k": "b", "at": at("07:00"), "unit": "C", "v": 9}


def ten_minutes(rows: DataFrame) -> Any:
    time = transom.EventTime("at", delay="10 minutes")
    return transom.stream(rows, time=time).key_by("k").window(HOUR)


def total_and_units(rows: pa.Table) -> pa.Table:
    total = sum(rows["v"].to_pylist())
    units = rows["unit"].to_pylist() if "unit" in rows.column_names else ["no column"]
    shown = ", ".join(sorted(map(str, units)))
    columns = {"n": [rows.num_rows], "total": [total], "units": [shown]}
    return pa.table({**columns, "n": pa.array([rows.num_rows], pa.int32())})


def with_units(windowed: Any) -> DataFrame:
    result: DataFrame = windowed.apply(total_and_units, "n int, total long, units string")
    return result


EXAMPLES: dict[str, Pipeline] = {
    "apply": lambda rows: with_units(ten_minutes(rows)),
    "evictor": lambda rows: with_units(ten_minutes(rows).evictor(transom.KeepLast(5))),
    "late rows": lambda rows: with_units(ten_minutes(rows).with_late_rows()),
    "slices": lambda rows: ten_minutes(rows).agg(F.sum("v").alias("total")),
    "keyed": lambda rows: ten_minutes(rows).options(layout="keyed").agg(total=F.sum("v")),
    "top": lambda rows: ten_minutes(rows).top(1, F.desc("v")),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("example", "place"),
    [
        (name, place)
        for name in EXAMPLES
        for place in UNITS
        if LONG or (name == "apply") == ("front" in place)
    ],
)
def test_a_source_gets_a_column_between_two_runs_and_loses_it_again(
    spark: SparkSession, tmp_path: Path, example: str, place: str
) -> None:
    pipeline = EXAMPLES[example]

    def values(rows: list[Row]) -> list[tuple[Any, ...]]:
        plain = [row["results"] if "tag" in row else row for row in rows]
        columns = ["k", "n", "total", "units", "v", "unit"]
        return [tuple(row[name] for name in columns if name in row) for row in plain]

    assert run(spark, tmp_path, pipeline, BEFORE, [FIRST]) == []
    found = run(spark, tmp_path, pipeline, UNITS[place], [SECOND], [LAST])
    if example == "top":
        assert values(found) == [("a", 2, "C")]
    elif example in ("slices", "keyed"):
        assert values(found) == [("a", 3)]
    else:
        assert values(found) == [("a", 2, 3, "C, None")]
    found = run(spark, tmp_path, pipeline, BEFORE, [{"k": "c", "at": at("09:00"), "v": 4}])
    if example in ("top", "slices", "keyed"):
        assert values(found) == [("b", 9)]
    else:
        assert values(found) == [("b", 1, 9, "no column")]


def with_unit(kind: DataType) -> StructType:
    return StructType([*BEFORE, StructField("unit", kind)])


APPLY = EXAMPLES["apply"]


def row(key: str, time: str, v: int, unit: object = None) -> Values:
    return {"k": key, "at": at(time), "v": v, "unit": unit}


def test_a_column_that_comes_back_with_another_type_is_refused_while_old_rows_remain(
    spark: SparkSession, tmp_path: Path
) -> None:
    text, number = with_unit(STRING), with_unit(INT)
    assert run(spark, tmp_path, APPLY, text, [row("a", "05:10", 1, "C")]) == []
    assert run(spark, tmp_path, APPLY, BEFORE, [row("b", "05:10", 1)]) == []
    with refused("unit", "STRING", "INT"):
        run(spark, tmp_path, APPLY, number, [row("c", "05:10", 1, 5)])
    found = run(spark, tmp_path, APPLY, text, [row("c", "09:00", 1, "F")])
    shown = [(r["k"], r["units"]) for r in found]
    # The text of the refused batch is "5".
    assert sorted(shown) == [("a", "C"), ("b", "None"), ("c", "5")]


def schemas_in(folder: Path) -> list[tuple[int, list[str]]]:
    """The schemas in the checkpoint: the first batch of each, and the columns of its rows."""
    stored = json.loads((folder / "checkpoint" / "transom" / "window.json").read_text())
    found = []
    for each in stored["state"]:
        (rows,) = (part["type"] for part in each["schema"]["fields"] if part["name"] == "rows")
        names = [column["name"] for column in rows["fields"]]
        own = [name for name in names if not name.startswith("__transom")]
        found.append((each["since_batch"], own))
    return found


def test_a_run_that_commits_no_batch_with_its_schema_restricts_no_later_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert run(spark, tmp_path, APPLY, BEFORE, [FIRST]) == []
    started = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        run(spark, tmp_path, APPLY, with_unit(INT), [row("a", "05:20", 2)], fails=True)
    names = ["k", "at", "v"]
    assert schemas_in(tmp_path) == [(0, names), (started, [*names, "unit"])]
    found = run(spark, tmp_path, APPLY, with_unit(STRING), [row("b", "09:00", 1, "C")])
    assert [(r["k"], r["total"], r["units"]) for r in found] == [("a", 3, "None, None")]
    assert schemas_in(tmp_path) == [(0, names), (started, [*names, "unit"])]


def test_a_schema_that_failed_in_the_first_batch_may_be_corrected(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        run(spark, tmp_path, APPLY, with_unit(INT), [row("a", "05:10", 1)], fails=True)
    found = run(spark, tmp_path, APPLY, with_unit(STRING), [row("b", "09:00", 1, "C")])
    assert [(r["k"], r["total"], r["units"]) for r in found] == [("a", 1, "None")]


def test_a_copy_of_the_checkpoint_continues_with_the_schemas_that_it_has(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert run(spark, tmp_path, APPLY, BEFORE, [FIRST]) == []
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    assert run(spark, tmp_path, APPLY, with_unit(INT), [row("a", "05:20", 2)]) == []
    shutil.rmtree(tmp_path / "checkpoint")
    (tmp_path / "copy").rename(tmp_path / "checkpoint")
    found = run(spark, tmp_path, APPLY, with_unit(STRING), [row("b", "09:00", 1, "C")])
    assert [(r["k"], r["total"], r["units"]) for r in found] == [("a", 3, "None, None")]


def test_a_new_column_must_be_nullable_because_stored_rows_have_no_value(
    spark: SparkSession, tmp_path: Path
) -> None:
    def constant(rows: DataFrame) -> DataFrame:
        return APPLY(rows.withColumn("unit", F.lit("C")))

    def nullable(rows: DataFrame) -> DataFrame:
        return APPLY(rows.withColumn("unit", F.nullif(F.lit("C"), F.lit(""))))

    assert run(spark, tmp_path, APPLY, BEFORE, [FIRST]) == []
    with refused("unit", "none", "STRING NOT NULL"):
        run(spark, tmp_path, constant, BEFORE, [row("a", "05:20", 2)])
    found = run(spark, tmp_path, nullable, BEFORE, [row("b", "09:00", 1)])
    assert [(r["k"], r["total"], r["units"]) for r in found] == [("a", 3, "C, None")]


def test_a_column_that_may_no_longer_be_null_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def filled(rows: DataFrame) -> DataFrame:
        return APPLY(rows.fillna({"unit": "C"}))

    schema = with_unit(STRING)
    assert run(spark, tmp_path, APPLY, schema, [row("a", "05:10", 1)]) == []
    with refused("unit", "STRING", "STRING NOT NULL"):
        run(spark, tmp_path, filled, schema, [row("a", "05:20", 2)])


def test_a_key_that_may_no_longer_be_null_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    def filled(rows: DataFrame) -> DataFrame:
        return EXAMPLES["slices"](rows.withColumn("k", F.coalesce("k", F.lit("none"))))

    def unfilled(rows: DataFrame) -> DataFrame:
        return EXAMPLES["slices"](rows)

    assert run(spark, tmp_path, unfilled, BEFORE, [{**FIRST, "k": None}]) == []
    with refused("k", "STRING", "STRING NOT NULL"):
        run(spark, tmp_path, filled, BEFORE, [FIRST])


def test_the_columns_that_the_spec_reads_keep_their_types(
    spark: SparkSession, tmp_path: Path
) -> None:
    wider = struct(k=STRING, at=TimestampType(), v=BIGINT)
    top = EXAMPLES["top"]
    assert run(spark, tmp_path, top, BEFORE, [FIRST]) == []
    text = r"TRANSOM_SPEC_CHANGED\] .* has type of v in aggregate 1 = BIGINT, but .* = INT\. "
    with pytest.raises(StreamingQueryException, match=text):
        run(spark, tmp_path, top, wider, [row("a", "05:20", 2)])
