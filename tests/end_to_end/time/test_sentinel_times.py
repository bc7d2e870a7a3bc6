"""Times at both ends of what Spark holds, in each column that may have a time.

No query fails, and each row is in a result, is late or is a dead letter, as the rules say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.time.test_extreme_times import FIRST, HOUR, LAST, NOW, TIMES, UNUSABLE, USABLE
from tests.time_model import stamping, windows

SCHEMA = "name string, first long, second long"
DAY = 24 * HOUR
TAGS = ("results", "late", "dead_letters")
# A name, and two times in microseconds since 1970.
Input = tuple[str, int | None, int | None]


@pytest.fixture(params=["UTC", "Asia/Shanghai", "America/New_York"] if LONG else ["Asia/Shanghai"])
def zoned(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session whose zone had another offset before 1900, which is no whole minute."""
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def micros(name: str) -> Column:
    return F.timestamp_micros(name)


def interval(name: str) -> Column:
    """An interval of as many microseconds."""
    return F.timestamp_micros(name) - F.timestamp_micros(F.lit(0))


def pairs() -> list[Input]:
    """Each of the times with each of the times."""
    return [(f"{a}, {b}", TIMES[a], TIMES[b]) for a, b in product(TIMES, TIMES)]


def problem(*times: int | None) -> str | None:
    """Why a row with these event and arrival times is a dead letter."""
    if None in times:
        return "no_time"
    return None if {*times} <= {*USABLE.values()} else "time_out_of_range"


def listed(windowed: transom.Windowed) -> DataFrame:
    """The names in each window, and the name and the reason of each other row."""
    tagged = windowed.with_late_rows().with_dead_letters().agg(F.collect_list("name").alias("n"))
    name, reason = (
        F.coalesce(F.col(f"late.{each}"), F.col(f"dead_letters.{each}"))
        for each in ("row.name", "reason")
    )
    return tagged.select(
        F.coalesce("results.n", F.array(name)).alias("names"), reason.alias("reason"), "tag"
    )


def places(windowed: transom.Windowed) -> dict[str, str | None]:
    """The reason of each row that is in no window, and None for the others."""
    found: dict[str, str | None] = {}
    for row in listed(windowed).collect():
        for name in row["names"]:
            # A row may be in several windows, and has one reason.
            assert row["reason"] is None or name not in found, name
            assert found.get(name) is None, name
            found[name] = row["reason"]
    return found


def stamped(rows: Sequence[Input], part: str) -> list[stamping.Stamp]:
    """What the model makes of rows that the rules of a policy judge."""
    policy = stamping.TimePolicy(
        early=stamping.Bound("adjust", DAY),
        late=stamping.Bound("adjust", 365 * DAY),
        out_of_order=stamping.Bound("drop", HOUR),
        by_substream=part == "over",
        floor="arrival",
    )
    events = [
        stamping.Row(
            time,
            arrival,
            partition=name if part == "partition" else "",
            substream=name if part == "over" else None,
            key=name,
        )
        for name, time, arrival in rows
        if arrival is not None
    ]
    return stamping.stamps(events, policy)


