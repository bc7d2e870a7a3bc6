"""Every aggregate of Spark's registry, called with suitable arguments.

Calls avoid any dependence on the order of rows: they read columns that are equal throughout a key,
or set an order. Sketches are compared by their estimates, which are exact for few values.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

_NUMBERS = ("i8", "i16", "i32", "i64", "f32", "f64", "dec", "dec38")
_ORDERED = (*_NUMBERS, "days", "flag", "text", "bytes", "day", "instant", "wall")
_ALL = (*_ORDERED, "list", "pair")


def _over(function: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{function}({column})" for column in columns)


def _text(call: str) -> str:
    # PySpark has no Python type for intervals of months.
    return f"cast({call} AS string)"


def _moments(function: str) -> tuple[str, ...]:
    return _over(function, ("i32", "f64", "dec"))


def _two(function: str) -> tuple[str, ...]:
    return (f"{function}(f64, i32)", f"{function}(dec, f32)")


def _within(function: str) -> tuple[str, ...]:
    return (
        f"{function}(0.25) WITHIN GROUP (ORDER BY f64)",
        f"{function}(array(0.1, 0.9)) WITHIN GROUP (ORDER BY i32 DESC)",
    )


def _kll(kind: str, column: str) -> tuple[str, ...]:
    # An empty sketch has no quantiles.
    sketch = f"kll_sketch_agg_{kind}(coalesce({column}, cast(0 AS {kind})), 400)"
    return (
        f"kll_sketch_get_n_{kind}(kll_sketch_agg_{kind}({column}))",
        f"kll_sketch_get_quantile_{kind}({sketch}, 0.5D)",
    )


def _kll_merge(kind: str) -> tuple[str, ...]:
    sketch = f"kll_merge_agg_{kind}(kll_{kind})"
    return (
        f"kll_sketch_get_n_{kind}({sketch})",
        f"kll_sketch_get_quantile_{kind}({sketch}, 0.9D)",
    )


def _tuples(function: str, kind: str, *, rows: bool) -> tuple[str, ...]:
    value = "f64" if kind == "double" else "i32"
    arguments = f"i32, coalesce({value}, 0)" if rows else f"tuple_{kind}"
    return (
        f"tuple_sketch_estimate_{kind}({function}_{kind}({arguments}))",
        f"tuple_sketch_summary_{kind}({function}_{kind}({arguments}), 'max')",
    )


# Calls in SQL, by the name of the function.
CALLS: dict[str, tuple[str, ...]] = {
    "count": ("count(*)", "count(1)", *_over("count", _ALL), "count(i32, text)"),
    "sum": (*_over("sum", (*_NUMBERS, "days")), "sum(i32 + f64)", _text("sum(months)")),
    "try_sum": (*_over("try_sum", _NUMBERS), "try_sum(if(i64 IS NULL, 0, 9223372036854775807))"),
    "avg": (*_over("avg", (*_NUMBERS, "days")), _text("avg(months)")),
    "mean": ("mean(i32)",),
    "try_avg": _over("try_avg", (*_NUMBERS, "days")),
    "min": (*_over("min", _ORDERED), "min(list)", "min(pair)", _text("min(months)")),
    "max": (*_over("max", _ORDERED), "max(list)", "max(pair)"),
    "min_by": ("min_by(text, id)", "min_by(pair, id)", "sort_array(min_by(id, id, 3))"),
    "max_by": ("max_by(text, id)", "max_by(i32, struct(f64, id))", "sort_array(max_by(id, id, 3))"),
    "any": ("any(flag)",),
    "some": ("some(flag)",),
    "bool_or": ("bool_or(flag)",),
    "every": ("every(flag)",),
    "bool_and": ("bool_and(flag)",),
    "bit_and": _over("bit_and", ("i8", "i16", "i32", "i64")),
    "bit_or": _over("bit_or", ("i8", "i16", "i32", "i64")),
    "bit_xor": _over("bit_xor", ("i8", "i16", "i32", "i64")),
    "count_if": ("count_if(flag)", "count_if(i32 > 3)"),
    "first": ("first(same)", "first(sometimes, true)"),
    "first_value": ("first_value(same)", "first_value(sometimes) IGNORE NULLS"),
    "last": ("last(same)", "last(sometimes, true)"),
    "last_value": ("last_value(same)",),
    "any_value": ("any_value(same)", "any_value(sometimes, true)"),
    "collect_list": tuple(f"sort_array(collect_list({c}))" for c in ("i32", "text", "f64", "pair")),
    "array_agg": ("sort_array(array_agg(day))",),
    "collect_set": tuple(f"sort_array(collect_set({c}))" for c in ("i32", "text", "dec38", "list")),
    "collect_union": ("sort_array(collect_union(list))",),
    "listagg": (
        "listagg(text) WITHIN GROUP (ORDER BY text)",
        "listagg(text, ', ') WITHIN GROUP (ORDER BY id DESC)",
        "listagg(DISTINCT text, '|') WITHIN GROUP (ORDER BY text)",
    ),
    "string_agg": ("string_agg(text, '-') WITHIN GROUP (ORDER BY id)",),
    "stddev": _moments("stddev"),
    "std": _moments("std"),
    "stddev_samp": _moments("stddev_samp"),
    "stddev_pop": _moments("stddev_pop"),
    "variance": _moments("variance"),
    "var_samp": _moments("var_samp"),
    "var_pop": _moments("var_pop"),
    "skewness": _moments("skewness"),
    "kurtosis": _moments("kurtosis"),
    # With a single pair this would be a division by zero.
    "corr": ("corr(coalesce(f64, 0), coalesce(i32, 0))",),
    "covar_pop": _two("covar_pop"),
    "covar_samp": _two("covar_samp"),
    **{
        f"regr_{name}": _two(f"regr_{name}")
        for name in ("avgx", "avgy", "count", "intercept", "r2", "slope", "sxx", "sxy", "syy")
    },
    "median": (*_moments("median"), "median(days)"),
    "percentile": (
        "percentile(f64, 0.3)",
        "percentile(i32, array(0.25, 0.75))",
        "percentile(i32, 0.5, abs(i16))",
    ),
    "percentile_cont": _within("percentile_cont"),
    "percentile_disc": _within("percentile_disc"),
    "percentile_approx": ("percentile_approx(i32, 0.5)", "percentile_approx(day, 0.2)"),
    "approx_percentile": ("approx_percentile(f64, array(0.1, 0.9), 1000)",),
    "mode": (
        "mode(i32, true)",
        "mode(text, true)",
        "mode() WITHIN GROUP (ORDER BY i16)",
    ),
    "approx_count_distinct": (
        "approx_count_distinct(i32)",
        "approx_count_distinct(text, 0.02)",
    ),
    "approx_top_k": ("sort_array(approx_top_k(i8, 100))",),
    "approx_top_k_accumulate": (
        "sort_array(approx_top_k_estimate(approx_top_k_accumulate(text, 200), 100))",
    ),
    "approx_top_k_combine": (
        "sort_array(approx_top_k_estimate(approx_top_k_combine(top_k, 200), 100))",
    ),
    # Equal values may share a bin or not, so the calls compare weighted sums.
    "histogram_numeric": (
        "aggregate(histogram_numeric(i8, 500), 0D, (sum, bin) -> sum + bin.x * bin.y)",
        "aggregate(histogram_numeric(f64, 500), 0D, (sum, bin) -> sum + bin.y)",
    ),
    "count_min_sketch": ("count_min_sketch(i32, 0.1D, 0.9D, 1)",),
    "hll_sketch_agg": ("hll_sketch_estimate(hll_sketch_agg(i32))",),
    "hll_union_agg": ("hll_sketch_estimate(hll_union_agg(hll))",),
    "theta_sketch_agg": ("theta_sketch_estimate(theta_sketch_agg(text))",),
    "theta_union_agg": ("theta_sketch_estimate(theta_union_agg(theta))",),
    "theta_intersection_agg": ("theta_sketch_estimate(theta_intersection_agg(theta))",),
    "kll_sketch_agg_bigint": _kll("bigint", "i64"),
    "kll_sketch_agg_double": _kll("double", "f64"),
    "kll_sketch_agg_float": _kll("float", "f32"),
    "kll_merge_agg_bigint": _kll_merge("bigint"),
    "kll_merge_agg_double": _kll_merge("double"),
    "kll_merge_agg_float": _kll_merge("float"),
    **{
        f"tuple_{name}_agg_{kind}": _tuples(f"tuple_{name}_agg", kind, rows=name == "sketch")
        for name in ("sketch", "union", "intersection")
        for kind in ("double", "integer")
    },
    "bitmap_construct_agg": ("bitmap_count(bitmap_construct_agg(bitmap_bit_position(abs(i16))))",),
    "bitmap_or_agg": ("bitmap_or_agg(bytes)",),
    "bitmap_and_agg": ("bitmap_and_agg(bytes)",),
    "schema_of_variant_agg": ("schema_of_variant_agg(json)",),
    "vector_sum": ("vector_sum(vector)",),
    "vector_avg": ("vector_avg(vector)",),
}

# Functions that Spark calls aggregates but that make no sense over windows, with a call of each.
REFUSED: dict[str, str] = {
    "grouping": "grouping(name)",
    "grouping_id": "grouping_id()",
    "measure": "measure(i32)",
    "row_number": "row_number()",
    "rank": "rank()",
    "dense_rank": "dense_rank()",
    "percent_rank": "percent_rank()",
    "cume_dist": "cume_dist()",
    "ntile": "ntile(2)",
    "nth_value": "nth_value(i32, 2)",
}


def sample(spark: SparkSession, rows: int, seed: int) -> DataFrame:
    """Rows with a column of each type, and with sketches of single rows.

    A seventh of the values of each column is null.
    """
    picks = iter(range(seed, seed + 1000))

    def pick(below: int) -> str:
        return f"pmod(hash(id, {next(picks)}), {below})"

    name = f"concat('k', {pick(4)})"
    values = {
        "i8": f"cast({pick(20)} - 10 AS tinyint)",
        "i16": f"cast({pick(3000)} - 1500 AS smallint)",
        "i32": f"{pick(50)} - 20",
        "i64": f"cast({pick(100)} AS bigint)",
        "f32": f"cast({pick(1000)} / 8 AS float)",
        "f64": f"{pick(10000)} / 100D",
        "dec": f"cast({pick(100000)} / 1000 AS decimal(20, 4))",
        "dec38": f"cast({pick(100000)} AS decimal(38, 2))",
        "months": f"make_ym_interval(0, {pick(40)})",
        "days": f"make_dt_interval(0, {pick(40)})",
        "flag": f"{pick(2)} = 0",
        "text": f"concat('t', {pick(30)})",
        "bytes": f"unhex(substring(md5(cast({pick(9)} AS string)), 1, 8))",
        "day": f"date_add(date'2024-01-01', {pick(9)})",
        "instant": f"timestamp_millis({pick(90)} * 1000)",
        "wall": f"cast(timestamp_millis({pick(90)} * 1000) AS timestamp_ntz)",
        "list": f"array({pick(3)}, {pick(3)})",
        "pair": f"struct({pick(3)} AS a, cast({pick(3)} AS string) AS b)",
        "json": f"parse_json(concat('{{\"a\":', {pick(5)}, '}}'))",
        "vector": f"array(cast({pick(9)} AS float), cast({pick(9)} AS float))",
    }
    plain = spark.range(rows).selectExpr(
        "id",
        f"{name} AS name",
        f"timestamp_millis(1704067200000 + {pick(60000)}) AS time",
        f"upper({name}) AS same",
        f"if(id % 3 = 0, null, upper({name})) AS sometimes",
        *(f"if({pick(7)} = 0, null, {value}) AS {column}" for column, value in values.items()),
    )
    sketches = plain.groupBy("id").agg(
        F.expr("approx_top_k_accumulate(text, 200) AS top_k"),
        F.expr("hll_sketch_agg(i32) AS hll"),
        F.expr("theta_sketch_agg(i32) AS theta"),
        F.expr("kll_sketch_agg_bigint(coalesce(i64, 0L)) AS kll_bigint"),
        F.expr("kll_sketch_agg_double(coalesce(f64, 0D)) AS kll_double"),
        F.expr("kll_sketch_agg_float(coalesce(f32, 0F)) AS kll_float"),
        F.expr("tuple_sketch_agg_double(i32, coalesce(f64, 0)) AS tuple_double"),
        F.expr("tuple_sketch_agg_integer(i32, coalesce(i32, 0)) AS tuple_integer"),
    )
    return plain.join(sketches, "id").repartition(3)
