"""Generated queries: a window of transom gives the rows of Spark's own window in the same query."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.support.sessions import settings

BLOCKS = 50
QUERIES_OF_A_BLOCK = 20

# A window of transom, the same window of Spark, and the name of its column in Spark.
WINDOWS = {
    "hour": ("transom_tumbling({t}, '1 hour')", "window({t}, '1 hour')", "window"),
    "offset": (
        "transom_tumbling({t}, INTERVAL 40 MINUTES, offset => '15 minutes')",
        "window({t}, '40 minutes', '40 minutes', '15 minutes')",
        "window",
    ),
    "hops": (
        "transom_hopping({t}, '1 hour', '25 minutes')",
        "window({t}, '1 hour', '25 minutes')",
        "window",
    ),
    "offset_hops": (
        "transom_hopping({t}, '50 minutes', '20 minutes', offset => '-7 minutes')",
        "window({t}, '50 minutes', '20 minutes', '-7 minutes')",
        "window",
    ),
    "session": (
        "transom_session({t}, '10 minutes', inclusive => true)",
        "session_window({t}, '10 minutes')",
        "session_window",
    ),
    "own_gaps": (
        "transom_session({t}, make_dt_interval(0, 0, if(g = 1, 5, 15)), inclusive => true)",
        "session_window({t}, if(g = 1, '5 minutes', '15 minutes'))",
        "session_window",
    ),
}
TIMES = {"": "ts", "_ntz": "ntz"}
OURS: dict[str, str] = {}
SPARKS: dict[str, str] = {}
for _name, (_ours, _spark, _column) in WINDOWS.items():
    for _suffix, _time in TIMES.items():
        for _texts, _call, _result in ((OURS, _ours, "window"), (SPARKS, _spark, _column)):
            _texts[_name + _suffix] = _call.format(t=_time)
            _texts[f"{_name}{_suffix}_w"] = _result

# The columns of `named` have the names of the columns of results.
TABLES = ("events", "named")
KEYS = (
    "k",
    "g",
    "upper(k)",
    "g + 1",
    "coalesce(k, 'none')",
    "v % 3",
    "k IS NULL",
    "'x'",
    "struct(k, g)",
    "CASE WHEN v > 5 THEN 'high' WHEN v > 2 THEN 'low' END",
    "cast(g AS string)",
    "date_trunc('day', ts)",
)
# Aggregates of numbers. None depends on the order of rows.
NUMBERS = (
    "count(*)",
    "count(v)",
    "sum(v)",
    "min(v)",
    "max(v + g)",
    "avg(v)",
    "sum(d)",
    "sum(DISTINCT v)",
    "count(DISTINCT k)",
    "count(DISTINCT k, g)",
    "count(DISTINCT v) FILTER (WHERE g = 1)",
    "sum(v) FILTER (WHERE v > 2 AND k <> 'b')",
    "count(*) FILTER (WHERE k = 'a')",
    "count_if(v > 3)",
    "sum(CASE WHEN g = 1 THEN v ELSE 0 END)",
    "sum(abs(v - 4) * coalesce(g, 7))",
    "max_by(id, struct(v, id))",
    "max(struct(v, id)).id",
    "percentile(v, 0.5)",
    "approx_count_distinct(v)",
    "sum(unix_micros(cast(ntz AS timestamp)) % 1000)",
)
OTHERS = (
    "sort_array(collect_list(v))",
    "sort_array(collect_set(k))",
    "max(ts)",
    "min(struct(v, id))",
    "bool_or(v > 5)",
    "max(k)",
    "array_join(sort_array(collect_list(k)), ',')",
    "array_size(collect_list(struct(id, k)))",
)
ROWS_OF_A_BLOCK = (
    "{table} AS e",
    "(SELECT * FROM {table} WHERE v > 0) AS e",
    (
        "(SELECT ts, ntz, k, g, v, d, id FROM {table} UNION ALL"
        " SELECT ts, ntz, k, g, v, d, id FROM {table} WHERE g = 1) AS e"
    ),
    "(SELECT a.*, b.v AS other FROM {table} AS a JOIN {table} AS b ON a.id = b.id + 1) AS e",
    "(SELECT * FROM {table} LATERAL VIEW explode(array(1, 2)) copies AS copy) AS e",
)
CONDITIONS = (
    "v > 1",
    "k IS NOT NULL OR g = 1",
    "v < (SELECT max(v) FROM events)",
    "k IN (SELECT k FROM named WHERE g = 1)",
    "ts > TIMESTAMP '2024-03-01 00:20:00'",
    "EXISTS (SELECT 1 FROM named WHERE named.id = e.id)",
)


@dataclass
class Query:
    """A query with places for windows, and the names of its columns."""

    text: str
    columns: list[str] = field(default_factory=list)
    is_ordered: bool = False

    @property
    def has_sessions(self) -> bool:
        return any(f"{{{name}" in self.text for name in ("session", "own_gaps"))

    @property
    def ours(self) -> str:
        return self.text.format_map(OURS)

    @property
    def sparks(self) -> str:
        return self.text.format_map(SPARKS)


class Grammar:
    """Makes queries. The same seed makes the same query."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def any(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def query(self) -> Query:
        forms = [
            self.plain,
            self.plain,
            self.plain,
            self.distinct,
            self.from_subquery,
            self.with_clause,
            self.join,
            self.union,
            self.in_condition,
            self.windows_of_windows,
        ]
        return self.rng.choice(forms)()

    # Numbers and other values over one group.

    def number(self, keys: Sequence[str], numbers: Sequence[str]) -> str:
        one, two = self.any(*numbers), self.any(*numbers)
        forms = [
            one,
            one,
            f"{one} + {two}",
            f"{one} * 2 - {one}",
            f"coalesce({one}, 0) / (1 + count(*))",
            f"CASE WHEN {one} > 3 THEN {two} ELSE -1 END",
            f"{one} - (SELECT min(v) FROM events)",
            f"greatest({one}, {two}, 3)",
        ]
        if keys:
            forms.append(f"{one} + length(cast({keys[0]} AS string))")
        return self.any(*forms)

    def of_window(self, window: str, *, repeat: bool) -> str:
        column = f"{{{window}}}" if repeat else f"{{{window}_w}}"
        return self.any(
            column,
            f"{column}.start",
            f"{column}.end",
            f"{column}.end - {column}.start",
            f"date_format({column}.start, 'HH:mm')",
            f"named_struct('from', {column}.start, 'number', count(*))",
        )

    def over(
        self, window: str, keys: Sequence[str], numbers: Sequence[str], *, repeat: bool
    ) -> str:
        column = f"{{{window}}}" if repeat else f"{{{window}_w}}"
        total = ", ".join([f"{column}.start", *(f"{key}" for key in keys)])
        return self.any(
            f"rank() OVER (ORDER BY count(*) DESC, {column}.end)",
            f"row_number() OVER (ORDER BY {total})",
            f"sum(count(*)) OVER (PARTITION BY {column}.start)",
            f"sum(sum(v)) OVER (ORDER BY {total} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
            f"lag(max(v)) OVER (ORDER BY {total})",
            f"max(sum(v)) OVER () - {self.any(*numbers)}",
        )

    def block(
        self,
        *,
        aliased: bool = False,
        ordered: bool = False,
        distinct: bool = False,
        over: bool = True,
    ) -> Query:
        """Return a SELECT with a window in GROUP BY.

        With `aliased` each of its columns has a name: `part_0`, `number_0`, `start`, and so on.
        """
        table = self.any(*TABLES)
        # Spark does not find its window next to a column of the rows with its name.
        repeat = table == "named"
        window = self.any(*OURS).removesuffix("_w")
        column = f"{{{window}}}" if repeat else f"{{{window}_w}}"
        is_session = WINDOWS[window.removesuffix("_ntz")][2] == "session_window"
        # Spark does not merge sessions below several aggregates with DISTINCT.
        numbers = [n for n in NUMBERS if not (is_session and "DISTINCT" in n)]
        keys = self.rng.sample(KEYS, self.rng.choice([0, 1, 1, 2]))
        groups = [*keys, f"{{{window}}}"]
        items: list[tuple[str, str]] = []
        for i, key in enumerate(keys):
            if aliased or self.chance(0.8):
                items.append((key, f"part_{i}" if aliased or self.chance(0.5) else ""))
        if aliased:
            items.append((f"{column}.start", "start"))
        for i in range(self.rng.choice([0, 1, 1, 2, 3])):
            value = self.number(keys, numbers) if self.chance(0.8) else self.any(*OTHERS)
            items.append((value, f"number_{i}" if aliased or self.chance(0.4) else ""))
        for i in range(self.rng.choice([0, 1, 2])):
            value = self.of_window(window, repeat=repeat)
            items.append((value, f"of_window_{i}" if aliased else ""))
        if over and self.chance(0.2):
            value = self.over(window, keys, numbers, repeat=repeat)
            items.append((value, "over" if aliased or self.chance(0.5) else ""))
        if not items:
            items.append(("count(*)", "rows"))
        self.rng.shuffle(items)
        lateral = [name for value, name in items if name.startswith("number")]
        has_over = any("OVER" in value for value, _ in items)
        is_lateral = bool(lateral) and not has_over and self.chance(0.3)
        if is_lateral:
            items.append((f"concat('<', cast({lateral[0]} AS string), '>')", "lateral"))
        columns = [name for _, name in items if name]
        # Keys may be written as positions or aliases of the select list.
        for i, key in enumerate(keys):
            places = [p for p, (value, _) in enumerate(items) if value == key]
            if places and self.chance(0.2):
                groups[i] = str(places[0] + 1)
            elif places and items[places[0]][1] and self.chance(0.3):
                groups[i] = items[places[0]][1]
        self.rng.shuffle(groups)
        text = ("SELECT DISTINCT " if distinct else "SELECT ") + ", ".join(
            f"{v} AS {n}" if n else v for v, n in items
        )
        text += f" FROM {self.any(*ROWS_OF_A_BLOCK).replace('{table}', table)}"
        if self.chance(0.3):
            text += f" WHERE {self.any(*CONDITIONS)}"
        text += f" GROUP BY {', '.join(groups)}"
        # Spark finds a repeated window in the select list only.
        having = not distinct and self.chance(0.3)
        if having:
            conditions = [
                "count(*) > 1",
                f"{self.any(*numbers)} > 1 OR sum(v) IS NULL",
                "sum(v) > (SELECT min(v) FROM events)",
            ]
            if not repeat:
                # Spark moves a filter of sessions alone below their aggregation, which is wrong.
                conditions += [
                    f"{column}.start > TIMESTAMP '2024-03-01 00:10:00' OR count(*) > 7",
                    f"max(v) > 2 AND {column}.end IS NOT NULL",
                ]
            text += f" HAVING {self.any(*conditions)}"
        if ordered:
            # Rows are equal where all columns are, so each of these orders is total.
            order = [str(place + 1) for place in range(len(items))]
            self.rng.shuffle(order)
            # Below these, and with HAVING, Spark knows only the columns of the select list.
            plain = not (having or distinct or is_lateral or "OVER" in text)
            if plain and not repeat and self.chance(0.7):
                order = [*keys, f"{column}.start", f"{column}.end"]
                self.rng.shuffle(order)
                order.insert(0, self.any(*numbers) + self.any("", " DESC", " NULLS LAST"))
            text += f" ORDER BY {', '.join(order)}"
            if self.chance(0.5):
                text += f" LIMIT {self.rng.randint(3, 20)}" + self.any("", "", " OFFSET 2")
        return Query(text, columns, is_ordered=ordered)

    # Queries.

    def plain(self) -> Query:
        return self.block(ordered=self.chance(0.5))

    def distinct(self) -> Query:
        return self.block(distinct=True, ordered=self.chance(0.3))

    def over_columns(self, rows: str, block: Query) -> str:
        one = self.any(*block.columns)
        # Spark moves a filter of sessions below their aggregation, which is wrong.
        bound = "TIMESTAMP '2024-03-01 00:10:00'"
        condition = "start IS NOT NULL" if block.has_sessions else f"start > {bound}"
        return self.any(
            f"SELECT * FROM {rows}",
            f"SELECT {one}, count(*) FROM {rows} GROUP BY {one}",
            f"SELECT start, count(*) AS n, max({one}) FROM {rows} GROUP BY start HAVING n > 0",
            f"SELECT DISTINCT {one} FROM {rows}",
            f"SELECT * FROM {rows} WHERE {condition}",
            f"SELECT {one}, rank() OVER (ORDER BY start) FROM {rows}",
        )

    def from_subquery(self) -> Query:
        block = self.block(aliased=True)
        return Query(self.over_columns(f"({block.text}) AS b", block))

    def with_clause(self) -> Query:
        block = self.block(aliased=True)
        again = self.block(aliased=True)
        one, other = self.any(*block.columns), self.any(*again.columns)
        return Query(
            self.any(
                f"WITH w AS ({block.text}) {self.over_columns('w', block)}",
                f"WITH w AS ({block.text}) SELECT a.*, b.{one} AS other FROM w AS a"
                " JOIN w AS b ON a.start = b.start",
                f"WITH w AS ({block.text}),"
                " x AS (SELECT start, count(*) AS n FROM w GROUP BY start)"
                " SELECT w.*, n FROM w LEFT JOIN x USING (start)",
                f"WITH w AS ({block.text}), x AS ({again.text})"
                f" SELECT w.start, w.{one}, x.{other} FROM w FULL JOIN x ON w.start = x.start",
                f"SELECT * FROM (WITH w AS ({block.text}) SELECT start, {one} AS one FROM w)"
                " WHERE start IS NOT NULL",
                f"WITH e AS (SELECT * FROM events), w AS ({block.text.replace('events', 'e', 1)})"
                f" {self.over_columns('w', block)}",
            )
        )

    def join(self) -> Query:
        left, right = self.block(aliased=True), self.block(aliased=True)
        if self.chance(0.4):
            right = left
        kind = self.any("JOIN", "LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
        how = self.any("USING (start)", "ON a.start = b.start", "ON a.start >= b.start")
        of_right = f"b.{right.columns[0]} AS other" if left is right else "b.*"
        shown = "a.*" if kind.endswith(("SEMI JOIN", "ANTI JOIN")) else f"a.*, {of_right}"
        return Query(f"SELECT {shown} FROM ({left.text}) AS a {kind} ({right.text}) AS b {how}")

    def union(self) -> Query:
        def part(block: Query) -> str:
            return f"SELECT start, count(*) AS n FROM ({block.text}) GROUP BY start"

        left, right = self.block(aliased=True), self.block(aliased=True)
        between = self.any("UNION ALL", "UNION", "INTERSECT", "EXCEPT")
        if self.chance(0.4):
            return Query(f"{left.text} UNION ALL {left.text}")
        if between != "UNION ALL":
            right = left if self.chance(0.5) else right
        return Query(f"{part(left)} {between} {part(right)}")

    def in_condition(self) -> Query:
        block = self.block(aliased=True)
        one = self.any(*block.columns)
        # In a subquery Spark takes its window for a column of the outer table with its name.
        outer = "events"
        return Query(
            self.any(
                f"SELECT id, k FROM {outer} WHERE date_trunc('hour', ts) IN"
                f" (SELECT date_trunc('hour', start) FROM ({block.text}))",
                f"SELECT id FROM {outer} AS t WHERE EXISTS"
                f" (SELECT 1 FROM ({block.text}) AS b WHERE b.start <= t.ts)",
                f"SELECT id FROM {outer} AS t WHERE NOT EXISTS (SELECT 1 FROM ({block.text}) AS b"
                " WHERE date_trunc('hour', b.start) = date_trunc('hour', t.ts) AND t.g = 1)",
                f"SELECT id, (SELECT count({one}) FROM ({block.text})) AS n FROM {outer}",
                f"SELECT id, (SELECT count(*) FROM ({block.text}) AS b WHERE"
                f" date_trunc('hour', b.start) = date_trunc('hour', t.ts)) AS n FROM {outer} AS t",
                f"SELECT t.id, b.* FROM {outer} AS t, LATERAL (SELECT start, count(*) AS n FROM"
                f" ({block.text}) AS b WHERE date_trunc('hour', b.start) = date_trunc('hour', t.ts)"
                " GROUP BY start) AS b",
            )
        )

    def windows_of_windows(self) -> Query:
        """Return a query with a window over the results of another, as a plain timestamp."""
        block = self.block(aliased=True, over=False)
        window = self.any("hour", "hops", "session")
        one = self.any(*block.columns)
        return Query(
            f"SELECT {{{window}_w}}.start, count(*), count({one})"
            f" FROM (SELECT *, cast(start AS timestamp) AS ts FROM ({block.text}))"
            f" GROUP BY {{{window}}}"
        )


@pytest.fixture(autouse=True)
def tables(spark: SparkSession) -> Iterator[None]:
    """Two tables with rows that have no time or no key."""
    make_tables(spark)
    yield
    for table in TABLES:
        spark.catalog.dropTempView(table)


def make_tables(spark: SparkSession) -> None:
    rng = random.Random(7)
    rows = []
    for i in range(60):
        minutes = rng.randint(0, 180)
        time = f"2024-03-01 {minutes // 60:02}:{minutes % 60:02}:{rng.choice(['00', '30.5'])}"
        ts = f"TIMESTAMP '{time}'" if rng.random() > 0.08 else "CAST(NULL AS TIMESTAMP)"
        ntz = f"TIMESTAMP_NTZ '{time}'" if rng.random() > 0.08 else "CAST(NULL AS TIMESTAMP_NTZ)"
        k = rng.choice(["'a'", "'a'", "'b'", "'B'", "NULL"])
        g = rng.choice(["1", "1", "2", "NULL"])
        v = rng.choice([*map(str, range(10)), "NULL"])
        rows.append(f"({i}, {ts}, {ntz}, {k}, {g}, {v}, CAST({v} AS DECIMAL(10, 2)) / 4)")
    values = f"VALUES {', '.join(rows)} AS t(id, ts, ntz, k, g, v, d)"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW events AS SELECT * FROM {values}")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW named AS SELECT *, v AS window, k AS pane, g AS start,"
        " id AS end, k AS change, k AS window_id, k AS lifetime, 1 AS key_0, 2 AS value_0"
        " FROM events WHERE id < 40"
    )


# These rules move semi-joins below the aggregation of a session window, or remove the aggregation.
# Then Spark does not merge sessions as it does without the rules.
WRONG_FOR_SESSIONS = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("PushDownLeftSemiAntiJoin", "RemoveRedundantAggregates")
)


def rows_of_spark(spark: SparkSession, query: Query) -> list[str]:
    with settings(spark, {"spark.sql.optimizer.excludedRules": WRONG_FOR_SESSIONS}):
        return rows_of(spark, query.sparks, ordered=query.is_ordered)


def rows_of(spark: SparkSession, text: str, *, ordered: bool) -> list[str]:
    rows = [repr(tuple(row)) for row in spark.sql(text).collect()]
    return rows if ordered else sorted(rows)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_generated_queries_give_the_rows_of_spark(spark: SparkSession, block: int) -> None:
    not_empty = 0
    for seed in range(block * QUERIES_OF_A_BLOCK, (block + 1) * QUERIES_OF_A_BLOCK):
        query = Grammar(seed).query()
        expected = rows_of_spark(spark, query)
        assert rows_of(spark, query.ours, ordered=query.is_ordered) == expected, query.ours
        not_empty += bool(expected)
    assert not_empty > QUERIES_OF_A_BLOCK * 3 // 4
