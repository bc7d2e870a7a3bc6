"""Windows whose watermark is set by punctuation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.policies import Case, Sources, grid, seconds, session
from tests.end_to_end.models.policy_rows import Input, judged
from tests.end_to_end.models.streams import EPOCH, examples
from tests.end_to_end.policies.test_policy_windows import check
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import (
    add_batch,
    parse_schema,
    run_stream,
)
from tests.time_model import stamping

CASES = [grid(10, 10), grid(10, 15, "right"), session(4, inclusive=True)]
TEN = transom.Tumbling(size="10 seconds")
RULES: dict[str, type[transom.Adjust] | type[transom.Drop]] = {
    "adjust": transom.Adjust,
    "drop": transom.Drop,
}
CTI = transom.Punctuated("kind = 'cti'", at="at")
SCHEMA = "n int, kind string, key string, at timestamp, until timestamp"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=repr)
@examples(4)
@given(drawn=judged(), follows=st.booleans(), seed=st.integers(0, 2**32))
def test_results_and_late_rows_are_those_of_the_model_however_rows_are_cut(
    spark: SparkSession,
    case: Case,
    drawn: tuple[list[Input], stamping.TimePolicy],
    follows: bool,  # noqa: FBT001
    seed: int,
) -> None:
    chosen = random.Random(seed)
    rows, policy = drawn
    some = [n for n, *_ in rows if chosen.random() < 0.25] or [0]
    policy = replace(policy, follows_rows=follows)
    check(spark, case, rows, policy, chosen, punctuation=frozenset(some))


def rows_of(*rows: tuple[str, str, int]) -> list[tuple[Any, ...]]:
    """Rows in their order: kind, key and time in seconds. Each lasts a second."""
    return [
        (n, kind, key, EPOCH + seconds(at), EPOCH + seconds(at + 1))
        for n, (kind, key, at) in enumerate(rows)
    ]


def counted(
    rows: DataFrame, sources: Sources = "all rows", lifetime: str | None = None
) -> DataFrame:
    """The numbers of the rows in windows of 10 seconds, late rows and dead letters."""
    policy = transom.TimePolicy(
        "at",
        over=["key"] if sources == "substreams" else [],
        out_of_order=transom.Drop("0 seconds"),
        advance=CTI,
    )
    stream = transom.stream(rows, time=policy, order="n", lifetime=lifetime)
    keyed = stream.key_by("key")
    tagged = keyed.window(TEN).with_dead_letters().agg(F.collect_list("n").alias("rows"))
    return tagged.select(
        F.coalesce("results.rows", F.array("dead_letters.row.n")).alias("rows"),
        F.coalesce("dead_letters.reason", F.date_format("results.window.start", "ss")).alias("at"),
    )


def places(rows: Sequence[Row]) -> Counter[tuple[str, tuple[int, ...]]]:
    return Counter((row["at"], tuple(sorted(row["rows"]))) for row in rows)


@pytest.mark.parametrize("sources", ["all rows", "substreams"])
def test_only_punctuation_fires_windows(spark: SparkSession, sources: Sources) -> None:
    batches = [
        rows_of(("row", "a", 3), ("row", "a", 25), ("row", "a", 4)),
        rows_of(("cti", "a", 20)),
        [(7, "row", "a", EPOCH + seconds(19), EPOCH), (8, "row", "a", EPOCH + seconds(20), EPOCH)],
    ]
    outcome = run_stream(spark, lambda rows: counted(rows, sources), SCHEMA, batches)
    assert places(outcome.results) == {("00", (0, 2)): 1, ("out_of_order", (7,)): 1}
    fired = [batch for batch, rows in outcome.by_batch.items() if ("00", (0, 2)) in places(rows)]
    assert fired == [1]
    assert outcome.observed()["transom_rows_punctuation"] == 1


def test_punctuation_of_a_substream_moves_no_other_one(spark: SparkSession) -> None:
    rows = rows_of(
        ("row", "a", 3), ("row", "b", 3), ("cti", "a", 30), ("row", "a", 4), ("row", "b", 4)
    )
    outcome = run_stream(spark, lambda read: counted(read, "substreams"), SCHEMA, [rows])
    assert places(outcome.results) == {("00", (0,)): 1, ("out_of_order", (3,)): 1}


@pytest.mark.parametrize("sources", ["all rows", "substreams"])
def test_a_static_input_ends_time(spark: SparkSession, sources: Sources) -> None:
    rows = rows_of(("row", "a", 3), ("cti", "a", 10), ("row", "a", 9), ("row", "a", 25))
    static = spark.createDataFrame(rows, SCHEMA).repartition(3)
    expected = {("00", (0,)): 1, ("20", (3,)): 1, ("out_of_order", (2,)): 1}
    assert places(counted(static, sources).collect()) == expected


def test_a_drain_ends_time(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy("at", advance=CTI)
        drained = transom.stream(rows, time=policy, order="n").window_all(TEN).drain()
        return drained.agg(F.collect_list("n").alias("rows"))

    rows = rows_of(("row", "a", 3), ("cti", "a", 10), ("row", "a", 25))
    outcome = run_stream(spark, pipeline, SCHEMA, [rows[:2], rows[2:]])
    assert sorted(row["rows"] for row in outcome.results) == [[0], [2]]


@pytest.mark.parametrize("sources", ["all rows", "substreams"])
def test_keys_and_lifetimes_of_punctuation_mean_nothing(
    spark: SparkSession, sources: Sources
) -> None:
    at = [EPOCH + seconds(second) for second in (3, 10, 20, 9)]
    # The lifetime of the first punctuation ends before it starts.
    batch = [
        (0, "row", "a", at[0], at[1]),
        (1, "cti", "a", at[1], EPOCH),
        (2, "cti", "a", at[2], None),
        (3, "row", "a", at[3], at[2]),
    ]

    def pipeline(rows: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            "at",
            over=["key"] if sources == "substreams" else [],
            out_of_order=transom.Adjust("0 seconds"),
            advance=CTI,
        )
        # The second key of punctuation fails.
        failing = F.when(F.col("kind") == "cti", F.raise_error("no key").cast("int")).otherwise(1)
        stream = transom.stream(rows, time=policy, order="n", lifetime="until")
        windowed = stream.key_by("key", failing.alias("one")).window(TEN)
        tagged = windowed.with_dead_letters().agg(F.collect_list("n").alias("rows"))
        return tagged.select("results", "dead_letters")

    outcome = run_stream(spark, pipeline, SCHEMA, [batch])
    assert [row["results"]["rows"] for row in outcome.results if row["results"]] == [[0]]
    dead = [row["dead_letters"] for row in outcome.results if row["dead_letters"]]
    # The last row ends at the watermark, to which the rule would move it.
    assert [(row["row"]["n"], row["reason"]) for row in dead] == [(3, "out_of_order")]
    counts = outcome.observed()
    assert (counts["transom_rows_punctuation"], counts["transom_rows_dead_lettered"]) == (2, 1)


def test_punctuation_is_imported_from_another_stream(spark: SparkSession, tmp_path: Path) -> None:
    schema = parse_schema("n int, at timestamp")
    for folder, times in (("rows", [3, 12, 25]), ("ctis", [20])):
        numbered = [(second, EPOCH + seconds(second)) for second in times]
        add_batch(tmp_path / folder, numbered, schema)

    def read(folder: str) -> DataFrame:
        return spark.readStream.schema(schema).parquet(str(tmp_path / folder))

    rows = read("rows").withColumn("is_cti", F.lit(False))  # noqa: FBT003
    ctis = read("ctis").withColumn("is_cti", F.lit(True))  # noqa: FBT003
    policy = transom.TimePolicy("at", advance=transom.Punctuated("is_cti", at="at"))
    both = transom.stream(rows.unionByName(ctis), time=policy, order=["is_cti", "n"])
    results = both.window_all(TEN).agg(F.collect_list("n").alias("rows"))
    kept = Kept()
    query = (
        results.writeStream.foreachBatch(kept)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(300)
    assert sorted(row["rows"] for row in kept.rows) == [[3], [12]]