@pytest.mark.parametrize("part", ["all", "partition", "over"])
def test_the_times_and_arrivals_of_a_policy(zoned: SparkSession, part: str) -> None:
    judged = [row for row in pairs() if problem(*row[1:]) is None]
    # Partitions are merged by arrival, then by their names.
    judged.sort(key=lambda row: (row[2] or 0, row[0]))
    failing = {row[0]: problem(*row[1:]) for row in pairs() if problem(*row[1:])}
    place = {name: number for number, (name, *_) in enumerate(judged)}
    rows = [(*row, place.get(row[0], 0)) for row in pairs()]
    df = zoned.createDataFrame(rows, f"{SCHEMA}, n int")
    parts: dict[str, Any] = {"partition": {"partition": "name"}, "over": {"over": ["name"]}}
    policy = transom.TimePolicy(
        micros("first"),
        arrival=micros("second"),
        early=transom.Adjust("1 day"),
        late=transom.Adjust("365 days"),
        out_of_order=transom.Drop("1 hour"),
        **parts.get(part, {}),
    )
    timed = transom.stream(df, time=policy, order="n").key_by("name")
    stamps = stamped(judged, part)

    found = timed.stamped().select(
        "name", F.unix_micros("stamp.time"), F.unix_micros("stamp.watermark"), "stamp.rules"
    )
    ours = {name: tuple(stamp) for name, *stamp in found.collect()}
    assert {name: ours.pop(name) for name in failing} == {
        name: (None, None, [reason]) for name, reason in failing.items()
    }
    assert {name: stamp[::2] for name, stamp in ours.items()} == {
        row[0]: (stamp.time, [*stamp.rules]) for row, stamp in zip(judged, stamps, strict=True)
    }
    # A row of a substream meets the floor that its own arrival sets.
    assert {name: met for name, (_, met, _) in ours.items()} == {
        row[0]: (row[2] or 0) - 365 * DAY if part == "over" else stamp.met
        for row, stamp in zip(judged, stamps, strict=True)
    }

    grid, gap = windows.Grid(DAY, DAY), windows.Session(HOUR)
    for window, model, late in (
        (transom.Tumbling("1 day"), grid, "late"),
        (transom.Session("1 hour"), gap, "late_session"),
    ):
        expected: dict[str, str | None] = dict(failing)
        for row, stamp, placed in zip(
            judged, stamps, windows.windows(stamps, model)[1], strict=True
        ):
            expected[row[0]] = stamp.reason or (late if placed.missed else None)
        assert places(timed.window(window)) == expected


@pytest.mark.parametrize("at", [*TIMES] if LONG else ["last", "first", "largest", "none"])
def test_punctuation(zoned: SparkSession, at: str) -> None:
    given = [("before", NOW, 0), ("punctuation", TIMES[at], 1), ("behind", NOW, 2)]
    rows = zoned.createDataFrame(given, SCHEMA).coalesce(1)
    advance = transom.Punctuated("second = 1", at=micros("first"))
    policy = transom.TimePolicy(micros("first"), advance=advance)
    timed = transom.stream(rows, time=policy, order="second")
    found = places(timed.window(transom.Tumbling("1 day")))
    ends = USABLE.get(at, 0) >= NOW + DAY
    expected = {"before": None, "behind": "late" if ends else None}
    reason = problem(TIMES[at])
    assert found == (expected | {"punctuation": reason} if reason else expected)


@pytest.mark.parametrize(
    "window",
    [
        transom.Snapshot(),
        transom.CountByStart(1),
        transom.Tumbling("1000000 days"),
        transom.Hopping("36500 days", "10000 days", time_zone="America/New_York"),
    ],
    ids=repr,
)
def test_ends_of_lifetimes(zoned: SparkSession, window: transom.Window) -> None:
    timed = transom.stream(
        zoned.createDataFrame(pairs(), SCHEMA), time=micros("first"), lifetime=micros("second")
    )
    expected: dict[str, str | None] = {}
    for name, start, end in pairs():
        expected[name] = problem(start)
        if expected[name] is None and start is not None and end is not None:
            expected[name] = None if start < end <= LAST + 1 else "bad_lifetime"
        # A snapshot ends at the next start or end of its key, and the key of this row has none.
        if isinstance(window, transom.Snapshot) and end is None and expected[name] is None:
            del expected[name]
    assert places(timed.key_by("name").window(window)) == expected


LENGTHS = [-1, 0, 1, DAY, 10**15, 10**18, 2**63 - 1, None]


def with_lengths(spark: SparkSession) -> tuple[list[tuple[str, int, int | None]], DataFrame]:
    given = [(f"{at}, {length}", USABLE[at], length) for at, length in product(USABLE, LENGTHS)]
    return given, spark.createDataFrame(given, SCHEMA)


def test_durations_of_lifetimes(zoned: SparkSession) -> None:
    given, rows = with_lengths(zoned)
    lifetime = transom.Lifetime(duration=interval("second"))
    timed = transom.stream(rows, time=micros("first"), lifetime=lifetime).key_by("name")
    assert places(timed.window(transom.Snapshot())) == {
        name: None if length and 0 < length <= LAST + 1 - start else "bad_lifetime"
        for name, start, length in given
    }


