"""A window in ``GROUP BY`` gives the rows of the same window in Python."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.sql.flights import flights, live_flights
from tests.end_to_end.support.sessions import Reason, skip_in_connect

Queries = tuple[str, Callable[[DataFrame], DataFrame]]


@pytest.fixture(autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """The table of the rows."""
    flights(spark).createOrReplaceTempView("flights")
    yield
    spark.catalog.dropTempView("flights")


def same(left: DataFrame, right: DataFrame) -> None:
    """Assert that two DataFrames have the same rows, and that there are any."""
    rows = sorted(map(str, left.collect()))
    assert rows
    assert rows == sorted(map(str, right.collect()))


def of_time(rows: DataFrame, **more: object) -> transom.Stream:
    return transom.stream(rows, time="departed", **more)  # type: ignore[arg-type]


def number() -> Column:
    """Return the number of rows, as ``n``."""
    return F.count("*").alias("n")


BOUNDS = ("window.start", "window.end")

# A select list without keys, GROUP BY, and the same query in Python.
WINDOWS: dict[str, tuple[str, Callable[[DataFrame], DataFrame]]] = {
    "tumbling": (
        "transom_tumbling(departed, '1 hour')",
        lambda rows: of_time(rows).window(transom.Tumbling("1 hour")).agg(number()),
    ),
    "tumbling by interval": (
        "transom_tumbling(departed, INTERVAL 30 MINUTES, offset => INTERVAL '5' MINUTE)",
        lambda rows: (
            of_time(rows).window(transom.Tumbling("30 minutes", offset="5 minutes")).agg(number())
        ),
    ),
    "hopping": (
        "transom_hopping(departed, '1 hour', '30 minutes', closed => 'right')",
        lambda rows: (
            of_time(rows)
            .window(transom.Hopping("1 hour", "30 minutes", closed="right"))
            .agg(number())
        ),
    ),
    "hopping by names": (
        "transom_hopping(departed, slide => '30 minutes', SIZE => '1 hour')",
        lambda rows: of_time(rows).window(transom.Hopping("1 hour", "30 minutes")).agg(number()),
    ),
    "cumulate": (
        "transom_cumulate(departed, '1 hour', '20 minutes')",
        lambda rows: of_time(rows).window(transom.Cumulate("1 hour", "20 minutes")).agg(number()),
    ),
    "calendar": (
        "transom_calendar(departed, 'day', time_zone => 'Europe/Rome')",
        lambda rows: (
            of_time(rows).window(transom.Calendar("day", time_zone="Europe/Rome")).agg(number())
        ),
    ),
    "session": (
        "transom_session(departed, '10 minutes')",
        lambda rows: of_time(rows).window(transom.Session("10 minutes")).agg(number()),
    ),
    "session with a gap for each row": (
        "transom_session(departed, make_dt_interval(0, 0, abs(delay)))",
        lambda rows: (
            of_time(rows)
            .window(transom.Session(F.make_dt_interval(F.lit(0), F.lit(0), F.abs("delay"))))
            .agg(number())
        ),
    ),
    "rolling": (
        "transom_rolling(departed, '20 minutes')",
        lambda rows: of_time(rows).window(transom.Rolling("20 minutes")).agg(number()),
    ),
    "count by start": (
        "transom_count_by_start(departed, 2)",
        lambda rows: of_time(rows).window(transom.CountByStart(2)).agg(number()),
    ),
    "snapshot": (
        "transom_snapshot(departed, landed)",
        lambda rows: of_time(rows, lifetime="landed").window(transom.Snapshot()).agg(number()),
    ),
    "lifetime": (
        "transom_tumbling(departed, '1 hour', lifetime => transom_lifetime(landed))",
        lambda rows: (
            of_time(rows, lifetime="landed").window(transom.Tumbling("1 hour")).agg(number())
        ),
    ),
    "custom": (
        "transom_custom(departed, array(named_struct('start', departed, 'end', landed)))",
        lambda rows: (
            of_time(rows)
            .window(
                transom.Custom(
                    F.array(
                        F.struct(F.col("departed").alias("start"), F.col("landed").alias("end"))
                    )
                )
            )
            .agg(number())
        ),
    ),
    "count": (
        "transom_count(2, time => departed, order => known)",
        lambda rows: of_time(rows, order="known").window(transom.Count(2)).agg(number()),
    ),
    "policy": (
        (
            "transom_tumbling(departed, '1 hour', order => known,"
            " policy => transom_time_policy(arrival => known, late => transom_adjust('5 minutes')))"
        ),
        lambda rows: (
            transom.stream(
                rows,
                time=transom.TimePolicy(
                    "departed", arrival="known", late=transom.Adjust("5 minutes")
                ),
                order="known",
            )
            .window(transom.Tumbling("1 hour"))
            .agg(number())
        ),
    ),
    "policy as the time": (
        (
            "transom_tumbling(transom_time_policy(departed, out_of_order => '10 minutes'), "
            "'1 hour', order => (known, delay))"
        ),
        lambda rows: (
            transom.stream(
                rows,
                time=transom.TimePolicy("departed", out_of_order="10 minutes"),
                order=["known", "delay"],
            )
            .window(transom.Tumbling("1 hour"))
            .agg(number())
        ),
    ),
}


@pytest.mark.parametrize(("group", "python"), WINDOWS.values(), ids=WINDOWS)
def test_each_window_gives_the_rows_of_python(
    spark: SparkSession, group: str, python: Callable[[DataFrame], DataFrame]
) -> None:
    found = spark.sql(f"SELECT {', '.join(BOUNDS)}, count(*) AS n FROM flights GROUP BY {group}")
    same(found, python(flights(spark)).select(*BOUNDS, "n"))


def test_an_option_that_is_null_is_left_out(spark: SparkSession) -> None:
    options = ("delay", "policy", "lifetime", "order", "trigger", "evictor", "name")
    nothing = ", ".join(f"{option} => NULL" for option in options)
    found, plain = (
        spark.sql(f"SELECT window, count(*) FROM flights GROUP BY transom_rolling({given})")
        for given in (f"departed, '10 minutes', {nothing}", "departed, '10 minutes'")
    )
    same(found, plain)


def test_keys_expressions_having_and_order(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT upper(origin) AS o, window.start AS s, avg(delay) + 1 AS d, count(*) * 2 AS n
        FROM flights
        GROUP BY upper(origin), transom_hopping(departed, '1 hour', '30 minutes')
        HAVING count(*) > 1 AND max(delay) > 0
        ORDER BY d DESC, o, s""")
    python = (
        of_time(flights(spark))
        .key_by(F.upper("origin").alias("o"))
        .window(transom.Hopping("1 hour", "30 minutes"))
        .agg(d=F.avg("delay") + 1, n=F.count("*") * 2, m=F.max("delay"))
        .where("n > 2 AND m > 0")
        .orderBy(F.desc("d"), "o", "window.start")
        .select("o", F.col("window.start").alias("s"), "d", "n")
    )
    assert found.collect() == python.collect()
    assert found.columns == ["o", "s", "d", "n"]
    assert found.count() > 2


