"""What SQL refuses, it refuses as Python does, and with the place in the text."""

from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.sql.flights import flights


@pytest.fixture(autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """The table of the rows."""
    flights(spark).createOrReplaceTempView("flights")
    yield
    spark.catalog.dropTempView("flights")


def in_hours(options: str) -> str:
    return f"transom_tumbling(departed, '1 hour', {options})"


def hours(rows: DataFrame) -> transom.Windowed:
    return transom.stream(rows, time="departed").window(transom.Tumbling("1 hour"))


def policy(**more: object) -> object:
    return transom.TimePolicy("departed", **more)  # type: ignore[arg-type]


# A window in SQL, the part of the text that the error names, and the same mistake in Python.
MISTAKES: dict[str, tuple[str, str, Callable[[DataFrame], object]]] = {
    "no duration": (
        "transom_tumbling(departed, 'soon')",
        "'soon'",
        lambda _: transom.Tumbling("soon"),
    ),
    "months": (
        "transom_tumbling(departed, '1 month')",
        "'1 month'",
        lambda _: transom.Tumbling("1 month"),
    ),
    "number for a duration": (
        "transom_tumbling(departed, 60)",
        "60",
        lambda _: transom.Tumbling(60),  # type: ignore[arg-type]
    ),
    "too long": (
        "transom_tumbling(departed, '20000000 days')",
        "'20000000 days'",
        lambda _: transom.Tumbling("20000000 days"),
    ),
    "not positive": (
        "transom_hopping(departed, '1 hour', '0 seconds')",
        "'0 seconds'",
        lambda _: transom.Hopping("1 hour", "0 seconds"),
    ),
    "offset": (
        "transom_tumbling(departed, '1 hour', offset => '2 hours')",
        "'2 hours'",
        lambda _: transom.Tumbling("1 hour", offset="2 hours"),
    ),
    "time zone": (
        "transom_tumbling(departed, '1 hour', time_zone => 'Mars')",
        "'Mars'",
        lambda _: transom.Tumbling("1 hour", time_zone="Mars"),
    ),
    "choice": (
        "transom_tumbling(departed, '1 hour', closed => 'both')",
        "'both'",
        lambda _: transom.Tumbling("1 hour", closed="both"),  # type: ignore[arg-type]
    ),
    "flag": (
        in_hours("with_pane => 1"),
        "1",
        lambda _: transom.Session("1 hour", inclusive=1),  # type: ignore[arg-type]
    ),
    "not a multiple": (
        "transom_cumulate(departed, '1 hour', '7 minutes')",
        "'1 hour'",
        lambda _: transom.Cumulate("1 hour", "7 minutes"),
    ),
    "too many windows": (
        "transom_hopping(departed, '1000 days', '1 microsecond')",
        "'1 microsecond'",
        lambda _: transom.Hopping("1000 days", "1 microsecond"),
    ),
    "first day": (
        "transom_calendar(departed, 'month', time_zone => 'UTC', first_day => 'sunday')",
        "'sunday'",
        lambda _: transom.Calendar("month", time_zone="UTC", first_day="sunday"),
    ),
    "missing": (
        "transom_calendar(departed, 'month')",
        "transom_calendar(departed, 'month')",
        lambda _: transom.Calendar("month"),  # type: ignore[call-arg]
    ),
    "unknown argument": (
        "transom_hopping(departed, '1 hour', '1 minute', step => '1 minute')",
        "'1 minute'",
        lambda _: transom.Hopping("1 hour", "1 minute", step="1 minute"),  # type: ignore[call-arg]
    ),
    "max check": (
        "transom_session(departed, '1 hour', max_check => '>')",
        "transom_session(departed, '1 hour', max_check => '>')",
        lambda _: transom.Session("1 hour", max_check=">"),
    ),
    "number of rows": (
        "transom_count(0)",
        "0",
        lambda _: transom.Count(0),
    ),
    "window ids": (
        (
            "transom_windows(departed, map('a', transom_tumbling('1 hour'), "
            "'A', transom_tumbling('2 hours')))"
        ),
        "map('a', transom_tumbling('1 hour'), 'A', transom_tumbling('2 hours'))",
        lambda _: transom.Windows(
            {"a": transom.Tumbling("1 hour"), "A": transom.Tumbling("2 hours")}
        ),
    ),
    "same windows": (
        "transom_windows(departed, array(transom_tumbling('1 hour'), transom_tumbling('1 hour')))",
        "array(transom_tumbling('1 hour'), transom_tumbling('1 hour'))",
        lambda _: transom.Windows([transom.Tumbling("1 hour"), transom.Tumbling("1 hour")]),
    ),
    "member": (
        "transom_windows(departed, array(transom_count(2)))",
        "array(transom_count(2))",
        lambda _: transom.Windows([transom.Count(2)]),
    ),
    "trigger in a trigger": (
        in_hours("trigger => transom_purging(transom_every_batch())"),
        "transom_every_batch()",
        lambda _: transom.Purging(transom.EveryBatch()),
    ),
    "trigger at the end in a trigger": (
        in_hours("trigger => transom_after_watermark(early => transom_after_watermark())"),
        "transom_after_watermark()",
        lambda _: transom.AfterWatermark(early=transom.AfterWatermark()),
    ),
    "no trigger": (
        "transom_global(time => departed, trigger => transom_drop('1 hour'))",
        "transom_drop('1 hour')",
        lambda rows: hours(rows).trigger(transom.Drop("1 hour")),  # type: ignore[arg-type]
    ),
    "merging": (
        (
            "transom_session(departed, '1 hour', trigger => transom_processing_timeout("
            "transom_after_count(2), after => '1 minute'))"
        ),
        "transom_processing_timeout(transom_after_count(2), after => '1 minute')",
        lambda rows: (
            transom.stream(rows, time="departed")
            .window(transom.Session("1 hour"))
            .trigger(transom.ProcessingTimeout(transom.AfterCount(2), after="1 minute"))
        ),
    ),
    "no event time": (
        "transom_global(trigger => transom_after_watermark())",
        "transom_after_watermark()",
        lambda rows: (
            transom.stream(rows).window(transom.Global()).trigger(transom.AfterWatermark())
        ),
    ),
    "lateness without time": (
        "transom_count(2, allowed_lateness => '1 hour')",
        "'1 hour'",
        lambda rows: transom.stream(rows).window(transom.Count(2)).allowed_lateness("1 hour"),
    ),
    "window without time": (
        "transom_tumbling(NULL, '1 hour')",
        "transom_tumbling(NULL, '1 hour')",
        lambda rows: transom.stream(rows).window(transom.Tumbling("1 hour")),
    ),
    "delay without time": (
        "transom_count(2, delay => '1 hour')",
        "transom_count(2, delay => '1 hour')",
        lambda rows: transom.stream(rows).window(transom.Tumbling("1 hour")),
    ),
    "global without a trigger": (
        "transom_global(time => departed)",
        "transom_global(time => departed)",
        lambda rows: (
            transom.stream(rows, time="departed").window(transom.Global()).agg(F.count("*"))
        ),
    ),
    "conflict": (
        "transom_count(2, trigger => transom_after_count(3))",
        "transom_after_count(3)",
        lambda rows: transom.stream(rows).window(transom.Count(2)).trigger(transom.AfterCount(3)),
    ),
    "retract and evict": (
        in_hours("retract => true, evictor => transom_keep_last(2)"),
        in_hours("retract => true, evictor => transom_keep_last(2)"),
        lambda rows: hours(rows).retract().evictor(transom.KeepLast(2)),
    ),
    "not a time": (
        "transom_tumbling(delay, '1 hour')",
        "transom_tumbling(delay, '1 hour')",
        lambda rows: transom.stream(rows, time="delay"),
    ),
    "not a gap": (
        "transom_session(departed, delay)",
        "transom_session(departed, delay)",
        lambda rows: transom.stream(rows, time="departed").window(transom.Session(F.col("delay"))),
    ),
    "clock of a static DataFrame": (
        "transom_tumbling(transom_processing_time(), '1 hour')",
        "transom_processing_time()",
        lambda rows: transom.stream(rows, time=transom.ProcessingTime()),
    ),
    "estimate": (
        in_hours("policy => transom_time_policy(estimate_arrival => true)"),
        "transom_time_policy(estimate_arrival => true)",
        lambda _: policy(estimate_arrival=True),
    ),
    "partitions": (
        in_hours("policy => transom_time_policy(partitions => array('0'))"),
        "array('0')",
        lambda _: policy(partitions=["0"]),
    ),
    "tolerance": (
        (
            "transom_tumbling(NULL, '1 hour', policy => transom_time_policy("
            "late => transom_drop('1 hour')))"
        ),
        "transom_drop('1 hour')",
        lambda _: transom.TimePolicy(None, late=transom.Drop("1 hour")),
    ),
    "rule": (
        in_hours("policy => transom_time_policy(late => transom_accept('1 hour'))"),
        "transom_accept('1 hour')",
        lambda _: policy(late=transom.Accept("1 hour")),
    ),
    "idle timeout": (
        in_hours("idle_timeout => '1 hour'"),
        "'1 hour'",
        lambda rows: hours(rows).idle_timeout("1 hour"),
    ),
    "lifetime of both kinds": (
        in_hours("lifetime => transom_lifetime(landed, duration => '1 hour')"),
        "transom_lifetime(landed, duration => '1 hour')",
        lambda _: transom.Lifetime("landed", duration="1 hour"),
    ),
    "timeout without id": (
        in_hours("lifetime => transom_lifetime(landed, timeout => '1 hour')"),
        "'1 hour'",
        lambda _: transom.Lifetime("landed", timeout="1 hour"),
    ),
    "name": (
        in_hours("name => 'a b'"),
        "'a b'",
        lambda rows: hours(rows).options(name="a b"),
    ),
    "slices": (
        in_hours("layout => 'slices', evictor => transom_keep_last(1)"),
        "",
        lambda rows: (
            hours(rows).evictor(transom.KeepLast(1)).options(layout="slices").agg(F.count("*"))
        ),
    ),
}


@pytest.mark.parametrize(("group", "place", "python"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_has_the_condition_of_python(
    spark: SparkSession, group: str, place: str, python: Callable[[DataFrame], object]
) -> None:
    with pytest.raises(PySparkException) as expected:
        python(flights(spark))
    with pytest.raises(PySparkException) as found:
        spark.sql(f"SELECT count(*) FROM flights GROUP BY origin, {group}").columns  # noqa: B018
    condition = expected.value.getCondition()
    assert (condition or "").startswith("TRANSOM_")
    assert found.value.getCondition() == condition
    if place:
        assert _underlined(str(found.value)) == place


def _underlined(error: str) -> str:
    """Return the part of the text under which an error has carets."""
    text, carets = error.split("== SQL (line 1, position ")[1].splitlines()[1:3]
    start = len(carets) - len(carets.lstrip())
    assert set(carets.strip()) == {"^"}
    return text[start : len(carets.rstrip())]


# Queries that have a window elsewhere than in GROUP BY, or more than one.
MISPLACED = {
    "select list": "SELECT transom_tumbling(departed, '1 hour') FROM flights",
    "where": "SELECT 1 FROM flights WHERE transom_tumbling(departed, '1 hour').start > known",
    "two windows": "SELECT count(*) FROM flights"
    " GROUP BY transom_tumbling(departed, '1 hour'), transom_session(departed, '1 hour')",
    "in an expression": "SELECT count(*) FROM flights"
    " GROUP BY transom_tumbling(departed, '1 hour').start",
    "rollup": "SELECT count(*) FROM flights"
    " GROUP BY ROLLUP(origin, transom_tumbling(departed, '1 hour'))",
    "grouping sets": "SELECT count(*) FROM flights GROUP BY origin,"
    " transom_tumbling(departed, '1 hour') GROUPING SETS ((origin),"
    " (transom_tumbling(departed, '1 hour')))",
    "trigger alone": "SELECT count(*) FROM flights GROUP BY transom_after_count(2)",
    "in an aggregate": "SELECT max(transom_tumbling(departed, '1 hour')) FROM flights",
    "over": "SELECT rank() OVER (PARTITION BY transom_tumbling(departed, '1 hour')"
    " ORDER BY delay) FROM flights",
    "another window in the select list": "SELECT transom_tumbling(departed, '2 hours'), count(*)"
    " FROM flights GROUP BY transom_tumbling(departed, '1 hour')",
}


@pytest.mark.parametrize("query", MISPLACED.values(), ids=MISPLACED)
def test_a_window_elsewhere_is_refused(spark: SparkSession, query: str) -> None:
    with pytest.raises(PySparkException) as found:
        spark.sql(query).collect()
    assert found.value.getCondition() == "TRANSOM_NOT_IN_GROUP_BY"


def test_a_column_that_is_no_key_has_the_error_of_spark(spark: SparkSession) -> None:
    query = "SELECT delay, count(*) FROM flights GROUP BY transom_tumbling(departed, '1 hour')"
    with pytest.raises(AnalysisException) as found:
        spark.sql(query).columns  # noqa: B018
    assert found.value.getCondition() == "MISSING_AGGREGATION"
