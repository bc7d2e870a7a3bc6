"""Rows that are punctuation, as `stamped` returns them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.policies import SECOND, Sources, policy_of, punctuated, seconds
from tests.end_to_end.models.streams import EPOCH, cut, examples, restart
from tests.end_to_end.support.queries import run_restarted, run_stream
from tests.time_model import stamping
from tests.time_model.stamping import Bound

SCHEMA = "n int, cti boolean, at timestamp, known timestamp, source string"
SOURCES: list[Sources] = ["all rows", "partitions", "substreams"]
# Number, whether it is punctuation, the seconds of its time and arrival, and its source.
Input = tuple[int, bool, int, int, str]


@st.composite
def policies(draw: st.DrawFn) -> stamping.TimePolicy:
    bound = draw(st.integers(0, 6)) * SECOND
    return stamping.TimePolicy(
        out_of_order=Bound(draw(st.sampled_from(["drop", "adjust"])), bound),
        late=Bound("adjust", 40 * SECOND),
        floor="arrival",
        rows=draw(st.sampled_from([1, 3])),
        follows_rows=draw(st.booleans()),
        partitions=draw(st.sampled_from([(), ("0", "1", "2")])),
    )


@st.composite
def inputs(draw: st.DrawFn) -> list[Input]:
    """Rows and punctuation in the order of their arrival, one each second."""
    steps = st.tuples(
        st.integers(0, 3).map(lambda number: number == 0),
        st.integers(-12, 9),
        st.sampled_from("012"),
    )
    rows = draw(st.lists(steps, min_size=2, max_size=40))
    return [(n, cti, 100 + n + ahead, 100 + n, part) for n, (cti, ahead, part) in enumerate(rows)]


def timed(rows: Sequence[Input]) -> list[tuple[Any, ...]]:
    return [
        (n, cti, EPOCH + seconds(at), EPOCH + seconds(known), source)
        for n, cti, at, known, source in rows
    ]


def micros(time: datetime | None) -> int | None:
    return None if time is None else (time - EPOCH) // timedelta(microseconds=1)


def shown(row: Row) -> tuple[Any, ...]:
    stamp = row["stamp"]
    return (
        row["n"],
        micros(stamp["time"]),
        micros(stamp["watermark"]),
        tuple(stamp["rules"]),
        stamp["disposition"],
    )


def modelled(
    rows: Sequence[Input], policy: stamping.TimePolicy, sources: Sources
) -> list[tuple[Any, ...]]:
    """The stamps of the model. Substreams meet the floor of their own arrival."""
    found = []
    for source in {row[-1] for row in rows} if sources != "all rows" else {""}:
        own = [row for row in rows if source in ("", row[-1])]
        events = [
            stamping.Row(at * SECOND, known * SECOND, punctuation=cti)
            for _, cti, at, known, _ in own
        ]
        for row, stamp in zip(own, stamping.stamps(events, policy), strict=True):
            floor = None
            if sources == "substreams" and policy.late:
                floor = row[3] * SECOND - policy.late.beyond
            met = max((m for m in (stamp.met, floor) if m is not None), default=None)
            found.append((row[0], stamp.time, met, stamp.rules, stamp.disposition))
    return sorted(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sources", SOURCES)
@examples(3)
@given(rows=inputs(), policy=policies(), seed=st.integers(0, 2**32))
def test_stamps_are_those_of_the_model_however_rows_are_cut(
    spark: SparkSession,
    sources: Sources,
    rows: list[Input],
    policy: stamping.TimePolicy,
    seed: int,
) -> None:
    time = punctuated(policy_of(policy, sources), policy, "cti")

    def pipeline(read: DataFrame) -> DataFrame:
        return transom.stream(read, time=time, order="n").stamped()

    chosen = random.Random(seed)
    batches = cut(timed(rows), chosen)[:5]
    known = [row for batch in batches for row in batch]
    outcome = run_restarted(spark, pipeline, SCHEMA, batches, restart(batches, chosen))
    expected = modelled(rows[: len(known)], policy, sources)
    assert sorted(map(shown, outcome.results)) == expected
    static = pipeline(spark.createDataFrame(known, SCHEMA).repartition(2))
    assert sorted(map(shown, static.collect())) == expected
    counts = outcome.observed()
    assert counts["transom_rows_in"] == len(known)
    assert counts["transom_rows_punctuation"] == sum(cti for _, cti, *_ in known)
    assert counts["transom_rows_dropped"] == sum(row[-1] == "dropped" for row in expected)
    assert counts["transom_rows_dead_lettered"] == counts["transom_rows_dropped"]


def test_punctuation_that_cannot_be_used_is_dropped_for_a_reason(spark: SparkSession) -> None:
    rows = [
        # A null condition counts as false.
        (0, None, "10", "ok"),
        (1, "cti", None, "no_time"),
        (2, "cti", "x", "no_time"),
        (3, "cti", "400000000000", "time_out_of_range"),
        # The condition fails: the row is neither punctuation nor data.
        (4, "odd", "20", "no_time"),
        (5, "cti", "30", "ok"),
        (6, "row", "40", "ok"),
    ]
    read = spark.createDataFrame(rows, "n int, kind string, number string, reason string")
    at = F.timestamp_seconds(F.col("number").cast("long"))
    when = F.when(F.col("kind") == "odd", F.raise_error("odd")).otherwise(F.col("kind") == "cti")
    policy = transom.TimePolicy(
        F.timestamp_seconds(F.lit(5)), advance=transom.Punctuated(when, at=at)
    )
    stamped = transom.stream(read, time=policy, order="n").stamped().orderBy("n").collect()
    for row in stamped:
        broken = [] if row["reason"] == "ok" else [row["reason"]]
        assert [rule for rule in row["stamp"]["rules"] if rule != "out_of_order"] == broken
    assert [row["stamp"]["disposition"] for row in stamped] == [
        "accepted",
        *["dropped"] * 4,
        "punctuation",
        "accepted",
    ]
    assert [row["stamp"]["watermark"] for row in stamped] == [None] * 6 + [EPOCH + seconds(30)]


def test_a_failing_time_of_punctuation_ends_no_query_over_constants(spark: SparkSession) -> None:
    # The optimizer computes columns over constants, also columns that no operator reads.
    read = spark.sql("SELECT * FROM VALUES (0, 'x'), (1, '30') AS t(n, number)")
    at = F.timestamp_seconds(F.col("number").cast("long"))
    policy = transom.TimePolicy(
        F.timestamp_seconds(F.lit(5)), advance=transom.Punctuated(F.expr("true"), at=at)
    )
    stamped = transom.stream(read, time=policy, order="n").stamped().orderBy("n").collect()
    assert [(row["stamp"]["disposition"], row["stamp"]["rules"]) for row in stamped] == [
        ("dropped", ["no_time"]),
        ("punctuation", []),
    ]


def test_a_timestamp_without_time_zone_becomes_a_time_of_the_session(spark: SparkSession) -> None:
    rows = [(0, True, EPOCH + seconds(7)), (1, False, EPOCH)]
    read = spark.createDataFrame(rows, "n int, cti boolean, at timestamp_ntz")
    time = F.col("at").cast("timestamp")
    policy = transom.TimePolicy(time, advance=transom.Punctuated("cti", at="at"))
    stamped = transom.stream(read, time=policy, order="n").stamped().orderBy("n")
    assert [row["stamp"]["watermark"] for row in stamped.collect()] == [None, EPOCH + seconds(7)]


def test_a_restart_and_a_repeated_batch_change_no_stamp(
    spark: SparkSession, tmp_path: Path
) -> None:
    policy = stamping.TimePolicy(out_of_order=Bound("drop", 0), follows_rows=False)
    time = punctuated(policy_of(policy, "all rows"), policy, "cti")
    rows = [
        (n, n % 4 == 0, 100 + ahead, 100 + n, "0")
        for n, ahead in enumerate([0, 3, -1, 2, 4, 3, 9, 4, 2, 4, 3, 8, 9, 8, 9, 12])
    ]

    def pipeline(read: DataFrame) -> DataFrame:
        return transom.stream(read, time=time, order="n").stamped()

    def crash(_: list[Row], batch_id: int) -> None:
        raise ValueError(f"batch {batch_id} is not committed")

    batches = [timed(rows[:5]), timed(rows[5:9])]
    first = run_stream(spark, pipeline, SCHEMA, batches, checkpoint=tmp_path)
    with pytest.raises(StreamingQueryException, match="not committed"):
        run_stream(spark, pipeline, SCHEMA, [timed(rows[9:12])], checkpoint=tmp_path, sink=crash)
    second = run_stream(spark, pipeline, SCHEMA, [timed(rows[12:])], checkpoint=tmp_path)
    got = sorted(map(shown, [*first.results, *second.results]))
    expected = modelled(rows, policy, "all rows")
    assert got == expected
    assert {row[-1] for row in expected} == {"accepted", "dropped", "punctuation"}


@pytest.mark.parametrize("changed", [("not cti", "at"), ("cti", "known")])
def test_other_punctuation_needs_a_new_checkpoint(
    spark: SparkSession, tmp_path: Path, changed: tuple[str, str]
) -> None:
    def pipeline(when: str, at: str) -> Any:
        policy = transom.TimePolicy("at", advance=transom.Punctuated(when, at=at))
        return lambda read: transom.stream(read, time=policy).stamped()

    rows = timed([(0, True, 1, 1, "0")])
    run_stream(spark, pipeline("cti", "at"), SCHEMA, [rows], checkpoint=tmp_path)
    with pytest.raises(StreamingQueryException, match="TRANSOM_SPEC_CHANGED"):
        run_stream(spark, pipeline(*changed), SCHEMA, [rows], checkpoint=tmp_path)


def test_explain_describes_punctuation(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], SCHEMA)
    for beside, others in [
        (None, ""),
        (transom.Periodic(100), ", and advances with every 100 rows"),
    ]:
        policy = transom.TimePolicy(
            "at", advance=transom.Punctuated("cti", at="known", beside=beside)
        )
        text = transom.explain(transom.stream(rows, time=policy).stamped())
        line = f"the watermark advances to known TIMESTAMP with each row where cti BOOLEAN{others}"
        assert line in text
