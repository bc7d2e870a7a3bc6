"""The description of a query: `explain`."""

from typing import Literal

from pyspark.sql import DataFrame

from transom import _bridge
from transom._base import checks
from transom._base.errors import type_error
from transom._base.misplaced import explained


@explained
def explain(df: DataFrame, *, mode: Literal["text", "json"] = "text") -> str:
    """Describe the window operators of a DataFrame and how they run.

    Parameters
    ----------
    df : DataFrame
        A result of `Windowed.agg` or `Windowed.apply`, or a DataFrame derived from one.
    mode : {"text", "json"}
        "text" returns a description for people. "json" returns the messages that the JVM has
        received.

    Returns
    -------
    str
        One block or message for each window operator, in the order in which rows pass them. The
        text ends with a hint if a stream reads Kafka without ``kafka.max.poll.records``.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkRuntimeError
        ``TRANSOM_CONNECT_SERVER``, ``TRANSOM_SPARK_VERSION``, ``TRANSOM_JAR_MISSING``,
        ``TRANSOM_JAR_BROKEN``, ``TRANSOM_JAR_VERSION``.
    IllegalArgumentException
        ``TRANSOM_NOT_OURS`` if the DataFrame has no window operator.

    Examples
    --------
    >>> rows = spark.createDataFrame([("a", 1.0)], "k string, v double")
    >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
    >>> "key groups" in transom.explain(total.agg(F.sum("v")))
    True
    """
    if not isinstance(df, DataFrame):
        raise type_error("df", df, "a DataFrame, such as the result of agg()")
    checks.choice("mode", mode, ("text", "json"))
    return _bridge.explain(df, mode)
