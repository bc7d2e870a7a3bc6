"""Lifetimes that a function of `Windowed.apply` sees and returns."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from transom._base.columns import has_columns
from transom._base.errors import reserved_name, runtime_error, value_error
from transom.spec.window_spec import WindowSpec
from transom.spec.windows.lifetimes import CountByStart

LIFETIME = "lifetime"


def check_rows(df: DataFrame, spec: WindowSpec) -> None:
    """Raise ``TRANSOM_RESERVED_NAME`` if rows with lifetimes have a column of this name."""
    if spec.lifetime is not None and not spec.aggregates and has_columns(df):
        for name in df.columns:
            if name.lower() == LIFETIME:
                raise reserved_name("df", name)


def check_returned(schema: StructType) -> None:
    """Check the column with the lifetimes that a function returns, if it returns any.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_RESERVED_NAME`` if the name differs in upper and lower case, because Spark would
        take both for one column. ``TRANSOM_BAD_SCHEMA`` for another type.
    """
    if LIFETIME not in schema.names:
        for name in schema.names:
            if name.lower() == LIFETIME:
                raise reserved_name("schema", name)
        return
    kind = schema[LIFETIME].dataType
    times = (TimestampType(), TimestampNTZType())
    fields = kind.fields if isinstance(kind, StructType) else []
    if [(f.name, f.dataType in times) for f in fields] != [("start", True), ("end", True)]:
        raise value_error(
            "BAD_SCHEMA",
            argument="schema",
            value=repr(schema.simpleString()),
            why="a lifetime is a struct<start:timestamp,end:timestamp>",
        )


def follow_policy(results: DataFrame, spec: WindowSpec, function: str) -> DataFrame:
    """Apply the output policy to the lifetimes that a function has returned.

    "clip_to_window_end" cuts a lifetime at both bounds of its window, because the watermark of the
    results promises that no result starts before its window. If nothing is left of a lifetime, the
    query fails with ``TRANSOM_FUNCTION_LIFETIME``.

    Parameters
    ----------
    results : DataFrame
        The results of the function, plain or tagged.
    spec : WindowSpec
        The spec of the window operator.
    function : str
        Name of the function, for the error.
    """
    assert spec.function is not None
    if spec.output_policy is None or LIFETIME not in spec.function.schema.names:
        return results

    def limited(returned: Column, window: Column) -> Column:
        if spec.output_policy == "clip_to_window_end":
            return _clipped(returned, window, function)
        return _point(returned, window, on_last_row=isinstance(spec.window, CountByStart))

    if not (spec.side_output_tags or spec.function.outputs):
        return results.withColumn(LIFETIME, limited(F.col(LIFETIME), F.col("window")))
    tagged = F.col("results")
    lifetime = limited(tagged[LIFETIME], tagged["window"])
    changed = F.when(F.col("tag") == "results", tagged.withField(LIFETIME, lifetime))
    others = (*spec.side_output_tags, *(spec.function.outputs or ()))
    return results.select("tag", changed.alias("results"), *others)


def _point(returned: Column, window: Column, *, on_last_row: bool) -> Column:
    tick, end = F.expr("interval 1 microsecond"), window["end"]
    start, until = (end - tick, end) if on_last_row else (end, end + tick)
    bounds = F.struct(start.alias("start"), until.alias("end"))
    return F.when(returned.isNotNull(), bounds)


def _clipped(returned: Column, window: Column, function: str) -> Column:
    # A lifetime whose end is null has no end. A null start is no start, so it is not replaced.
    start = F.when(returned["start"] < window["start"], window["start"]).otherwise(
        returned["start"]
    )
    end = F.least(returned["end"], window["end"])
    bounds = F.struct(start.alias("start"), end.alias("end"))
    text = runtime_error(
        "FUNCTION_LIFETIME",
        function=function.replace("%", "%%"),
        start="%1$s",
        end="%2$s",
        window="%3$s to %4$s",
    )
    times = [returned["start"], returned["end"], window["start"], window["end"]]
    shown = F.format_string(text.getMessage(), *(time.cast("string") for time in times))
    refused = F.raise_error(shown).cast("struct<start:timestamp,end:timestamp>")
    return F.when(returned.isNull(), None).when(start < end, bounds).otherwise(refused)
