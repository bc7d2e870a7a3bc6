"""Lifetimes that a function of `Windowed.apply` sees and returns."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from transom._base.errors import value_error
from transom.spec.window_spec import OutputPolicy, WindowSpec

LIFETIME = "lifetime"


def check_rows(df: DataFrame, spec: WindowSpec) -> None:
    """Raise ``TRANSOM_RESERVED_NAME`` if rows with lifetimes have a column of this name."""
    if spec.lifetime is not None and not spec.aggregates:
        for name in df.columns:
            if name.lower() == LIFETIME:
                raise value_error("RESERVED_NAME", argument="df", column=repr(name))


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
                raise value_error("RESERVED_NAME", argument="schema", column=repr(name))
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


def follow_policy(results: DataFrame, spec: WindowSpec) -> DataFrame:
    """Apply the output policy to the lifetimes that a function has returned."""
    assert spec.function is not None
    policy = spec.output_policy
    if policy is None or LIFETIME not in spec.function.schema.names:
        return results
    if "tag" not in results.columns:
        lifetime = _lifetime(F.col(LIFETIME), F.col("window"), policy)
        return results.withColumn(LIFETIME, lifetime)
    tagged = F.col("results")
    lifetime = _lifetime(tagged[LIFETIME], tagged["window"], policy)
    changed = F.when(F.col("tag") == "results", tagged.withField(LIFETIME, lifetime))
    return results.withColumn("results", changed)


def _lifetime(returned: Column, window: Column, policy: OutputPolicy) -> Column:
    start, end = returned["start"], F.least(returned["end"], window["end"])
    if policy == "point_align_to_window_end":
        start, end = window["end"], window["end"] + F.expr("interval 1 microsecond")
    bounds = F.struct(start.alias("start"), end.alias("end"))
    return F.when(returned.isNotNull(), bounds)