def test_the_window_may_be_repeated_in_the_select_list(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT transom_tumbling(departed, '1 hour') AS w, count(*) AS n FROM flights
        GROUP BY transom_tumbling(departed, '1 hour')""")
    assert found.columns == ["w", "n"]
    python = of_time(flights(spark)).window(transom.Tumbling("1 hour")).agg(number())
    same(found, python.withColumnRenamed("window", "w"))


def test_call_function_works_in_a_data_frame(spark: SparkSession) -> None:
    hours = F.call_function("transom_tumbling", F.col("departed"), F.lit("1 hour"))
    found = spark.table("flights").groupBy("origin", hours.alias("window")).agg(number())
    python = (
        of_time(flights(spark)).key_by("origin").window(transom.Tumbling("1 hour")).agg(number())
    )
    same(found, python)
    assert found.columns == ["origin", "window", "n"]


def test_a_query_without_aggregates_lists_windows(spark: SparkSession) -> None:
    found = spark.sql(
        "SELECT origin, window FROM flights GROUP BY origin, transom_tumbling(departed, '1 hour')"
    )
    python = (
        of_time(flights(spark)).key_by("origin").window(transom.Tumbling("1 hour")).agg(number())
    )
    same(found, python.drop("n"))


def test_the_columns_of_a_firing(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT origin, change, pane.index, pane.cause, count(*) AS n, sum(delay) AS delay
        FROM flights
        GROUP BY origin, transom_global(
            time => departed, order => known, with_pane => true, retract => true,
            trigger => transom_after_count(1))""")
    python = (
        of_time(flights(spark), order="known")
        .key_by("origin")
        .window(transom.Global())
        .trigger(transom.AfterCount(1))
        .with_pane()
        .retract()
        .agg(number(), F.sum("delay").alias("delay"))
    )
    same(found, python.select("origin", "change", "pane.index", "pane.cause", "n", "delay"))


