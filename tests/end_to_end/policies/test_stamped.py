"""The rules of time policies, row by row, over hand-made rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from tests.python.conditions import raises

NOON = datetime(2024, 1, 1, 12)
SCHEMA = "n int, at timestamp, known timestamp, part string"

# Minutes after noon, or None.
Minute = int | None
# The time of a row, its arrival, and its partition or substream.
Input = tuple[Minute, Minute, str | None]
# The time in force, the watermark that the row met, the rules that it broke, and its disposition.
Stamp = tuple[Minute, Minute, list[str], str]


def instant(minute: Minute) -> datetime | None:
    return None if minute is None else NOON + timedelta(minutes=minute)


def minute(time: datetime | None) -> Minute:
    return None if time is None else (time - NOON) // timedelta(minutes=1)


def rows_of(spark: SparkSession, rows: Sequence[Input]) -> DataFrame:
    timed = [(n, instant(at), instant(known), part) for n, (at, known, part) in enumerate(rows)]
    return spark.createDataFrame(timed, SCHEMA).repartition(2)


def stamps(spark: SparkSession, policy: transom.TimePolicy, rows: Sequence[Input]) -> list[Stamp]:
    """The stamps of rows that arrive in the order of the list."""
    stamped = transom.stream(rows_of(spark, rows), time=policy, order="n").stamped()
    return [stamp_of(row) for row in stamped.orderBy("n").collect()]


def stamp_of(row: Row) -> Stamp:
    stamp = row["stamp"]
    return minute(stamp["time"]), minute(stamp["watermark"]), stamp["rules"], stamp["disposition"]


def at(*minutes: Minute) -> list[Input]:
    """Rows with a time alone."""
    return [(minute, None, None) for minute in minutes]


def test_dropped_rows_have_no_time_and_move_no_watermark(spark: SparkSession) -> None:
    policy = transom.TimePolicy(
        "at",
        arrival="known",
        early=transom.Drop("5 minutes"),
        late=transom.Drop("5 minutes"),
        out_of_order=transom.Drop("2 minutes"),
    )
    rows = [(10, 10), (16, 10), (15, 10), (12, 11), (13, 11), (14, 20), (15, 20)]
    assert stamps(spark, policy, [(time, known, None) for time, known in rows]) == [
        (10, None, [], "accepted"),
        (None, 8, ["early"], "dropped"),
        (15, 8, [], "accepted"),
        (None, 13, ["out_of_order"], "dropped"),
        (13, 13, [], "accepted"),
        (None, 13, ["late_arrival"], "dropped"),
        (15, 15, [], "accepted"),
    ]


def test_an_accepted_row_that_is_out_of_order_keeps_its_time(spark: SparkSession) -> None:
    policy = transom.TimePolicy("at", out_of_order="2 minutes")
    assert stamps(spark, policy, at(10, 7, 8, 15, 12)) == [
        (10, None, [], "accepted"),
        (7, 8, ["out_of_order"], "accepted"),
        (8, 8, [], "accepted"),
        (15, 8, [], "accepted"),
        (12, 13, ["out_of_order"], "accepted"),
    ]


def test_a_rule_uses_the_latest_arrival_so_far(spark: SparkSession) -> None:
    policy = transom.TimePolicy("at", arrival="known", late=transom.Adjust("5 minutes"))
    assert stamps(spark, policy, [(10, 20, None), (12, 10, None)]) == [
        (15, None, ["late_arrival"], "adjusted"),
        (15, 15, ["late_arrival"], "adjusted"),
    ]


def test_the_watermark_moves_at_each_nth_row_that_is_not_dropped(spark: SparkSession) -> None:
    policy = transom.TimePolicy(
        "at", out_of_order=transom.Drop("0 seconds"), advance=transom.Periodic(3)
    )
    met = [stamp[1] for stamp in stamps(spark, policy, at(10, 11, 12, 5, 13, 14, 15, 16))]
    assert met == [None, None, None, 12, 12, 12, 12, 15]


def test_the_watermark_moves_each_period(spark: SparkSession) -> None:
    advance = transom.Periodic(100, every="10 minutes")
    policy = transom.TimePolicy("at", advance=advance)
    met = [stamp[1] for stamp in stamps(spark, policy, at(3, 12, 13, 22, 23, 24))]
    assert met == [None, 0, 10, 10, 20, 20]


def test_a_period_and_a_delay_add_up(spark: SparkSession) -> None:
    policy = transom.TimePolicy(
        "at", out_of_order="4 minutes", advance=transom.Periodic(every="10 minutes")
    )
    met = [stamp[1] for stamp in stamps(spark, policy, at(3, 12, 13, 22, 23, 24))]
    assert met == [None, -4, 6, 6, 16, 16]

    def windows(rows: DataFrame) -> DataFrame:
        tens = transom.stream(rows, time=policy, order="n").window(transom.Tumbling("10 minutes"))
        return tens.agg(F.count("*").alias("rows"))

    # At 24 the watermark is at 16, so the window from 10 on is open.
    rows = [(n, instant(n), None, None) for n in (3, 12, 13, 22, 24)]
    outcome = run_stream(spark, windows, SCHEMA, [rows[:4], rows[4:]])
    assert [(minute(row["window"]["start"]), row["rows"]) for row in outcome.results] == [(0, 1)]


def test_rows_or_a_period_move_the_watermark_whichever_comes_first(spark: SparkSession) -> None:
    policy = transom.TimePolicy("at", advance=transom.Periodic(3, every="10 minutes"))
    met = [stamp[1] for stamp in stamps(spark, policy, at(0, 1, 2, 11, 12, 13, 14))]
    assert met == [None, 0, 0, 2, 10, 10, 13]


def test_each_partition_has_a_watermark(spark: SparkSession) -> None:
    policy = transom.TimePolicy(
        "at",
        partition="part",
        partitions=["a", "b"],
        out_of_order=transom.Adjust("0 seconds"),
    )
    rows = [(10, None, "a"), (5, None, "b"), (8, None, "a"), (6, None, "b")]
    assert stamps(spark, policy, rows) == [
        (10, None, [], "accepted"),
        (5, None, [], "accepted"),
        (10, 10, ["out_of_order"], "adjusted"),
        (6, 5, [], "accepted"),
    ]


def test_a_partition_is_compared_as_text(spark: SparkSession) -> None:
    policy = transom.TimePolicy("at", partition=F.col("n") % 3, partitions=["0", "2"])
    assert [stamp[2:] for stamp in stamps(spark, policy, at(1, 1, 1))] == [
        ([], "accepted"),
        (["unknown_partition"], "dropped"),
        ([], "accepted"),
    ]


@pytest.mark.parametrize(
    ("policy", "row", "reason"),
    [
        (transom.TimePolicy("at"), (None, 1, "a"), "no_time"),
        (transom.TimePolicy("at", arrival="known"), (1, None, "a"), "no_time"),
        (transom.TimePolicy(None, arrival="known"), (1, None, "a"), "no_time"),
        (transom.TimePolicy("at", over=["part"]), (1, 1, None), "no_substream"),
        (
            transom.TimePolicy("at", partition="part", partitions=["b"]),
            (1, 1, "a"),
            "unknown_partition",
        ),
        (transom.TimePolicy("at", partition="part"), (1, 1, None), "unknown_partition"),
    ],
)
def test_a_row_that_no_rule_can_judge_is_dropped_for_a_reason(
    spark: SparkSession, policy: transom.TimePolicy, row: Input, reason: str
) -> None:
    ((time, _, rules, disposition),) = stamps(spark, policy, [row])
    assert (time, rules, disposition) == (None, [reason], "dropped")


def test_a_row_whose_partition_fails_is_dropped(spark: SparkSession) -> None:
    policy = transom.TimePolicy("at", partition=F.col("part").cast("int"))
    assert stamps(spark, policy, [(1, None, "7"), (2, None, "x"), (0, None, "7")]) == [
        (1, None, [], "accepted"),
        (None, None, ["unknown_partition"], "dropped"),
        (0, 1, ["out_of_order"], "accepted"),
    ]


def test_a_row_whose_order_fails_comes_first(spark: SparkSession) -> None:
    rows = rows_of(spark, [(8, None, "2"), (9, None, "x"), (7, None, "1")])
    stream = transom.stream(rows, time=transom.TimePolicy("at"), order=F.col("part").cast("int"))
    stamped = stream.stamped().orderBy("n").collect()
    assert [stamp_of(row)[:2] for row in stamped] == [(8, 9), (9, None), (7, 9)]


def test_a_time_after_the_year_9999_is_out_of_range(spark: SparkSession) -> None:
    seconds = 400_000_000_000
    policy = transom.TimePolicy(F.timestamp_seconds("seconds"))
    rows = spark.createDataFrame([(seconds,)], "seconds long")
    (row,) = transom.stream(rows, time=policy).stamped().collect()
    assert row["seconds"] == seconds
    assert row["stamp"]["time"] is None
    assert row["stamp"]["rules"] == ["time_out_of_range"]
    assert row["stamp"]["disposition"] == "dropped"


def test_the_time_of_the_batch_stands_for_the_arrival(spark: SparkSession) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        arrivals = transom.stream(rows, time=transom.TimePolicy(None)).stamped()
        return arrivals.withColumn("now", F.current_timestamp())

    outcome = run_stream(spark, pipeline, "n int", [[(0,)], [(1,), (2,)]])
    assert sorted(row["n"] for row in outcome.results) == [0, 1, 2]
    assert [row["stamp"]["time"] for row in outcome.results] == [
        row["now"] for row in outcome.results
    ]


def test_keys_change_no_stamp(spark: SparkSession) -> None:
    policy = transom.TimePolicy("at", out_of_order=transom.Adjust("0 seconds"))
    stream = transom.stream(rows_of(spark, at(10, 8)), time=policy, order="n")
    assert [stamp_of(row) for row in stream.key_by("n").stamped().orderBy("n").collect()] == [
        (10, None, [], "accepted"),
        (10, 10, ["out_of_order"], "adjusted"),
    ]


# Row 2 moves to 10, and row 3 is over by then. Row 4 lasts no time, and row 5 has no end.
LIVES: list[Input] = [
    (10, 12, None),
    (12, 13, None),
    (4, 14, None),
    (5, 8, None),
    (13, 13, None),
    (14, None, None),
    (None, 20, None),
]


@pytest.mark.parametrize("is_end", [True, False], ids=["an end", "a duration"])
def test_a_stamp_has_the_lifetime_from_the_time_in_force_on(
    spark: SparkSession, *, is_end: bool
) -> None:
    policy = transom.TimePolicy("at", out_of_order=transom.Adjust("2 minutes"))
    # A row without an end has no duration.
    rows = rows_of(spark, LIVES).where(F.lit(is_end) | (F.col("n") != 5))
    lifetime = "known" if is_end else transom.Lifetime(duration=F.col("known") - F.col("at"))
    stamped = transom.stream(rows, time=policy, order="n", lifetime=lifetime).stamped()
    assert stamped.select("stamp.*").columns == [
        "time",
        "lifetime",
        "watermark",
        "rules",
        "disposition",
    ]
    found = {}
    for row in stamped.collect():
        lived, (time, _, rules, disposition) = row["stamp"]["lifetime"], stamp_of(row)
        assert (lived is None) == (time is None)
        if lived is not None:
            assert minute(lived["start"]) == time
        end = None if lived is None else minute(lived["end"])
        found[row["n"]] = (time, end, rules, disposition)
    expected = {
        0: (10, 12, [], "accepted"),
        1: (12, 13, [], "accepted"),
        2: (10, 14, ["out_of_order"], "adjusted"),
        3: (None, None, ["out_of_order"], "dropped"),
        4: (None, None, ["bad_lifetime"], "dropped"),
        5: (14, None, [], "accepted"),
        6: (None, None, ["no_time"], "dropped"),
    }
    assert found == {n: stamp for n, stamp in expected.items() if n in found}
    assert len(found) == rows.count()


def test_a_punctuation_has_no_lifetime(spark: SparkSession) -> None:
    policy = transom.TimePolicy(
        "at", advance=transom.Punctuated(F.col("known").isNull(), at=F.col("at"))
    )
    rows = rows_of(spark, [(10, 12, None), (11, None, None)])
    stream = transom.stream(rows, time=policy, order="n", lifetime="known")
    _, punctuation = stream.stamped().orderBy("n").collect()
    assert punctuation["stamp"]["lifetime"] is None
    assert stamp_of(punctuation)[0] == 11
    assert stamp_of(punctuation)[2:] == ([], "punctuation")


def test_lifetimes_that_other_rows_end_have_no_stamp(spark: SparkSession) -> None:
    lifetime = transom.Lifetime("known", id=["n"])
    stream = transom.stream(rows_of(spark, at(1)), time=transom.TimePolicy("at"), lifetime=lifetime)
    with raises("CONFLICT", "stamped"):
        stream.stamped()
