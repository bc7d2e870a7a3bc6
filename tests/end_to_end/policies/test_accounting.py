"""Each row is delivered and counted exactly once, as the model expects."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.policies import SECOND, policy_of, punctuated
from tests.end_to_end.support.queries import Outcome, run_stream
from tests.time_model import stamping, windows
from tests.time_model.stamping import Bound

SCHEMA = "id int, key string, part string, micros long, known long, cti boolean"
# The first and the last instant that a time may have: the years 1 and 9999.
FIRST = (datetime(1, 1, 1) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
LAST = (datetime(9999, 12, 31, 23, 59, 59, 999999) - datetime(1970, 1, 1)) // timedelta(
    microseconds=1
)
# A gap of 5 seconds comes after each window of 10 seconds.
OURS = transom.Hopping(size="10 seconds", slide="15 seconds")
GRID = windows.Grid(10 * SECOND, 15 * SECOND)
# Rows behind the watermark may be late.
ACCEPTING = stamping.TimePolicy(
    early=Bound("drop", 12 * SECOND),
    late=Bound("adjust", 30 * SECOND),
    out_of_order=Bound("accept", 5 * SECOND),
    floor="arrival",
)
# No row is late, because all rows behind the watermark are dropped.
DROPPING = stamping.TimePolicy(
    early=Bound("adjust", 12 * SECOND),
    late=Bound("drop", 30 * SECOND),
    out_of_order=Bound("drop", 8 * SECOND),
    floor="arrival",
)
# Only punctuation moves the watermark.
PUNCTUATED = stamping.TimePolicy(
    early=Bound("adjust", 12 * SECOND), out_of_order=Bound("drop", 0), follows_rows=False
)
COUNTS = {
    "late": "transom_rows_late",
    "gap": "transom_rows_in_gaps",
    "punctuation": "transom_rows_punctuation",
    "no_time": "transom_rows_without_time",
    "time_out_of_range": "transom_rows_out_of_range",
    "key_failed": "transom_rows_with_failed_keys",
    "no_substream": "transom_rows_without_substream",
    "unknown_partition": "transom_rows_of_unknown_partition",
}
DROPPED = ("early", "late_arrival", "out_of_order")
DEAD = (*DROPPED, *(place for place in COUNTS if place not in {"late", "gap", "punctuation"}))


class Input(NamedTuple):
    id: int
    key: str | None
    part: str
    micros: int | None
    known: int
    cti: bool = False


def inputs(chosen: random.Random, count: int = 90) -> list[Input]:
    """Rows in order of arrival. The last row fires the windows of all others."""
    known = 1_700_000_000 * SECOND
    rows = []
    for id_ in range(count):
        known += chosen.randrange(4) * SECOND
        usual = known + chosen.randrange(-40, 18) * SECOND
        odd = chosen.choice([None, FIRST - 1, FIRST, LAST, LAST + 1])
        key = chosen.choice(["1", "2", "2", None, "x"])
        micros = usual if chosen.random() < 0.8 else odd
        rows.append(Input(id_, key, chosen.choice("aabbc"), micros, known))
    known += 1_000 * SECOND
    return [*rows, Input(count, "1", "a", known, known)]


def in_batches(rows: Sequence[Input], chosen: random.Random) -> list[Sequence[Input]]:
    """Cut rows into three batches."""
    first, second = sorted(chosen.sample(range(1, len(rows)), 2))
    return [rows[:first], rows[first:second], rows[second:]]


def failure(row: Input) -> str | None:
    """Why no rule judges the row, in the order in which the reasons count."""
    if row.micros is None:
        return "no_time"
    if not FIRST <= row.micros <= LAST:
        return "time_out_of_range"
    return "key_failed" if row.key == "x" and not row.cti else None


def placed(
    rows: Sequence[Input], policy: stamping.TimePolicy
) -> tuple[dict[int, str], Counter[str]]:
    """Where each row goes, and how many rows each rule applies to.

    Rows that no rule judges move no watermark, so the model does not see them.
    """
    places = {row.id: reason for row in rows if (reason := failure(row))}
    judged = [row for row in rows if row.id not in places]
    events = [
        stamping.Row(row.micros, row.known, key=row.key, punctuation=row.cti) for row in judged
    ]
    stamped = stamping.stamps(events, policy)
    rules: Counter[str] = Counter()
    for row, stamp, place in zip(judged, stamped, windows.windows(stamped, GRID)[1], strict=True):
        rules.update(stamp.rules)
        rules["adjusted"] += stamp.disposition == "adjusted"
        if stamp.time is None:
            places[row.id] = str(stamp.reason)
        elif row.cti:
            places[row.id] = "punctuation"
        elif place.missed:
            places[row.id] = "late"
        else:
            places[row.id] = "window" if place.taken else "gap"
        # The model lists only rules that change a row.
        if policy == ACCEPTING and stamp.time is not None:
            rules["out_of_order"] += stamp.met is not None and stamp.time < stamp.met
    return places, rules


def windowed(rows: DataFrame, policy: stamping.TimePolicy) -> DataFrame:
    """The numbers of the rows in each window, late rows and dead letters."""
    at = F.timestamp_micros("micros").alias("at")
    timed = rows.select("id", "key", at, _known(), "cti")
    time = policy_of(policy, "all rows")
    if not policy.follows_rows:
        time = punctuated(time, policy, "cti")
    tagged = (
        transom.stream(timed, time=time, order="id")
        .key_by(F.col("key").cast("int"))
        .window(OURS)
        .with_late_rows()
        .with_dead_letters()
        .agg(F.collect_list("id").alias("ids"))
    )
    # Python has no time before the year 1 in any zone, so no times are collected.
    return tagged.select(
        F.coalesce("results.ids", F.array(F.coalesce("late.row.id", "dead_letters.row.id"))).alias(
            "ids"
        ),
        F.coalesce("late.reason", "dead_letters.reason", F.lit("window")).alias("place"),
    )


def _known() -> Any:
    return F.timestamp_micros("known").alias("known")


def check(rows: Sequence[Input], policy: stamping.TimePolicy, runs: Sequence[Outcome]) -> None:
    """Compare what the runs of a query delivered and counted with the model."""
    expected, rules = placed(rows, policy)
    delivered = [(id_, row["place"]) for run in runs for row in run.results for id_ in row["ids"]]
    # The window of the last row is open. Nothing is delivered of punctuation and rows in a gap.
    last = rows[-1].id
    silent = {
        id_: place
        for id_, place in expected.items()
        if place in {"gap", "punctuation"} or id_ == last
    }
    assert sorted(delivered) == sorted(
        (id_, place) for id_, place in expected.items() if id_ not in silent
    )
    counts: Counter[str] = Counter()
    for run in runs:
        counts.update(run.observed())
    by_place = Counter(expected.values())
    is_late = ["late"] if policy == ACCEPTING else []
    for place in [*is_late, "gap", "no_time", "time_out_of_range", "key_failed", "window"]:
        assert by_place[place] > 0
    assert counts == Counter(
        {
            "transom_rows_in": len(rows),
            "transom_rows_dropped": sum(by_place[rule] for rule in DROPPED),
            "transom_rows_adjusted": rules["adjusted"],
            "transom_rows_dead_lettered": sum(by_place[place] for place in DEAD),
            "transom_windows_fired": sum(
                row["place"] == "window" for run in runs for row in run.results
            ),
            **{f"transom_rows_{rule}": rules[rule] for rule in DROPPED},
            **{count: by_place[place] for place, count in COUNTS.items()},
        }
    )
    assert counts["transom_rows_in"] == (not rows[-1].cti) + sum(
        counts[name] for name in [*COUNTS.values(), "transom_rows_dropped"]
    ) + sum(place == "window" for _, place in delivered)


def test_each_row_is_delivered_and_counted_once_however_rows_are_cut(spark: SparkSession) -> None:
    chosen = random.Random(11)
    rows = inputs(chosen)
    batches = in_batches(rows, chosen)
    outcome = run_stream(spark, lambda read: windowed(read, DROPPING), SCHEMA, batches)
    check(rows, DROPPING, [outcome])


def test_punctuation_is_counted_and_not_delivered(spark: SparkSession) -> None:
    chosen = random.Random(14)
    # A punctuation at the last instant would end time.
    rows = [row._replace(cti=row.id % 5 == 0 and row.micros != LAST) for row in inputs(chosen)]
    assert rows[-1].cti
    batches = in_batches(rows, chosen)
    outcome = run_stream(spark, lambda read: windowed(read, PUNCTUATED), SCHEMA, batches)
    check(rows, PUNCTUATED, [outcome])
    places = Counter(placed(rows, PUNCTUATED)[0].values())
    assert min(places[place] for place in ("punctuation", "out_of_order", "window")) > 0


def test_a_batch_that_is_repeated_after_a_crash_counts_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    chosen = random.Random(12)
    rows = inputs(chosen)

    def pipeline(read: DataFrame) -> DataFrame:
        return windowed(read, ACCEPTING)

    def crash(_: list[Row], batch_id: int) -> None:
        (tmp_path / "crashed").write_text(str(batch_id))
        raise ValueError("the batch is not committed")

    batches = in_batches(rows[:40], chosen)
    first = run_stream(spark, pipeline, SCHEMA, batches, checkpoint=tmp_path)
    with pytest.raises(StreamingQueryException, match="not committed"):
        run_stream(spark, pipeline, SCHEMA, [rows[40:70]], checkpoint=tmp_path, sink=crash)
    second = run_stream(spark, pipeline, SCHEMA, [rows[70:]], checkpoint=tmp_path)
    crashed = int((tmp_path / "crashed").read_text())
    assert crashed in second.by_batch.keys() - first.by_batch.keys()
    check(rows, ACCEPTING, [first, second])


def test_each_stamp_of_partitions_and_substreams_is_counted_once(spark: SparkSession) -> None:
    def stamped(read: DataFrame) -> DataFrame:
        policy = transom.TimePolicy(
            F.timestamp_micros("micros"),
            arrival=F.timestamp_micros("known"),
            partition="part",
            partitions=["a", "b"],
            over=[F.col("key").cast("int")],
            early=transom.Drop("12 seconds"),
            late=transom.Adjust("30 seconds"),
            out_of_order=transom.Drop("8 seconds"),
        )
        stamps = transom.stream(read, time=policy, order="id").stamped()
        return stamps.select("id", "stamp.rules", "stamp.disposition")

    chosen = random.Random(13)
    rows = inputs(chosen)
    outcome = run_stream(spark, stamped, SCHEMA, in_batches(rows, chosen))
    assert sorted(row["id"] for row in outcome.results) == [row.id for row in rows]
    rules = {row["id"]: row["rules"] for row in outcome.results}
    for row in rows:
        # A null and a failed column of the substream are the same.
        reason = failure(row._replace(key="1"))
        if row.part == "c":
            reason = "unknown_partition"
        if row.key in {None, "x"}:
            reason = "no_substream"
        if reason or not set(rules[row.id]) <= set(DROPPED):
            assert rules[row.id] == [reason]
    by_rule = Counter(rule for of_row in rules.values() for rule in of_row)
    dispositions = Counter(row["disposition"] for row in outcome.results)
    judged = [row for row in outcome.results if set(row["rules"]) <= set(DROPPED)]
    assert outcome.observed() == {
        **dict.fromkeys(outcome.observed(), 0),
        "transom_rows_in": len(rows),
        "transom_rows_adjusted": dispositions["adjusted"],
        "transom_rows_dropped": sum(row["disposition"] == "dropped" for row in judged),
        "transom_rows_dead_lettered": dispositions["dropped"],
        **{f"transom_rows_{rule}": by_rule[rule] for rule in DROPPED},
        **{count: by_rule[reason] for reason, count in COUNTS.items()},
    }
    assert min(by_rule[reason] for reason in ("no_substream", "unknown_partition", *DROPPED)) > 0