def test_several_windows_in_one_pass(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT window_id, window, count(*) AS n FROM flights
        GROUP BY transom_windows(departed, map(
            'hour', transom_tumbling('1 hour'), 'quiet', transom_session('10 minutes')))""")
    windows = {"hour": transom.Tumbling("1 hour"), "quiet": transom.Session("10 minutes")}
    python = of_time(flights(spark)).window(transom.Windows(windows)).agg(number())
    same(found, python.select("window_id", "window", "n"))


def test_windows_over_results_of_windows(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT window.start, sum(n) AS n, count(*) AS m FROM (
            SELECT origin, window, count(*) AS n FROM flights
            GROUP BY origin, transom_tumbling(departed, '10 minutes'))
        GROUP BY transom_tumbling(window, '1 hour')""")
    tens = (
        of_time(flights(spark))
        .key_by("origin")
        .window(transom.Tumbling("10 minutes"))
        .agg(number())
    )
    python = transom.stream(tens, time="window").window(transom.Tumbling("1 hour"))
    hours = python.agg(F.sum("n").alias("n"), F.count("*").alias("m"))
    same(found, hours.select("window.start", "n", "m"))


def test_common_table_expressions_and_joins(spark: SparkSession) -> None:
    found = spark.sql("""
        WITH late AS (SELECT * FROM flights WHERE delay > 0),
             hours AS (SELECT origin, window, count(*) AS n FROM late
                       GROUP BY origin, transom_tumbling(departed, '1 hour'))
        SELECT a.origin, a.window, a.n, b.n AS m
        FROM hours a JOIN hours b USING (origin, window)""")
    late = flights(spark).where("delay > 0")
    hours = of_time(late).key_by("origin").window(transom.Tumbling("1 hour")).agg(number())
    same(found, hours.select("*", F.col("n").alias("m")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT tail FROM flights WHERE origin IN (SELECT origin FROM late GROUP BY origin, {w})",
        "SELECT (SELECT max(n) FROM (SELECT count(*) AS n FROM late GROUP BY {w})) AS n",
        (
            "SELECT a.tail, b.n FROM flights a,"
            " LATERAL (SELECT window, count(*) AS n FROM late GROUP BY {w}) b"
        ),
        (
            "SELECT window, count(*) AS n FROM flights WHERE delay >"
            " (SELECT min(n) FROM (SELECT count(*) AS n FROM late GROUP BY {w})) GROUP BY {w}"
        ),
    ],
)
def test_a_subquery_reads_a_clause_of_the_query_around(spark: SparkSession, query: str) -> None:
    clause = "WITH late AS (SELECT * FROM flights WHERE delay > 10) "
    ours, sparks = (
        spark.sql(clause + query.format(w=window))
        for window in ("transom_tumbling(departed, '1 hour')", "window(departed, '1 hour')")
    )
    same(ours, sparks)


def test_a_clause_with_other_rows_at_each_use_is_refused(spark: SparkSession) -> None:
    hours = "SELECT count(*) AS n FROM r GROUP BY transom_tumbling(departed, '1 hour')"
    query = f"WITH r AS (SELECT rand() AS x, * FROM flights) {hours} UNION ALL {hours}"
    with pytest.raises(PySparkException) as found:
        spark.sql(query)
    assert found.value.getCondition() == "TRANSOM_NOT_IN_GROUP_BY"


def test_a_view_is_stored_as_text(spark: SparkSession) -> None:
    flights(spark).write.saveAsTable("stored_flights")
    spark.sql("""
        CREATE VIEW hours AS SELECT origin, window.start, count(*) AS n FROM stored_flights
        GROUP BY origin, transom_tumbling(departed, '1 hour')""")
    try:
        python = of_time(flights(spark)).key_by("origin").window(transom.Tumbling("1 hour"))
        expected = python.agg(number()).select("origin", "window.start", "n")
        same(
            spark.newSession().table("hours") if _has_sessions(spark) else spark.table("hours"),
            expected,
        )
        same(spark.sql("SELECT a.* FROM hours a JOIN hours b USING (origin, start, n)"), expected)
    finally:
        spark.sql("DROP VIEW hours")
        spark.sql("DROP TABLE stored_flights")


