"""Names in queries with a window: what repeats the window, and what means another column."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.sql.flights import flights

HOUR = ("transom_tumbling(departed, '1 hour')", "window(departed, '1 hour')")
QUERIES = {
    "the call again": "SELECT window.start, count(*) FROM flights GROUP BY {hour}, {hour}",
    "expressions over the window": (
        "SELECT window.start, count(*) FROM flights"
        " GROUP BY {hour}, window.start, date_format(window.end, 'HH')"
    ),
    "place in the select list": ("SELECT window.start, count(*) FROM flights GROUP BY 1, {hour}"),
    "place of the window": "SELECT {hour}, count(*) FROM flights GROUP BY 1",
    "alias": "SELECT {hour}.start AS start, count(*) FROM flights GROUP BY start, {hour}",
    "all": "SELECT origin, {hour}, {hour}.start AS at, count(*) FROM flights GROUP BY ALL",
    "name of the call": "SELECT {hour}, 1 AS one FROM flights GROUP BY {hour}",
    "pipe": "FROM flights |> AGGREGATE count(*) AS n GROUP BY origin, {hour} AS w |> WHERE n > 1",
    "a window over a window function": (
        "SELECT window.start, count(p) FROM (SELECT origin AS p, window.start AS departed,"
        " rank() OVER (ORDER BY origin) FROM flights GROUP BY origin, {hour}) GROUP BY {hour}"
    ),
    "outer column in HAVING": (
        "SELECT tail FROM flights AS f WHERE origin IN (SELECT origin FROM flights"
        " GROUP BY origin, {hour} HAVING sum(delay) < f.delay)"
    ),
    "call beside an outer column of the name": (
        "SELECT w.* FROM (SELECT 1 AS window) AS f,"
        " LATERAL (SELECT {hour} AS hour, count(*) FROM flights GROUP BY {hour}) AS w"
    ),
}


@pytest.fixture(autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """The table of the rows."""
    flights(spark).createOrReplaceTempView("flights")
    yield
    spark.catalog.dropTempView("flights")


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_names_mean_what_they_mean_to_spark(spark: SparkSession, query: str) -> None:
    ours, sparks = (sorted(map(str, spark.sql(query.format(hour=hour)).collect())) for hour in HOUR)
    assert ours == sparks
    assert ours
