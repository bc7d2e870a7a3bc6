"""Looking inside a query."""

from typing import Literal

from pyspark.sql import DataFrame

from transom import _bridge, _checks
from transom._errors import type_error


def explain(df: DataFrame, *, mode: Literal["text", "json"] = "text") -> str:
    """What the window stages of a DataFrame do, and how.

    Parameters
    ----------
    df : DataFrame
        What `Windowed.agg` has returned, or a DataFrame made from it.
    mode : {"text", "json"}
        For people, or the messages as the JVM has them.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``.
    IllegalArgumentException
        ``TRANSOM_NOT_OURS`` if no stage is in it.

    Examples
    --------
    >>> rows = spark.createDataFrame([("a", 1.0)], "k string, v double")
    >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> "key groups" in transom.explain(total.agg(F.sum("v")))
    True
    """
    if not isinstance(df, DataFrame):
        raise type_error("df", df, "a DataFrame")
    _checks.choice("mode", mode, ("text", "json"))
    return _bridge.explain(df, mode)
