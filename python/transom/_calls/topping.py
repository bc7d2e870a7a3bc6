"""The aggregate behind `Windowed.top`, and the rows that it returns."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructField, StructType

from transom._base.columns import (
    Col,
    check_column,
    column,
    internal,
    is_time,
)
from transom._base.constants import HIDDEN_PREFIX, RANK_COLUMN, TOP_FUNCTION
from transom._base.errors import value_error
from transom.spec.window_spec import WindowSpec

# The column of the operator with the rows of a window, and the column with one of them.
_ROWS = f"{HIDDEN_PREFIX}_rows"
_ROW = f"{HIDDEN_PREFIX}_row"


def top_rows(
    df: DataFrame, spec: WindowSpec, rows: int, order: Sequence[Col], reserved: Sequence[str]
) -> Column:
    """Return the aggregate that collects the first rows of a window.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NO_ORDER`` without an order. ``TRANSOM_RESERVED_NAME`` if the results have a
        column of their own with the name of a column of the rows. ``TRANSOM_CONFLICT`` after
        `retract`.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    """
    if not order:
        raise value_error("NO_ORDER", argument="order_by")
    for item in order:
        check_column("order_by", item)
    if spec.retract:
        why = "a later result has other rows, so it replaces no single row"
        raise value_error("CONFLICT", step="top()", other="retract()", why=why)
    keys = [name.lower() for name in df.select(*spec.keys).columns]
    others = [field for field in df.schema if field.name.lower() not in keys]
    for field in others:
        if field.name.lower() in (*reserved, RANK_COLUMN):
            raise value_error("RESERVED_NAME", argument="df", column=repr(field.name))
    columns = [_value(field).alias(field.name) for field in others]
    # A struct needs a field.
    row = F.struct(*columns) if columns else F.struct(F.lit(None).alias(_ROW))
    ordered = (column(item) for item in order)
    return internal(TOP_FUNCTION, F.lit(rows), row, *ordered).alias(_ROWS)


def one_by_one(result: DataFrame, spec: WindowSpec) -> DataFrame:
    """Return the output of the window operator with a row for each collected row."""
    if not spec.side_output_tags:
        front = [_quoted(name) for name in result.columns if name != _ROWS]
        exploded = result.select(*front, F.explode(_ROWS).alias(_ROW))
        return exploded.select(*front, *_fields(exploded.schema[_ROW].dataType))
    results = result.schema["results"].dataType
    assert isinstance(results, StructType)
    collected = results[_ROWS].dataType
    assert isinstance(collected, ArrayType)
    tagged = F.col("results")
    own = [tagged.getField(name).alias(name) for name in results.names if name != _ROWS]
    row = F.struct(*own, *_fields(collected.elementType))
    # Rows of other tags have no results, and stay.
    exploded = result.select("*", F.explode_outer(tagged.getField(_ROWS)).alias(_ROW))
    flat = exploded.withColumn("results", F.when(F.col("tag") == "results", row))
    return flat.drop(_ROW)


def _value(field: StructField) -> Column:
    """The value of a column. The watermark stays behind: the window of a result is its time."""
    found = F.col(_quoted(field.name))
    return F.coalesce(found) if is_time(field.dataType) else found


def _fields(kind: object) -> list[Column]:
    assert isinstance(kind, StructType)
    return [F.col(_ROW).getField(name).alias(name) for name in kind.names if name != _ROW]


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