@pytest.mark.parametrize(
    "window",
    ["transom_session(departed, '1 hour')", "transom_count(2)"],
)
def test_a_view_has_the_column_of_windows(spark: SparkSession, window: str) -> None:
    query = f"SELECT origin, window, count(*) AS n FROM flights GROUP BY origin, {window}"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW results AS {query}")
    try:
        same(spark.table("results"), spark.sql(query))
    finally:
        spark.catalog.dropTempView("results")


def _has_sessions(spark: SparkSession) -> bool:
    return hasattr(spark, "_jsparkSession")


def test_a_stream_fires_windows_and_counts_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    live_flights(spark, tmp_path / "in").createOrReplaceTempView("live")
    results = spark.sql("""
        SELECT origin, window.start, count(*) AS n FROM live
        GROUP BY origin, transom_tumbling(departed, '30 minutes', delay => '20 minutes',
            allowed_lateness => '10 minutes', drain => true)""")
    python = (
        transom.stream(
            live_flights(spark, tmp_path / "python"),
            time=transom.EventTime("departed", delay="20 minutes"),
        )
        .key_by("origin")
        .window(transom.Tumbling("30 minutes"))
        .allowed_lateness("10 minutes")
        .drain()
        .agg(number())
        .select("origin", "window.start", "n")
    )
    same(_run(results, tmp_path / "sql"), _run(python, tmp_path / "of_python"))


def test_a_stream_of_results_follows_their_watermark(spark: SparkSession, tmp_path: Path) -> None:
    live_flights(spark, tmp_path / "in").createOrReplaceTempView("live")
    results = spark.sql("""
        SELECT window.start, sum(n) AS n FROM (
            SELECT origin, window, count(*) AS n FROM live
            GROUP BY origin, transom_tumbling(departed, '10 minutes', drain => true,
                policy => transom_time_policy(out_of_order => '20 minutes')))
        GROUP BY transom_tumbling(window, '1 hour', drain => true)""")
    clock = transom.TimePolicy("departed", out_of_order="20 minutes")
    tens = (
        transom.stream(live_flights(spark, tmp_path / "python"), time=clock)
        .key_by("origin")
        .window(transom.Tumbling("10 minutes"))
        .drain()
        .agg(number())
    )
    hours = transom.stream(tens, time="window").window(transom.Tumbling("1 hour")).drain()
    python = hours.agg(n=F.sum("n")).select("window.start", "n")
    same(_run(results, tmp_path / "sql"), _run(python, tmp_path / "of_python"))


def _run(results: DataFrame, folder: Path) -> DataFrame:
    query = (
        results.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return results.sparkSession.read.parquet(str(folder / "out"))


def test_conditions_and_distances_are_expressions(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT origin, count(*) AS n, sum(delay) AS delay FROM flights
        GROUP BY origin, transom_global(time => departed, order => known,
            trigger => transom_when(delay > 10 AND sum(delay) > 15),
            evictor => transom_keep_near((old, last) -> abs(last.delay - old.delay),
                threshold => 50))""")

    def distance(old: Column, last: Column) -> Column:
        return F.abs(last["delay"] - old["delay"])

    python = (
        of_time(flights(spark), order="known")
        .key_by("origin")
        .window(transom.Global())
        .trigger(transom.When("delay > 10 AND sum(delay) > 15"))
        .evictor(transom.KeepNear(distance, threshold=50))
        .agg(number(), F.sum("delay").alias("delay"))
    )
    same(found, python.select("origin", "n", "delay"))


IN_TEST_MODE = '''
import transom
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = transom.configure(builder.config("spark.sql.shuffle.partitions", "1")).getOrCreate()
counts = spark.sql("""
    WITH flights AS (SELECT timestamp_seconds(60 * id) AS departed FROM range(90))
    SELECT count(*) AS n FROM flights GROUP BY transom_tumbling(departed, '1 hour')""")
print(sorted(row.n for row in counts.collect()))
'''


def test_spark_in_its_test_mode_accepts_the_rules() -> None:
    skip_in_connect(Reason.PROCESS)
    # Users set this too, because Spark Connect then takes a free port.
    environment = os.environ | {"SPARK_TESTING": "1"}
    done = subprocess.run(
        [sys.executable, "-c", IN_TEST_MODE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["[30, 60]"], done.stderr
