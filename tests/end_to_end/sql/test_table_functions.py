"""Late rows, dead letters and stamps as tables."""

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.sql.flights import flights


@pytest.fixture(autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """The table of the rows, one of them without a time."""
    rows(spark).createOrReplaceTempView("flights")
    yield
    spark.catalog.dropTempView("flights")


def rows(spark: SparkSession) -> DataFrame:
    given = flights(spark)
    lost = given.where("tail = 'N1'").withColumn("departed", F.lit(None).cast("timestamp"))
    return given.union(lost)


def same(left: DataFrame, right: DataFrame) -> None:
    """Assert that two DataFrames have the same rows, and that there are any."""
    found = sorted(map(str, left.collect()))
    assert found
    assert found == sorted(map(str, right.collect()))


HOURS = """SELECT origin, window, count(*) AS n, max(delay) - 1 AS most FROM flights
    GROUP BY origin, transom_tumbling(departed, '10 minutes', order => known,
        policy => transom_time_policy(arrival => known))"""


def tagged(spark: SparkSession) -> DataFrame:
    clock = transom.TimePolicy("departed", arrival="known")
    return (
        transom.stream(rows(spark), time=clock, order="known")
        .key_by("origin")
        .window(transom.Tumbling("10 minutes"))
        .with_late_rows()
        .with_dead_letters()
        .agg(F.count("*").alias("n"), (F.max("delay") - 1).alias("most"))
    )


def test_side_outputs_have_the_rows_of_python(spark: SparkSession) -> None:
    call = f"transom_side_outputs(TABLE({HOURS}), late_rows => 'late', dead_letters => true)"
    python = tagged(spark)
    found = spark.sql(f"SELECT * FROM {call}")
    assert found.columns == ["tag", "results", "late", "dead_letters"]
    for tag, columns in {
        "results": ["results.*"],
        "late": ["late.row.tail", "late.reason", "late.missed_windows"],
        "dead_letters": ["dead_letters.row.tail", "dead_letters.reason"],
    }.items():
        of_tag = f"tag = '{tag}'"
        same(
            spark.sql(f"SELECT {', '.join(columns)} FROM {call} WHERE {of_tag}"),
            python.where(of_tag).select(*columns),
        )


def test_side_outputs_join_themselves_and_common_table_expressions(spark: SparkSession) -> None:
    found = spark.sql(f"""
        WITH tagged AS (SELECT * FROM transom_side_outputs(TABLE({HOURS}), late_rows => 'late'))
        SELECT r.results.origin, l.late.row.tail FROM tagged r JOIN tagged l
        ON r.tag = 'results' AND l.tag = 'late' AND r.results.origin = l.late.row.origin""")
    python = tagged(spark)
    late = python.where("tag = 'late'").select("late.row.origin", "late.row.tail")
    results = python.where("tag = 'results'").select("results.origin")
    same(found, results.join(late, "origin"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM flights",
        "SELECT origin, count(*) FROM flights GROUP BY origin",
        f"{HOURS} HAVING count(*) > 1",
        f"{HOURS} ORDER BY origin",
    ],
)
def test_side_outputs_need_a_window_in_group_by(spark: SparkSession, query: str) -> None:
    with pytest.raises(PySparkException) as found:
        spark.sql(f"SELECT * FROM transom_side_outputs(TABLE({query}), late_rows => 'late')")
    assert found.value.getCondition() == "TRANSOM_NOT_IN_GROUP_BY"


def test_views_of_table_functions(spark: SparkSession) -> None:
    rows(spark).write.saveAsTable("stored_rows")
    hours = HOURS.replace("FROM flights", "FROM stored_rows")
    queries = [
        (
            "SELECT tag, results, late.row, late.missed_windows"
            f" FROM transom_side_outputs(TABLE({hours}), late_rows => 'late')"
        ),
        (
            "SELECT * FROM transom_stamped(TABLE(stored_rows), order => known,"
            " policy => transom_time_policy(departed), lifetime => landed)"
        ),
    ]
    try:
        for query in queries:
            spark.sql(f"CREATE OR REPLACE VIEW stored_query AS {query}")
            same(spark.table("stored_query"), spark.sql(query))
    finally:
        spark.sql("DROP VIEW IF EXISTS stored_query")
        spark.sql("DROP TABLE stored_rows")


def test_a_column_that_is_no_key_has_the_error_of_spark(spark: SparkSession) -> None:
    query = HOURS.replace("SELECT origin", "SELECT tail")
    with pytest.raises(PySparkException) as found:
        spark.sql(f"SELECT * FROM transom_side_outputs(TABLE({query}), late_rows => 'late')")
    assert found.value.getCondition() == "MISSING_AGGREGATION"


def test_stamps_have_the_rows_of_python(spark: SparkSession) -> None:
    found = spark.sql("""
        SELECT upper(tail) AS tail, stamp.* FROM transom_stamped(TABLE(flights),
            policy => transom_time_policy(departed, arrival => known,
                late => transom_adjust('5 minutes'), out_of_order => transom_drop('1 minute')),
            lifetime => landed, order => known)
        WHERE delay > -5""")
    clock = transom.TimePolicy(
        "departed",
        arrival="known",
        late=transom.Adjust("5 minutes"),
        out_of_order=transom.Drop("1 minute"),
    )
    python = transom.stream(rows(spark), time=clock, order="known", lifetime="landed").stamped()
    same(found, python.where("delay > -5").select(F.upper("tail").alias("tail"), "stamp.*"))


def test_stamps_of_a_query_join_windows(spark: SparkSession) -> None:
    found = spark.sql("""
        WITH stamped AS (SELECT * FROM transom_stamped(
            TABLE(SELECT * FROM flights WHERE origin = 'JFK'),
            policy => transom_time_policy(departed), order => known))
        SELECT window, count(*) AS n FROM stamped
        WHERE stamp.disposition = 'accepted'
        GROUP BY transom_tumbling(stamp.time, '10 minutes')""")
    stamped = transom.stream(
        rows(spark).where("origin = 'JFK'"), time=transom.TimePolicy("departed"), order="known"
    ).stamped()
    kept = stamped.where("stamp.disposition = 'accepted'")
    tens = transom.stream(kept, time="stamp.time").window(transom.Tumbling("10 minutes"))
    same(found, tens.agg(F.count("*").alias("n")))


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("transom_stamped()", "TRANSOM_MISSING_ARGUMENT"),
        ("transom_stamped(TABLE(flights))", "TRANSOM_MISSING_ARGUMENT"),
        ("transom_stamped(TABLE(flights), policy => 1)", "TRANSOM_BAD_TYPE"),
        (
            "transom_stamped(TABLE(flights), policy => transom_time_policy(delay))",
            "TRANSOM_NOT_A_TIMESTAMP",
        ),
        ("transom_side_outputs()", "TRANSOM_MISSING_ARGUMENT"),
        (f"transom_side_outputs(TABLE({HOURS}), late_rows => 'all')", "TRANSOM_BAD_CHOICE"),
        (f"transom_side_outputs(TABLE({HOURS}), rows => true)", "TRANSOM_MISPLACED"),
    ],
)
def test_a_mistake_in_a_table_function(spark: SparkSession, call: str, condition: str) -> None:
    with pytest.raises(PySparkException) as found:
        spark.sql(f"SELECT * FROM {call}")
    assert found.value.getCondition() == condition
