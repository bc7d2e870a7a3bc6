"""Queries that a window of transom refuses: each has a condition that tells what is wrong."""

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.end_to_end.sql.flights import flights

HOUR = "transom_tumbling(departed, '1 hour')"
# The window or a column of it stands where it has no value.
MISPLACED = {
    "with rollup": "SELECT count(*) FROM flights GROUP BY origin, {hour} WITH ROLLUP",
    "rollup of a key": "SELECT count(*) FROM flights GROUP BY ROLLUP(origin), {hour}",
    "cube": "SELECT count(*) FROM flights GROUP BY CUBE(origin, {hour})",
    "below DISTINCT": "SELECT DISTINCT {hour} FROM flights",
    "without GROUP BY": "SELECT {hour}, count(*) FROM flights",
    "in an expression of ALL": "SELECT {hour}.start, count(*) FROM flights GROUP BY ALL",
    "in a key": "SELECT 1 FROM flights GROUP BY {hour}, departed - window.start",
    "in a key before the window": (
        "SELECT 1 FROM flights GROUP BY coalesce(origin, cast(window.start AS string)), {hour}"
    ),
    "in an aggregate": "SELECT max(window.end) FROM flights GROUP BY {hour}",
    "call in an aggregate": "SELECT max({hour}.end) FROM flights GROUP BY {hour}",
    "in FILTER": (
        "SELECT count(*) FILTER (WHERE departed > window.start) FROM flights GROUP BY {hour}"
    ),
    "in an aggregate of HAVING": (
        "SELECT count(*) FROM flights GROUP BY {hour} HAVING max(window.end) IS NULL"
    ),
    "in an aggregate of ORDER BY": (
        "SELECT count(*) FROM flights GROUP BY {hour} ORDER BY max(window.end)"
    ),
    "next to an outer column": (
        "SELECT n FROM flights AS f,"
        " LATERAL (SELECT f.delay, count(*) AS n FROM flights GROUP BY {hour})"
    ),
    "hidden by an outer column": (
        "SELECT w.* FROM (SELECT 1 AS window) AS f,"
        " LATERAL (SELECT window, count(*) FROM flights GROUP BY {hour}) AS w"
    ),
    "with an outer key": (
        "SELECT n FROM flights AS f,"
        " LATERAL (SELECT count(*) AS n FROM flights GROUP BY f.delay, {hour})"
    ),
    "over an outer time": (
        "SELECT n FROM flights AS f, LATERAL (SELECT count(*) AS n FROM flights"
        " GROUP BY transom_tumbling(f.departed, '1 hour'))"
    ),
}
# Queries that are wrong for another reason.
WRONG = {
    "rows of the query around": (
        "SELECT (SELECT 1 FROM flights g WHERE g.delay = f.delay GROUP BY {hour}) FROM flights f",
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED",
    ),
    "aggregate of an aggregate": (
        "SELECT sum(count(*)) FROM flights GROUP BY {hour}",
        "NESTED_AGGREGATE_FUNCTION",
    ),
    "aggregate in GROUP BY": (
        "SELECT 1 FROM flights GROUP BY sum(delay), {hour}",
        "GROUP_BY_AGGREGATE",
    ),
    "random aggregate": (
        "SELECT sum(rand()) FROM flights GROUP BY {hour}",
        "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
    ),
    "all columns": ("SELECT * FROM flights GROUP BY {hour}", "MISSING_AGGREGATION"),
    "HAVING over a column of the rows": (
        "SELECT 1 FROM flights GROUP BY {hour} HAVING delay > 1",
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    ),
    "ORDER BY over a column of the rows": (
        "SELECT 1 FROM flights GROUP BY {hour} ORDER BY delay",
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    ),
    "grouping": (
        "SELECT grouping(origin) FROM flights GROUP BY origin, {hour}",
        "UNSUPPORTED_GROUPING_EXPRESSION",
    ),
}


@pytest.fixture(autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """The table of the rows."""
    flights(spark).createOrReplaceTempView("flights")
    yield
    spark.catalog.dropTempView("flights")


@pytest.mark.parametrize("query", MISPLACED.values(), ids=MISPLACED)
def test_a_misplaced_window_is_refused(spark: SparkSession, query: str) -> None:
    with pytest.raises(PySparkException) as found:
        spark.sql(query.format(hour=HOUR)).collect()
    assert found.value.getCondition() == "TRANSOM_NOT_IN_GROUP_BY"


@pytest.mark.parametrize(("query", "condition"), WRONG.values(), ids=WRONG)
def test_other_mistakes_have_the_condition_of_spark(
    spark: SparkSession, query: str, condition: str
) -> None:
    with pytest.raises(PySparkException) as found:
        spark.sql(query.format(hour=HOUR)).collect()
    assert found.value.getCondition() == condition