def test_gaps_of_sessions(zoned: SparkSession) -> None:
    given, rows = with_lengths(zoned)
    timed = transom.stream(rows, time=micros("first")).key_by("name")
    assert places(timed.window(transom.Session(gap=interval("second")))) == {
        name: None if length and 0 < length <= 10_000_000 * DAY else "bad_gap"
        for name, _, length in given
    }


@pytest.mark.parametrize("merging", [False, True])
def test_windows_that_rows_list(zoned: SparkSession, merging: bool) -> None:  # noqa: FBT001
    bounds = F.array(F.struct(micros("first").alias("start"), micros("second").alias("end")))
    rows = zoned.createDataFrame(pairs(), SCHEMA)
    timed = transom.stream(rows, time=F.timestamp_micros(F.lit(0))).key_by("name")
    found = places(timed.window(transom.Custom(bounds, merging=merging)))
    assert found == {
        name: None
        if start is not None and end is not None and FIRST <= start < end <= LAST + 1
        else "bad_windows"
        for name, start, end in pairs()
    }


def test_times_as_keys_and_as_the_order_of_rows(zoned: SparkSession) -> None:
    given = [(name, time, n) for n in range(2) for name, time in TIMES.items()]
    rows = zoned.createDataFrame(given, SCHEMA).repartition(3)
    stream = transom.stream(rows, time=F.timestamp_micros(F.lit(0)), order=micros("first"))
    keyed = stream.key_by(micros("first").alias("at")).window(transom.Tumbling("1 day"))
    counts = keyed.agg(n=F.count("*")).select(F.unix_micros("at").alias("at"), "n").collect()
    assert Counter({row["at"]: row["n"] for row in counts}) == Counter(
        dict.fromkeys(TIMES.values(), 2)
    )
    keyed = stream.key_by("second").window(transom.Tumbling("1 day"))
    lists = keyed.agg(names=F.collect_list("name")).collect()
    # A null comes before the other rows.
    in_order = sorted(TIMES, key=lambda name: (TIMES[name] is not None, TIMES[name] or 0))
    assert [row["names"] for row in lists] == [in_order, in_order]


def test_windows_of_windows(zoned: SparkSession) -> None:
    rows = zoned.createDataFrame([(n, t, 0) for n, t in TIMES.items()], SCHEMA)
    days = transom.stream(rows, time=micros("first")).window(transom.Tumbling("1 day"))
    # The time of a result is the last microsecond of its window, and these windows end in the
    # year 9999 at the latest, or with it.
    counted = transom.stream(days.agg(n=F.count("*")), time="window")
    years = counted.window(transom.Tumbling("1000 days")).with_dead_letters().agg(n=F.sum("n"))
    found = years.select(
        F.unix_micros("results.window.start").alias("start"), "results.n", "dead_letters.reason"
    ).collect()
    assert Counter({row["start"]: row["n"] for row in found}) == Counter(
        time // (1_000 * DAY) * 1_000 * DAY for time in USABLE.values()
    )
    assert {row["reason"] for row in found} == {None}


@pytest.mark.parametrize("first", [USABLE, UNUSABLE], ids=["usable", "unusable"])
def test_a_stream_whose_first_rows_have_sentinel_times(
    zoned: SparkSession, first: dict[str, int | None]
) -> None:
    def pipeline(rows: DataFrame) -> DataFrame:
        time = transom.EventTime("at", delay="1 day")
        timed = transom.stream(rows.withColumn("at", micros("first")), time=time)
        return listed(timed.window(transom.Tumbling("1 day")).drain())

    # The first batch moves the watermark almost to the end of time, for the rows of the third one.
    batches = [[*first], ["now"], ["first", "1970"], [*UNUSABLE]]
    numbered = [[(f"{n} {at}", TIMES[at], 0) for at in batch] for n, batch in enumerate(batches)]
    rows = run_stream(zoned, pipeline, SCHEMA, numbered).by_batch
    found = [row for batch in rows.values() for row in batch]
    reasons = {name: row["reason"] for row in found for name in row["names"]}
    assert sum(len(row["names"]) for row in found) == len(reasons)
    expected: dict[str, str | None] = {
        f"{n} {at}": problem(TIMES[at]) for n, batch in enumerate(batches) for at in batch
    }
    assert reasons == expected | {"2 first": "late", "2 1970": "late"}
