"""The aggregate behind `Windowed.top`, and the rows that it returns."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transom._base.columns import all_but, folding, has_columns, quoted
from transom._base.constants import HIDDEN_PREFIX, RANK_COLUMN, TOP_FUNCTION
from transom._base.errors import reserved_name, type_error, value_error
from transom._base.expressions import Col, check_sortable, column, internal, text_of
from transom.spec.window_spec import WindowSpec

_ORDER = "an argument for each column, as in top(3, F.desc('delay'), 'origin')"
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
        check_sortable("order_by", item, no_list=_ORDER)
        name, _, direction = item.partition(" ") if isinstance(item, str) else ("", "", "")
        if direction.strip().lower() in ("asc", "desc"):
            raise type_error("order_by", item, f"F.{direction.strip().lower()}({name!r})")
    if spec.retract:
        why = "a later result has other rows, so it replaces no single row"
        raise value_error("CONFLICT", argument="top", step="top()", other="retract()", why=why)
    row = _row(df, spec, reserved) if has_columns(df) else _row_of_flow(spec)
    ordered = (column(item) for item in order)
    return internal(TOP_FUNCTION, F.lit(rows), row, *ordered).alias(_ROWS)


def _row(df: DataFrame, spec: WindowSpec, reserved: Sequence[str]) -> Column:
    fold = folding(df)
    keys = {fold(name) for name in df.select(*spec.keys).columns}
    others = [name for name in df.columns if fold(name) not in keys]
    for name in others:
        if name.lower() in (*reserved, RANK_COLUMN):
            raise reserved_name("df", name)
    return F.struct(*map(quoted, others))


def _row_of_flow(spec: WindowSpec) -> Column:
    """Return all columns but the keys. The name of a key is its last part, or its alias."""
    row = F.struct("*")
    names = [text_of(key).rpartition(" AS ")[2].rpartition(".")[2] for key in spec.keys]
    return row.dropFields(*map(quoted, names)) if names else row


def one_by_one(result: DataFrame, spec: WindowSpec) -> DataFrame:
    """Return the output of the window operator with a row for each collected row."""
    if not spec.side_output_tags:
        exploded = result.select(all_but(_ROWS), F.explode(_ROWS).alias(_ROW))
        return exploded.select(all_but(_ROW), f"{_ROW}.*")
    # Rows of other tags have no results, and stay.
    rows = F.explode_outer(F.col("results").getField(_ROWS))
    flat = F.struct("results.*", f"{_ROW}.*").dropFields(_ROWS)
    results = F.when(F.col("tag") == "results", flat)
    exploded = result.select("*", rows.alias(_ROW))
    return exploded.select("tag", results.alias("results"), *spec.side_output_tags)
